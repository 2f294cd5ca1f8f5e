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

const hasHeaderOf = ({ headers }: DialectClues, { receivedPrefix }: Dialect): boolean => {
  for (const name in headers) if (name.startsWith(receivedPrefix)) return true;
  return false;
};

/** Returns the dialect of the last token in the query. The query of a destination URL can contain others before it. */
function dialectOfQueryToken(query: string): Dialect | null {
  for (const parameter of query.split('&').toReversed()) {
    const dialect = Object.values(DIALECTS).find(({ tokenParameter }) => parameter.startsWith(`${tokenParameter}=`));
    if (dialect) return dialect;
  }
  return null;
}

/**
 * Returns the dialect that a request identifies by a header prefix, its token format or the parameter of its token, or null. A
 * token in the query is ignored if there is an Authorization header, because it then belongs to a destination URL.
 */
export function identifiedDialect(clues: DialectClues): Dialect | null {
  for (const dialect of [DEFAULT_DIALECT, ...OTHER_DIALECTS]) if (hasHeaderOf(clues, dialect)) return dialect;
  const { authorization } = clues.headers;
  if (authorization === undefined) return dialectOfQueryToken(clues.query ?? '');
  const token = typeof authorization === 'string' ? BEARER.exec(authorization)?.[1] : undefined;
  if (token === undefined) return null;
  return OTHER_DIALECTS.find((dialect) => dialect.readToken(token) !== null) ?? null;
}

/** Returns the dialect that the request identifies, otherwise the default one. */
export const dialectOf = (clues: DialectClues): Dialect => identifiedDialect(clues) ?? DEFAULT_DIALECT;

/** Extracts the token from the format in which a dialect carries it; returns any other text unchanged. */
export function unwrapToken(text: string): string {
  for (const dialect of OTHER_DIALECTS) {
    const token = dialect.readToken(text);
    if (token !== null) return token;
  }
  return text;
}
