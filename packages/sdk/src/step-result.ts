/** Results as JSON text: values that a step or a workflow can return, and what the code receives back. */
import { NonRetryableError } from './errors.js';

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

/**
 * Returns the JSON text of a result. `subject` describes the step or workflow in the error.
 *
 * @throws {NonRetryableError} If JSON cannot represent the result.
 */
export const resultToJson = (value: unknown, subject: string): string | undefined =>
  jsonText(value, `the result of ${subject} cannot be recorded`);
