/** Parses the Dockerfile into its stages and their instructions, and its ignore file. Supports only the syntax used there. */

/**
 * @typedef {{ readonly name: string, readonly text: string }} Instruction
 * @typedef {{ readonly base: string, readonly name: string | null, readonly instructions: readonly Instruction[] }} Stage
 */

/**
 * @param {string} text
 * @returns {Stage[]} Throws for unsupported syntax.
 */
export function readDockerfile(text) {
  /** @type {{ base: string, name: string | null, instructions: Instruction[] }[]} */
  const stages = [];
  for (const line of text.replace(/\\\n/g, ' ').split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const match = /^([A-Z]+) (.+)$/.exec(line);
    if (!match) throw new Error(`not an instruction: ${line}`);
    const [, name = '', argumentText = ''] = match;
    if (name === 'FROM') {
      const [base = '', , stage = null] = argumentText.split(' ');
      stages.push({ base, name: stage, instructions: [] });
    } else {
      const stage = stages.at(-1);
      if (!stage) throw new Error(`${line}: before the first FROM`);
      stage.instructions.push({ name, text: argumentText });
    }
  }
  return stages;
}

/**
 * Returns the words of a command in JSON array form.
 * @param {string} text
 * @returns {string[]}
 */
export const wordsOf = (text) => JSON.parse(text.slice(text.indexOf('[')));

/**
 * Parses the patterns of a .dockerignore: a name, or a name at any level (with a leading `**` and a slash).
 * @param {string} text
 * @returns {(path: string) => boolean} whether a path below the context is ignored
 */
export function readIgnoreFile(text) {
  const patterns = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const matchesAnyLevel = line.startsWith('**/');
      const name = (matchesAnyLevel ? line.slice(3) : line).replaceAll('.', '\\.').replaceAll('*', '[^/]*');
      return new RegExp(`${matchesAnyLevel ? '(^|/)' : '^'}${name}(/|$)`);
    });
  return (path) => patterns.some((pattern) => pattern.test(path));
}
