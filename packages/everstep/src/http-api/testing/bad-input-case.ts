/** A request that must be rejected, and the expected error. */
import type { ErrorCode } from '../../contract/error-codes.js';

export type Case = readonly [
  title: string,
  /** Method and URL. */
  request: string,
  expected: ErrorCode,
  message: RegExp,
  options?: { readonly headers?: Readonly<Record<string, string>>; readonly body?: string | Buffer },
];

export const json = { 'content-type': 'application/json' };

/** Returns a case with an invalid path or query. */
export const parameter = (request: string, message: RegExp, code: ErrorCode = 'bad-parameter'): Case => [
  request,
  request,
  code,
  message,
];
