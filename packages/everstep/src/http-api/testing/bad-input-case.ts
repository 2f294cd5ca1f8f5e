/** A request that must be rejected, and the expected error. */
import type { ErrorCode } from '../../contract/error-codes.js';

export type Case = readonly [
  what: string,
  /** Method and URL. */
  request: string,
  expected: ErrorCode,
  words: RegExp,
  options?: { readonly headers?: Readonly<Record<string, string>>; readonly body?: string | Buffer },
];

export const json = { 'content-type': 'application/json' };

/** Returns a request with an invalid path or query. */
export const parameter = (request: string, words: RegExp, code: ErrorCode = 'bad-parameter'): Case => [
  request,
  request,
  code,
  words,
];
