/** `everstep rotate-secrets`: replaces the keys of the installation. */
import { join } from 'node:path';
import { Command } from 'commander';
import { SETTINGS } from '../../../config/settings.js';
import { countText, json, type Shell } from '../../output.js';
import { settingOf } from './server-settings.js';

interface RotateOptions {
  readonly dataDir?: string;
  readonly store?: string;
  readonly endTokens?: boolean;
  readonly onlyEncrypt?: boolean;
  readonly json?: boolean;
}

export function rotateSecretsCommand(shell: Shell): Command {
  const { screen, printError } = shell;
  return new Command('rotate-secrets')
    .summary('Replace the keys of the installation and re-encrypt all secrets')
    .description(
      'Replace the keys that sign tokens, seal cursors and hash sign-in addresses, and encrypt all secrets with the first key\n' +
        'of EVERSTEP_SECRETS_KEY. Tokens stay valid unless you set --end-tokens. Servers keep running. For the embedded store,\n' +
        "run this command on the server's machine, as the same operating system user.",
    )
    .option('--data-dir <path>', 'data directory of the server (or EVERSTEP_DATA_DIR)')
    .option('--store <path-or-url>', 'store file or database, if it is not in the data directory (or EVERSTEP_STORE)')
    .option('--end-tokens', 'invalidate all permanent tokens; the management API shows the new ones')
    .option('--only-encrypt', 'replace no keys, only re-encrypt all secrets with the current key')
    .option('--json', 'print the result as JSON')
    .action(async (options: RotateOptions) => {
      const dataDir = settingOf(SETTINGS.dataDir, options.dataDir, shell);
      const store = settingOf(SETTINGS.store, options.store, shell) ?? { kind: 'file', file: join(dataDir, 'everstep.db') };
      const secretsKeys = settingOf(SETTINGS.secretsKey, undefined, shell);
      const { endTokens = false, onlyEncrypt = false } = options;
      const warn = (details: Readonly<Record<string, unknown>>, message: string) =>
        printError(`${message} ${JSON.stringify(details)}\n`);
      const log = { debug() {}, info() {}, warn, error: warn };
      const { runRotateCommand } = await import('../../../rotation/rotate-command.js');
      const rotation = await runRotateCommand({ dataDir, store, secretsKeys, log, endTokens, onlyEncrypt });
      if (options.json) return screen.write(json(rotation));
      const { replaced, encrypted } = rotation;
      if (!onlyEncrypt) screen.write(`${countText(replaced.length, 'key')} replaced: ${replaced.join(', ') || 'none'}.\n`);
      screen.write(`${countText(encrypted, 'secret')} encrypted with the current key.\n`);
      if (endTokens && !onlyEncrypt)
        screen.write('All permanent tokens are now invalid. Get the new ones with `everstep admin instances get`.\n');
    });
}
