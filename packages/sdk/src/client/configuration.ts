/** What a client is told by its options, or else by the environment. */
import { EverstepError } from '../errors.js';

/** Throws EverstepError when neither says it. */
export function configured(given: string | undefined, option: string, variable: string): string {
  const value = given ?? (typeof process === 'object' ? process.env[variable] : undefined);
  if (value) return value;
  throw new EverstepError(`the client has no ${option}: give the option ${option}, or set ${variable}`, {
    status: 0,
    code: 'no-configuration',
  });
}
