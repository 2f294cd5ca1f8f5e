/** The service's log: JSON lines for machines, or one readable line each for people. Goes to stderr. */
import { type Logger, pino } from 'pino';
import type { LogLevel } from '../config/settings.js';

export interface ServiceLogOptions {
  readonly level: LogLevel;
  readonly format: 'json' | 'text';
  readonly write?: (line: string) => void;
}

/** Fields of every line that say nothing to somebody who watches one process. */
const QUIET_FIELDS = new Set(['level', 'time', 'pid', 'hostname', 'msg']);

/** What would start another line, or move the cursor of whoever looks: it may be from outside. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;
const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

const onOneLine = (text: string): string =>
  text.replace(CONTROLS, (character) => NAMED[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** `12:00:01 WARN message key=value`, from one line of JSON. */
export function readable(line: string): string {
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(line);
  } catch {
    return line;
  }
  const level = typeof entry.level === 'number' ? (pino.levels.labels[entry.level] ?? '') : String(entry.level);
  const time = typeof entry.time === 'number' ? new Date(entry.time).toISOString().slice(11, 19) : '';
  const details = Object.entries(entry)
    .filter(([key]) => !QUIET_FIELDS.has(key))
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return `${onOneLine([time, level.toUpperCase(), String(entry.msg ?? ''), ...details].join(' '))}\n`;
}

export function createServiceLog({ level, format, write }: ServiceLogOptions): Logger {
  const out = write ?? ((line: string) => void process.stderr.write(line));
  return pino({ level, base: null }, { write: format === 'json' ? out : (line: string) => out(readable(line)) });
}
