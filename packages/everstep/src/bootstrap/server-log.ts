/** The log of the server on stderr: JSON lines, or one readable line per event. */
import { type Logger, pino } from 'pino';
import type { LogLevel } from '../config/log-levels.js';

export interface ServerLogOptions {
  readonly level: LogLevel;
  readonly format: 'json' | 'text';
  readonly write?: (line: string) => void;
}

/** Fields that the text format prints in another form or omits. */
const OMITTED_FIELDS = new Set(['level', 'time', 'pid', 'hostname', 'msg']);

/** Matches control characters, with which a logged value could start a new line or move the cursor of the terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the control characters are replaced
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;
const NAMED_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

const escapeControls = (text: string): string =>
  text.replace(
    CONTROL_CHARACTERS,
    (character) => NAMED_ESCAPES[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** Formats one line of JSON as `12:00:01 WARN message key=value`. */
export function formatLine(line: string): string {
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(line);
  } catch {
    return line;
  }
  const level = typeof entry.level === 'number' ? (pino.levels.labels[entry.level] ?? '') : String(entry.level);
  const time = typeof entry.time === 'number' ? new Date(entry.time).toISOString().slice(11, 19) : '';
  const details = Object.entries(entry)
    .filter(([key]) => !OMITTED_FIELDS.has(key))
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return `${escapeControls([time, level.toUpperCase(), String(entry.msg ?? ''), ...details].join(' '))}\n`;
}

export function createServerLog({ level, format, write }: ServerLogOptions): Logger {
  const writeLine = write ?? ((line: string) => void process.stderr.write(line));
  return pino({ level, base: null }, { write: format === 'json' ? writeLine : (line: string) => writeLine(formatLine(line)) });
}
