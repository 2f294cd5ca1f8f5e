/** Adds the settings of the server as options to a command, and reads them. */
import type { Command } from 'commander';
import { type Config, parseConfig } from '../../../config/config.js';
import type { Mode } from '../../../config/setting.js';
import { SETTINGS } from '../../../config/settings.js';
import { UsageError } from '../../exit-codes.js';
import type { Shell } from '../../output.js';

function settingsHelp(): string {
  const rows = Object.values(SETTINGS).map(({ env, flag }) => `  ${flag.padEnd(26)}${env}`);
  return `\nEnvironment variables (a flag takes precedence):\n${rows.join('\n')}\n`;
}

/** Adds an option for each setting, and a list of their environment variables to the help. */
export function withConfig(command: Command, mode: Mode): Command {
  for (const { flag, help, defaultText } of Object.values(SETTINGS)) {
    if (mode === 'serve' && flag === SETTINGS.demo.flag) continue;
    command.option(flag, flag.startsWith('--no-') ? help : `${help} (default: ${defaultText})`);
  }
  return command.addHelpText('after', settingsHelp());
}

/** Returns the configuration of a command. Throws UsageError for invalid settings. */
export function configOf(command: Command, mode: Mode, { env, cwd }: Shell): Config {
  const flags: Record<string, string | boolean | undefined> = {};
  for (const { option } of Object.values(SETTINGS)) {
    // Commander sets --no-x to true by default; only options on the command line count.
    if (command.getOptionValueSource(option) === 'cli') flags[option] = command.getOptionValue(option);
  }
  const parsed = parseConfig({ mode, flags, env, cwd });
  if (!parsed.ok) throw new UsageError(parsed.problems.join('\n'));
  return parsed.config;
}
