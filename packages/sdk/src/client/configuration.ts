/** Options with defaults from the environment. */
import { EverstepError } from '../errors.js';

/**
 * Returns the value of the option, or of the environment variable if the option is not set.
 *
 * @throws {EverstepError} If both are missing.
 */
export function requireOption(value: string | undefined, option: string, variable: string): string {
  const configuredValue = value ?? (typeof process === 'object' ? process.env[variable] : undefined);
  if (configuredValue) return configuredValue;
  throw new EverstepError(`the option ${option} is missing: pass it, or set the environment variable ${variable}`, {
    status: 0,
    code: 'no-configuration',
  });
}
