/**
 * All dialects. The rest of the code names headers without a prefix and gets the full name from a dialect. To support
 * another family of clients, add a folder next to `native` and an entry here.
 */
import type { DialectName } from '../engine/runs/run.js';
import type { Dialect } from './dialect.js';
import { native } from './native/index.js';
import { upstash } from './upstash/index.js';

export type { Dialect } from './dialect.js';

export const DIALECTS: Readonly<Record<DialectName, Dialect>> = Object.freeze({ native, upstash });

/** Dialect of clients whose requests do not identify one. */
export const DEFAULT_DIALECT: Dialect = DIALECTS.native;

const OTHER_DIALECTS = Object.values(DIALECTS).filter((dialect) => dialect !== DEFAULT_DIALECT);
const BEARER = /^bearer +(\S+) *$/i;

/** Parts of a request that identify its dialect: headers with lowercase names, and the query. */
export interface DialectClues {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly query?: string;
}

/** Returns the dialect that a request identifies by a header prefix, its token format or a query parameter, or null. */
export function identifiedDialect({ headers, query = '' }: DialectClues): Dialect | null {
  const { authorization } = headers;
  const token = typeof authorization === 'string' ? BEARER.exec(authorization)?.[1] : undefined;
  for (const dialect of OTHER_DIALECTS) {
    for (const name in headers) if (name.startsWith(dialect.receivedPrefix)) return dialect;
    if (token !== undefined && dialect.readToken(token) !== null) return dialect;
    if (query.includes(`${dialect.tokenParameter}=`)) return dialect;
    if (dialect.ownParameters.some((name) => query.startsWith(`${name}=`) || query.includes(`&${name}=`))) return dialect;
  }
  return null;
}

/** Returns the dialect that the request identifies, otherwise the default one. */
export const dialectOf = (clues: DialectClues): Dialect => identifiedDialect(clues) ?? DEFAULT_DIALECT;

/** Extracts the token from the format in which a dialect carries it; returns any other text unchanged. */
export function bareToken(text: string): string {
  for (const dialect of OTHER_DIALECTS) {
    const token = dialect.readToken(text);
    if (token !== null) return token;
  }
  return text;
}
