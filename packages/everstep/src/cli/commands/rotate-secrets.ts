/** `everstep rotate-secrets`: replaces the keys of the installation. */
import { join } from 'node:path';
import { Command } from 'commander';
import { SETTINGS } from '../../config/settings.js';
import { json, type Shell } from '../output.js';
import { settingOf } from './service-settings.js';

interface RotateOptions {
  readonly dataDir?: string;
  readonly store?: string;
  readonly endTokens?: boolean;
  readonly onlyEncrypt?: boolean;
  readonly json?: boolean;
}

export function rotateSecretsCommand(shell: Shell): Command {
  const { screen, complain } = shell;
  return new Command('rotate-secrets')
    .summary('Replace the keys of the installation, and encrypt all secrets under the current key')
    .description(
      'Replace the keys that sign tokens, seal cursors and hash login places, and encrypt all secrets under the first key of\n' +
        'EVERSTEP_SECRETS_KEY. Tokens stay valid, unless --end-tokens ends them. Services continue meanwhile. For the embedded\n' +
        'store, run it on the machine of the service, as the user that the service runs as.',
    )
    .option('--data-dir <path>', 'data directory of the service (or EVERSTEP_DATA_DIR)')
    .option('--store <path-or-url>', 'file or database, if it is not in there (or EVERSTEP_STORE)')
    .option('--end-tokens', 'refuse permanent tokens that were issued until now; the management API shows the new ones')
    .option('--only-encrypt', 'replace no key: only encrypt everything under the current key')
    .option('--json', 'print the result as JSON')
    .action(async (options: RotateOptions) => {
      const dataDir = settingOf(SETTINGS.dataDir, options.dataDir, shell);
      const store = settingOf(SETTINGS.store, options.store, shell) ?? { kind: 'file', file: join(dataDir, 'everstep.db') };
      const secretsKeys = settingOf(SETTINGS.secretsKey, undefined, shell);
      const { endTokens = false, onlyEncrypt = false } = options;
      const warn = (details: Readonly<Record<string, unknown>>, message: string) =>
        complain(`${message} ${JSON.stringify(details)}\n`);
      const log = { debug() {}, info() {}, warn, error: warn };
      const { rotateFromOutside } = await import('../../rotation/offline.js');
      const rotation = await rotateFromOutside({ dataDir, store, secretsKeys, log, endTokens, onlyEncrypt });
      if (options.json) return screen.write(json(rotation));
      const { replaced, encrypted } = rotation;
      if (!onlyEncrypt) screen.write(`${replaced.length} keys replaced: ${replaced.join(', ') || 'there were none'}.\n`);
      screen.write(`${encrypted} secrets were encrypted under the current key.\n`);
      if (endTokens && !onlyEncrypt)
        screen.write('Permanent tokens are refused now. Read the new ones with `everstep admin queues get`.\n');
    });
}
