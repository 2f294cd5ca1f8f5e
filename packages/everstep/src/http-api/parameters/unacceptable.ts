/** What is wrong with a value that was sent, before it is known where it stood. */
import type { ErrorCode } from '../../contract/error-codes.js';

const MAX_SHOWN_LENGTH = 80;

/** Thrown while a value is read; the reader adds the name of the parameter. */
export class Unacceptable extends Error {
  /** A code of its own; null takes that of the place where the value stood. */
  readonly code: ErrorCode | null;
  /** `message` goes on after the name: `must be a whole number from 1 to 10, not "x"`. */
  constructor(message: string, code: ErrorCode | null = null) {
    super(message);
    this.code = code;
  }
}

/** What was given, in quotes, shortened, and without characters that could disturb a terminal. */
export function shown(text: string): string {
  const short = text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text;
  return JSON.stringify(short).replace(/[\u007f-\u009f\u2028\u2029]/g, '?');
}
