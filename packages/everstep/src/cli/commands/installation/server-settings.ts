/** Server settings that maintenance commands need. */
import type { Setting } from '../../../config/setting.js';
import { UsageError } from '../../exit-codes.js';
import type { Shell } from '../../output.js';

/** Returns a server setting, resolved as the server resolves it. Throws UsageError for an invalid value. */
export function settingOf<Value>(setting: Setting<Value>, flag: string | undefined, { env, cwd }: Shell): Value {
  const text = flag ?? env[setting.env]?.trim() ?? '';
  const context = { mode: 'serve', cwd } as const;
  if (text === '') return setting.fallback(context);
  try {
    return setting.parse(text, context);
  } catch (error) {
    throw new UsageError(`${flag === undefined ? setting.env : setting.flag.split(' ')[0]} ${(error as Error).message}`);
  }
}
