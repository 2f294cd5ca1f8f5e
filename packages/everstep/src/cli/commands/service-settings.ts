/** Settings of the service that a command needs which works beside it. */
import type { Setting } from '../../config/settings.js';
import { UsageError } from '../exit-codes.js';
import type { Shell } from '../output.js';

/** A setting of the service, found as the service finds it. Throws UsageError for a value that is invalid. */
export function settingOf<Value>(setting: Setting<Value>, flag: string | undefined, { env, cwd }: Shell): Value {
  const text = flag ?? env[setting.env]?.trim() ?? '';
  const surroundings = { mode: 'serve', cwd } as const;
  if (text === '') return setting.fallback(surroundings);
  try {
    return setting.parse(text, surroundings);
  } catch (error) {
    throw new UsageError(`${flag === undefined ? setting.env : setting.flag.split(' ')[0]} ${(error as Error).message}`);
  }
}
