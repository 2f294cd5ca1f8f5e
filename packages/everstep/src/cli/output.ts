/** Output of commands: human-readable tables, or JSON for programs. */
import { isAbsolute, relative, resolve, sep } from 'node:path';

/** The output of a command. */
export interface Screen {
  write(text: string): void;
  readonly hasColors: boolean;
  /** Whether the output is a terminal, which stores nothing. */
  readonly isTerminal: boolean;
}

/** The environment of a command; tests pass their own. */
export interface Shell {
  /** Standard output, for results. */
  readonly screen: Screen;
  /** Standard error, for failures. */
  printError(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

export const createTerminalShell = (): Shell => ({
  screen: {
    write: (text) => void process.stdout.write(text),
    isTerminal: process.stdout.isTTY === true,
    hasColors: process.stdout.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb',
  },
  printError: (text) => void process.stderr.write(text),
  env: process.env,
  cwd: process.cwd(),
});

const STYLES = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39], cyan: [36, 39] } as const;
export type Style = keyof typeof STYLES;

export function styled(screen: Screen, style: Style, text: string): string {
  const [on, off] = STYLES[style];
  return screen.hasColors ? `\u001b[${on}m${text}\u001b[${off}m` : text;
}

/** Returns the path relative to the working directory if it is inside of it, and otherwise the absolute path. */
export function displayPath(path: string, cwd: string = process.cwd()): string {
  const relativePath = relative(cwd, path);
  const isOutside = relativePath === '..' || relativePath.startsWith(`..${sep}`) || isAbsolute(relativePath);
  return isOutside ? resolve(cwd, path) : relativePath || '.';
}

/** Escapes control characters from outside, which could move the cursor of the terminal. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the control characters are replaced
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (character) => {
    if (character === '\n') return '\\n';
    if (character === '\t') return '\\t';
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
}

/** Escapes control characters as `printable` does, except for line breaks. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');

export function shorten(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 3)}...`;
}

export type Cell = string | number | null | undefined;

/** Formats a table whose columns are as wide as their widest cell. */
export function table(screen: Screen, head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cells = rows.map((row) => row.map((cell) => printable(cell === null || cell === undefined ? '-' : String(cell))));
  const widths = head.map((title, column) => Math.max(title.length, ...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  return [styled(screen, 'dim', line(head)), ...cells.map(line)].map((text) => `${text}\n`).join('');
}

/** Escapes the control characters that JSON allows in texts. */
const escapeControls = (jsonText: string): string =>
  jsonText.replace(/[\u007f-\u009f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Formats a value as indented JSON without control characters that a terminal interprets. */
export const json = (value: unknown): string => `${escapeControls(JSON.stringify(value, null, 2))}\n`;

/** Formats a value as JSON in one line. */
export const jsonLine = (value: unknown): string => `${escapeControls(JSON.stringify(value))}\n`;

/** Returns a number with its noun: `1 problem`, `2 problems`. */
export const countText = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Formats a time in UTC: `2026-05-01 12:00:01`; `-` if there is none. */
export function instant(unixMs: number | null | undefined): string {
  if (unixMs === null || unixMs === undefined) return '-';
  return new Date(unixMs).toISOString().slice(0, 19).replace('T', ' ');
}

/** Formats a duration: `37 ms`, `1.2 s`, `3 m 05 s`, `2 h 00 m`, `7 d 12 h`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const twoDigits = (value: number) => String(value).padStart(2, '0');
  const seconds = Math.floor(ms / 1000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} m ${twoDigits(seconds % 60)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1_440) return `${Math.floor(minutes / 60)} h ${twoDigits(minutes % 60)} m`;
  const hours = Math.floor(minutes / 60);
  return `${Math.floor(hours / 24)} d ${twoDigits(hours % 24)} h`;
}
