/** Commands of the `everstep` program in text that people read, and whether the program takes them. */
import type { Command, Option } from 'commander';

/** Words of a command line as a shell reads them, up to a pipe, a redirection, a comment or a second command. */
export function wordsOf(line: string): readonly string[] {
  const words: string[] = [];
  let word: string | null = null;
  let quote: string | null = null;
  for (let at = 0; at < line.length; at++) {
    const char = line[at] ?? '';
    if (quote !== null) {
      if (char === quote) quote = null;
      else word += char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= '';
    } else if (/\s/.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else if (';|&'.includes(char) || (char === '>' && word === null) || (char === '#' && word === null) || char === ')') break;
    else if (char === '<' && word === null) {
      // A placeholder such as <run id>; a redirection has a space or a path behind it.
      const end = line.indexOf('>', at);
      if (end === -1 || line[at + 1] === ' ') break;
      word = line.slice(at, end + 1);
      at = end;
    } else word = (word ?? '') + char;
  }
  if (word !== null) words.push(word);
  return words;
}

const longest = (command: Command): number => {
  const { registeredArguments } = command;
  return registeredArguments.some(({ variadic }) => variadic) ? Number.POSITIVE_INFINITY : registeredArguments.length;
};

const optionsOf = (command: Command): readonly Option[] => [
  ...command.options,
  ...(command.parent ? optionsOf(command.parent) : []),
];

/**
 * What is wrong with a command, as words behind `everstep`; null when the program takes it. A mention in a sentence
 * (`complete` is false) may leave out arguments, but names nothing that does not exist.
 */
export function problemOf(program: Command, words: readonly string[], { complete }: { complete: boolean }): string | null {
  let command = program;
  const given: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (word === '--help' || word === '--version' || word === '...') return null;
    if (word.startsWith('--')) {
      const [name = '', value] = word.split(/=(.*)/s, 2);
      const option = optionsOf(command).find(({ long }) => long === name);
      if (!option) return `${command.name()} has no option ${name}`;
      if (!option.required || value !== undefined) continue;
      if (at + 1 >= words.length && complete) return `${name} needs a value`;
      at++;
      continue;
    }
    const child: Command | undefined = given.length === 0 ? command.commands.find((each) => each.name() === word) : undefined;
    if (child) command = child;
    else given.push(word);
  }
  const hasAction = command.registeredArguments.length > 0 || command.commands.length === 0;
  if (command.commands.length > 0 && !hasAction) {
    if (given.length > 0) return `${command.name()} has no command ${given[0]}`;
    return null;
  }
  if (given.length > longest(command)) return `${command.name()} takes no argument ${given[longest(command)]}`;
  const least = command.registeredArguments.filter(({ required }) => required).length;
  if (complete && given.length < least) return `${command.name()} needs ${least} arguments`;
  return null;
}

export interface ShownCommand {
  readonly words: readonly string[];
  /** A line to type, and not a mention in a sentence. */
  readonly complete: boolean;
  readonly line: number;
}

const PROGRAM = /(?:^|[\s$(`])(?:npx )?everstep(?= )/;
const FENCE = /^ *```(\w*)/;
const SHELLS: readonly string[] = ['', 'sh', 'bash', 'shell', 'console'];

function commandIn(text: string): readonly string[] | null {
  const found = PROGRAM.exec(text);
  return found && wordsOf(text.slice(found.index + found[0].length));
}

/** Of a Markdown page: in blocks of shell lines, and in `code` within sentences. */
export function commandsInMarkdown(text: string): readonly ShownCommand[] {
  const commands: ShownCommand[] = [];
  const lines = text.split('\n');
  let fence: string | null = null;
  for (let at = 0; at < lines.length; at++) {
    const line = at + 1;
    const mark = FENCE.exec(lines[at] ?? '');
    if (mark) {
      fence = fence === null ? (mark[1] ?? '') : null;
      continue;
    }
    if (fence === null) {
      for (const [, code = ''] of (lines[at] ?? '').matchAll(/`([^`]+)`/g)) {
        const words = /^(npx )?everstep /.test(code) ? commandIn(code) : null;
        if (words) commands.push({ words, complete: false, line });
      }
      continue;
    }
    if (!SHELLS.includes(fence)) continue;
    let whole = lines[at] ?? '';
    while (whole.endsWith('\\')) whole = `${whole.slice(0, -1)} ${lines[++at] ?? ''}`;
    // A line of output, or a comment, is no command.
    if (!/^ *(\$ |[A-Z_]+=\S* +|npx |everstep |\S+="?\$\()/.test(whole)) continue;
    const words = commandIn(whole);
    if (words) commands.push({ words, complete: true, line });
  }
  return commands;
}

/** Of sources with texts for people: commands in `<code>`, in backticks, or behind `npx`. Not in comments. */
export function commandsInSource(text: string): readonly ShownCommand[] {
  const commands: ShownCommand[] = [];
  for (const [at, content] of text.split('\n').entries()) {
    if (/^\s*(\/\*|\*|\/\/)/.test(content)) continue;
    // JSX writes a text with braces or quotes as {'...'}.
    const plain = content.replace(/\{'([^']*)'\}/g, '$1').replace(/\\`/g, '`');
    for (const [, code = ''] of plain.matchAll(/(?:<code>|`|(?=npx ))((?:npx )?everstep [^`<\n]*(?:<[^/`][^>`]*>[^`<\n]*)*)/g)) {
      const words = commandIn(code.replace(/\$\{[^}]*\}/g, 'value').split(/[;,] [a-z]|' *[,)]|…/)[0] ?? '');
      if (words) commands.push({ words, complete: false, line: at + 1 });
    }
  }
  return commands;
}
