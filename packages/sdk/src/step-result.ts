/** Results as JSON text: what a step or a workflow may return, and what comes back. */
import { NonRetryableError } from './errors.js';

/** What is left of a value of type T after it travelled as JSON: a Date is a string, a method is gone. */
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
 * JSON text of a value; undefined for undefined. Throws NonRetryableError that begins with `what cannot`, such as
 * "the result of step \"a\" cannot be recorded", when JSON cannot hold the value.
 */
export function jsonText(value: unknown, whatCannot: string): string | undefined {
  if (value === undefined) return undefined;
  let reason: string;
  if (value instanceof Map || value instanceof Set) {
    reason = `it is a ${value.constructor.name}, which JSON would empty; give an array or an object made from it`;
  } else {
    try {
      const text = JSON.stringify(value);
      if (text !== undefined) return text;
      reason = `it is a ${typeof value}`;
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
    }
  }
  throw new NonRetryableError(`${whatCannot} as JSON: ${reason}`);
}

/** JSON text of a result, named `what` if JSON cannot hold it: then it throws NonRetryableError. */
export const resultToJson = (value: unknown, what: string): string | undefined =>
  jsonText(value, `the result of ${what} cannot be recorded`);
