/** Formats the results of a test run. */
import { inspect } from 'node:util';

function failureText({ source, line, name, error }) {
  const cause = error?.cause ?? error;
  const text = typeof cause === 'string' ? cause : inspect(cause, { depth: 6 });
  return `\n--- ${name}\n    ${source}${line === undefined ? '' : ` (compiled line ${line})`}\n${text.replace(/^/gm, '    ')}`;
}

/**
 * Returns a line per file, then every failure in full.
 *
 * @param {import('./tally.mjs').Tally} tally
 * @returns {string[]}
 */
export function reportOf(tally) {
  const lines = [];
  const width = Math.max(0, ...[...tally.files.keys()].map((name) => name.length));
  for (const [source, counts] of [...tally.files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    // A file that only contains suites of other files has no results of its own.
    if (counts.passed + counts.failed + counts.skipped === 0) continue;
    const outcomes = [`${counts.passed} passed`];
    if (counts.failed > 0) outcomes.push(`${counts.failed} FAILED`);
    if (counts.skipped > 0) outcomes.push(`${counts.skipped} skipped`);
    const seconds = (counts.durationMs / 1000).toFixed(1).padStart(5);
    lines.push(`${source.padEnd(width)}  ${seconds} s  ${outcomes.join(', ')}`);
  }
  lines.push(...tally.failures.map(failureText));
  for (const source of tally.filesWithoutResults()) lines.push(`\n--- ${source} contains no test`);
  return lines;
}
