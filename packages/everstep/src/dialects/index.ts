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

const OTHERS = Object.values(DIALECTS).filter((dialect) => dialect !== DEFAULT_DIALECT);
const BEARER = /^bearer +(\S+) *$/i;

/** What shows the dialect of a request: lower-case names of its headers, and its query. */
export interface Spoken {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly query?: string;
}

/** The dialect that a request shows: by the prefix of a header, the form of its token, or a parameter of its own. Null when it shows none. */
export function dialectShown({ headers, query = '' }: Spoken): Dialect | null {
  const { authorization } = headers;
  const token = typeof authorization === 'string' ? BEARER.exec(authorization)?.[1] : undefined;
  for (const dialect of OTHERS) {
    for (const name in headers) if (name.startsWith(dialect.receivedPrefix)) return dialect;
    if (token !== undefined && dialect.readToken(token) !== null) return dialect;
    if (query.includes(`${dialect.tokenParameter}=`)) return dialect;
    if (dialect.ownParameters.some((name) => query.startsWith(`${name}=`) || query.includes(`&${name}=`))) return dialect;
  }
  return null;
}

/** The dialect of a request: the one that it shows, else the default. */
export const dialectOf = (spoken: Spoken): Dialect => dialectShown(spoken) ?? DEFAULT_DIALECT;

/** A token without the form in which some dialect carries it. */
export function bareToken(text: string): string {
  for (const dialect of OTHERS) {
    const token = dialect.readToken(text);
    if (token !== null) return token;
  }
  return text;
}
