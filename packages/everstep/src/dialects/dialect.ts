/** How one family of clients spells what all of them mean. */
import type { DialectName } from '../engine/run.js';

export interface Dialect {
  readonly name: DialectName;
  /** Header prefix as documents show it, such as `Svc-`. */
  readonly prefix: string;
  /** The prefix as Node gives header names: in lower case. */
  readonly receivedPrefix: string;
  /** Query parameter that carries the token. */
  readonly tokenParameter: string;
  /** A header name with its prefix, as documents show it. */
  spell(header: string): string;
  /** The token within the form in which only clients of this dialect carry one; null for any other text. */
  readToken(text: string): string | null;
}

export interface DialectSpelling {
  readonly name: DialectName;
  readonly prefix: string;
  readonly tokenParameter: string;
  readonly readToken?: Dialect['readToken'];
}

export function createDialect({ name, prefix, tokenParameter, readToken = () => null }: DialectSpelling): Dialect {
  return Object.freeze({
    name,
    prefix,
    receivedPrefix: prefix.toLowerCase(),
    tokenParameter,
    spell: (header: string) => prefix + header,
    readToken,
  });
}
