/**
 * The one table of spellings. Everything else names headers without a prefix
 * and asks a dialect for the spelling; another family of clients is a folder
 * beside `native` and a row here.
 */
import type { DialectName } from '../engine/run.js';
import type { Dialect } from './dialect.js';
import { native } from './native/index.js';
import { upstash } from './upstash/index.js';

export type { Dialect } from './dialect.js';

export const DIALECTS: Readonly<Record<DialectName, Dialect>> = Object.freeze({ native, upstash });

/** Spoken to those who do not show which dialect they speak. */
export const DEFAULT_DIALECT: Dialect = DIALECTS.native;

/** The dialect of a request: the one whose prefix its headers carry, else the default. `headers` with lower-case names. */
export function dialectOf(headers: Readonly<Record<string, string | readonly string[] | undefined>>): Dialect {
  const others = Object.values(DIALECTS).filter((dialect) => dialect !== DEFAULT_DIALECT);
  if (others.length === 0) return DEFAULT_DIALECT;
  const names = Object.keys(headers);
  return others.find(({ receivedPrefix }) => names.some((name) => name.startsWith(receivedPrefix))) ?? DEFAULT_DIALECT;
}
