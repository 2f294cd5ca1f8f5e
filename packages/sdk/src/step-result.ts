/** Results as JSON text: values that a step or a workflow can return, and what the code receives back. */
import { checkJsonBounds, MAX_RESULT_BYTES } from './bounded-json.js';
import { bytesOver } from './encoded-body.js';
import { describeError, NonRetryableError } from './errors.js';

/** The type of a value of type T after it has passed through JSON: a Date becomes a string, and methods are lost. */
export type JsonOf<T> = T extends { toJSON(...args: never[]): infer J }
  ? JsonOf<J>
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends bigint | symbol | ((...args: never[]) => unknown)
      ? never
      : T extends readonly unknown[]
        ? { [Index in keyof T]: JsonOf<T[Index]> }
        : T extends object
          ? { [Key in keyof T as T[Key] extends symbol | ((...args: never[]) => unknown) ? never : Key]: JsonOf<T[Key]> }
          : T;

/**
 * Returns the JSON text of a value; undefined for undefined.
 *
 * @param problem Start of the error message, such as "the result of step \"a\" cannot be recorded".
 * @throws {NonRetryableError} If JSON cannot represent the value.
 */
export function jsonText(value: unknown, problem: string): string | undefined {
  if (value === undefined) return undefined;
  let reason: string;
  if (value instanceof Map || value instanceof Set) {
    reason = `it is a ${value.constructor.name}, which JSON turns into an empty object; return an array or a plain object instead`;
  } else {
    try {
      const text = JSON.stringify(value);
      if (text !== undefined) return text;
      reason = `JSON has no representation of this ${typeof value}; use an object, array, string, number, boolean or null`;
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
    }
  }
  throw new NonRetryableError(`${problem} as JSON: ${reason}`);
}

/** Returns which limit of the server a JSON text exceeds; null if it exceeds none. */
function exceededLimit(json: string): string | null {
  const bytes = bytesOver(MAX_RESULT_BYTES, json);
  if (bytes !== null) return `${bytes} bytes, but at most ${MAX_RESULT_BYTES} are allowed`;
  try {
    checkJsonBounds(json);
    return null;
  } catch (error) {
    return describeError(error).message;
  }
}

/**
 * Returns the text that the server records for a result: its JSON, encrypted by `seal`. `subject` describes the step or workflow in
 * the error.
 *
 * @throws {NonRetryableError} If JSON cannot represent the result, or if the text exceeds a limit of the server.
 */
export function resultToJson(value: unknown, subject: string, seal: (json: string) => string): string | undefined {
  const problem = `the result of ${subject} cannot be recorded`;
  const json = jsonText(value, problem);
  if (json === undefined) return undefined;
  const recordedText = seal(json);
  const limit = exceededLimit(recordedText);
  if (limit === null) return recordedText;
  const advice = 'return a simpler value, or store the data elsewhere and return a reference to it';
  throw new NonRetryableError(`${problem}: it exceeds a limit: ${limit}; ${advice}`);
}
