/** Error of a value whose parameter is not known yet. */
import { truncateText } from '@everstep/sdk/protocol';
import type { ErrorCode } from '../../contract/error-codes.js';

const MAX_SHOWN_LENGTH = 80;

/** Error of an invalid value. The code that reads the parameter adds its name to the message. */
export class InvalidValueError extends Error {
  /** Error code, or null if the code depends on the part of the request that contains the value. */
  readonly code: ErrorCode | null;
  /** `message` continues after the name of the parameter: `must be an integer from 1 to 10, not "x"`. */
  constructor(message: string, code: ErrorCode | null = null) {
    super(message);
    this.code = code;
  }
}

/** Quotes a value for an error message, shortened and without characters that could disrupt a terminal. */
export function quoteValue(text: string): string {
  const shortText = text.length > MAX_SHOWN_LENGTH ? `${truncateText(text, MAX_SHOWN_LENGTH)}…` : text;
  return JSON.stringify(shortText).replace(/[\u007f-\u009f\u2028\u2029]/g, '?');
}
