/** Finds the events that the source writes to the log of the service. */
import { codeOf } from '../architecture.fixture.js';

export interface LogEvent {
  readonly level: string;
  readonly event: string;
  /** Names of the fields that the call lists. Fields of a spread are not found. */
  readonly fields: readonly string[];
}

const CALL = /\blog\??\.(debug|info|warn|error)\(/g;
const PERIODIC = /\bnew PeriodicLog\(/g;
/** A notice of the embedded store: `{ event: 'text', fields: { ... } }`. */
const NOTICE = /\bevent: '([^']*)',\s*fields: (\{[^}]*\})/g;
/** The text of a notice and of a periodic line is declared where they are made. */
const DECLARED_ELSEWHERE: readonly string[] = ['event', 'this.message'];

/** Splits at the commas outside of brackets and strings, up to the bracket that closes what is open at `start`. */
function partsFrom(code: string, start: number): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = '';
  let quote: string | null = null;
  for (let at = start; at < code.length && depth >= 0; at++) {
    const char = code[at] ?? '';
    if (quote !== null) quote = char === quote ? null : quote;
    else if (char === "'" || char === '"') quote = char;
    else if ('([{'.includes(char)) depth++;
    else if (')]}'.includes(char)) depth--;
    if (depth < 0 || (char === ',' && depth === 0 && quote === null)) {
      parts.push(part.trim());
      part = '';
    } else part += char;
  }
  return parts.filter((each) => each !== '');
}

/** Names of the properties of an object literal. */
const namesOf = (literal: string): readonly string[] =>
  literal.startsWith('{') ? partsFrom(literal, 1).flatMap((part) => /^\w+(?=:|$)/.exec(part) ?? []) : [];

function constantOf(text: string | undefined): string {
  const found = /^'([^']*)'$/.exec(text ?? '')?.[1];
  if (found === undefined) throw new Error(`the text of a log line must be a constant: ${text}`);
  return found;
}

/** Returns the events of a source file. Throws when the text of a log line is not a constant. */
export function logEventsIn(source: string): readonly LogEvent[] {
  const code = codeOf(source, 'kept');
  const called = [...code.matchAll(CALL)].flatMap(({ 0: call, 1: level = '', index }): readonly LogEvent[] => {
    const [details = '', text = ''] = partsFrom(code, index + call.length);
    return DECLARED_ELSEWHERE.includes(text) ? [] : [{ level, event: constantOf(text), fields: namesOf(details) }];
  });
  const periodic = [...code.matchAll(PERIODIC)].map(({ 0: call, index }): LogEvent => {
    const [, text] = partsFrom(code, index + call.length);
    return { level: 'warn', event: constantOf(text), fields: ['occurrences'] };
  });
  const notices = [...code.matchAll(NOTICE)].map(({ 1: event = '', 2: fields = '' }): LogEvent => {
    return { level: 'warn', event, fields: namesOf(fields) };
  });
  return [...called, ...periodic, ...notices];
}
