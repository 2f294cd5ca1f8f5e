/** Options of a client, with defaults from the environment. */
import { EverstepError } from '../errors.js';

/**
 * Returns the option, or the environment variable.
 *
 * @throws {EverstepError} If both are missing.
 */
export function configured(given: string | undefined, option: string, variable: string): string {
  const value = given ?? (typeof process === 'object' ? process.env[variable] : undefined);
  if (value) return value;
  throw new EverstepError(`the client has no ${option}: pass the option ${option}, or set the environment variable ${variable}`, {
    status: 0,
    code: 'no-configuration',
  });
}
