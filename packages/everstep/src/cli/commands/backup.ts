/** `everstep verify`, `everstep backup`, `everstep verify-backup`, `everstep restore`: of the embedded store, on the machine where it lies. */
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import type { BackupParts, Manifest } from '../../backup/contents.js';
import type { BackupSecret } from '../../backup/encryption/backup-cipher.js';
import { SETTINGS } from '../../config/settings.js';
import { SERVICE_VERSION } from '../../step-calls/version.js';
import { UsageError } from '../exit-codes.js';
import { json, printable, type Shell, table } from '../output.js';
import { settingOf } from './service-settings.js';

interface PlaceOptions {
  readonly dataDir?: string;
  readonly store?: string;
}

interface SecretOptions {
  readonly encrypt?: boolean;
  readonly passphraseFile?: string;
}

const PASSPHRASE_FILE = '--passphrase-file <path>';
const MIN_PASSPHRASE_LENGTH = 12;
const MAX_PASSPHRASE_BYTES = 16 * 1024;

/** What opens encrypted back-ups; null when nothing is given. */
async function secretOf({ passphraseFile }: SecretOptions, shell: Shell): Promise<BackupSecret | null> {
  if (passphraseFile !== undefined) {
    const text = await readFile(resolve(shell.cwd, passphraseFile), 'utf8').catch((error) => {
      throw new UsageError(`--passphrase-file cannot be read: ${error.message}`);
    });
    const passphrase = text.replace(/\r?\n$/, '');
    if (passphrase.length < MIN_PASSPHRASE_LENGTH || text.length > MAX_PASSPHRASE_BYTES)
      throw new UsageError(`--passphrase-file must contain a passphrase of at least ${MIN_PASSPHRASE_LENGTH} characters`);
    return { kind: 'passphrase', passphrase };
  }
  const keys = settingOf(SETTINGS.secretsKey, undefined, shell);
  return keys && { kind: 'key', keys };
}

/** Null when nothing is to be encrypted. */
async function encryptionOf(options: SecretOptions, shell: Shell): Promise<BackupSecret | null> {
  if (!options.encrypt && options.passphraseFile === undefined) return null;
  const secret = await secretOf(options, shell);
  if (secret) return secret;
  throw new UsageError(
    '--encrypt requires --passphrase-file or EVERSTEP_SECRETS_KEY_FILE: a key that is only in the data directory would be lost with it.',
  );
}

function storeFileOf({ store }: PlaceOptions, dataDir: string, shell: Shell): string {
  const place = settingOf(SETTINGS.store, store, shell);
  if (place?.kind === 'postgres')
    throw new UsageError(
      'The store is a PostgreSQL database, which is backed up with the tools of PostgreSQL (see docs/operations/backup.md).',
    );
  return place?.file ?? join(dataDir, 'everstep.db');
}

function showCounts({ screen }: Shell, counts: Manifest['counts']): void {
  const rows = Object.entries(counts).map(([what, count]) => [
    what.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
    count,
  ]);
  screen.write(table(screen, ['what', 'count'], rows));
}

function tell(shell: Shell, { beganAt, version, counts, files }: Manifest): void {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  showCounts(shell, counts);
  shell.screen.write(`${files.length} files, ${bytes} bytes, begun ${beganAt}, by version ${printable(version)}\n`);
}

const DATA_DIR = '--data-dir <path>';

export function backupCommand(shell: Shell): Command {
  const { screen } = shell;
  return new Command('backup')
    .summary('Back up the embedded store, while its service runs or not')
    .description(
      'Back up the embedded store with its search indexes and credentials into a directory of its own, and check the copy.\n' +
        'The service goes on meanwhile. Run it on the machine of the service, as the user that the service runs as.',
    )
    .requiredOption('--to <directory>', 'made if it does not exist; must be empty')
    .option(DATA_DIR, 'data directory of the service (or EVERSTEP_DATA_DIR)')
    .option('--store <path>', 'file of the store, if it is not in there (or EVERSTEP_STORE)')
    .option('--no-credentials', 'leave credentials.json out; a service restored without it makes new ones')
    .option('--no-secrets-key', 'leave secrets.key out; a service restored without it needs the key from you')
    .option('--encrypt', 'encrypt it with the key in EVERSTEP_SECRETS_KEY_FILE, or with a passphrase')
    .option(PASSPHRASE_FILE, 'encrypt it with the passphrase in this file')
    .option('--json', 'print the manifest')
    .action(async (options: PlaceOptions & BackupParts & SecretOptions & { to: string; json?: boolean }) => {
      const dataDir = settingOf(SETTINGS.dataDir, options.dataDir, shell);
      const storeFile = storeFileOf(options, dataDir, shell);
      const to = resolve(shell.cwd, options.to);
      const { credentials, secretsKey } = options;
      const { takeBackup } = await import('../../backup/taking.js');
      const { manifest, online } = await takeBackup({
        dataDir,
        storeFile,
        to,
        credentials,
        secretsKey,
        version: SERVICE_VERSION,
        secret: await encryptionOf(options, shell),
      });
      if (options.json) return screen.write(json(manifest));
      tell(shell, manifest);
      screen.write(
        `Backed up ${online ? 'the running service' : 'the store of a stopped service'} to ${to}${manifest.encryption ? ', encrypted' : ''}. Keep it as secret as the store.\n`,
      );
    });
}

export function verifyCommand(shell: Shell): Command {
  const { screen } = shell;
  return new Command('verify')
    .summary('Check the embedded store for damage and lost changes, while its service runs or not')
    .description(
      'Check that the embedded store and its search indexes are readable as a whole, and that no acknowledged change is lost.\n' +
        'Changes nothing. While the service runs, it makes a copy in the data directory, which is checked and then removed:\n' +
        'that needs as much free space as the store has. Run it on the machine of the service, as the same user.',
    )
    .option(DATA_DIR, 'data directory of the service (or EVERSTEP_DATA_DIR)')
    .option('--store <path>', 'file of the store, if it is not in there (or EVERSTEP_STORE)')
    .option('--json', 'print the result as JSON')
    .action(async (options: PlaceOptions & { json?: boolean }) => {
      const dataDir = settingOf(SETTINGS.dataDir, options.dataDir, shell);
      const storeFile = storeFileOf(options, dataDir, shell);
      const { verifyStore } = await import('../../backup/verifying.js');
      const verified = await verifyStore({ dataDir, storeFile });
      if (options.json) return screen.write(json(verified));
      showCounts(shell, verified.counts);
      for (const doubt of verified.doubts) shell.complain(`Warning: ${doubt}\n`);
      screen.write(`The store ${storeFile} is sound.\n`);
    });
}

export function verifyBackupCommand(shell: Shell): Command {
  const { screen } = shell;
  return new Command('verify-backup')
    .description('Check that a back-up is whole and unchanged: its sums, its databases, its counts. Changes nothing.')
    .requiredOption('--from <directory>', 'where the back-up lies')
    .option(PASSPHRASE_FILE, 'of an encrypted back-up; a key is in EVERSTEP_SECRETS_KEY_FILE')
    .option('--json', 'print the manifest')
    .action(async (options: SecretOptions & { from: string; json?: boolean }) => {
      const from = resolve(shell.cwd, options.from);
      const { verifyBackup } = await import('../../backup/checking.js');
      const { manifest } = await verifyBackup(from, await secretOf(options, shell));
      if (options.json) return screen.write(json(manifest));
      tell(shell, manifest);
      screen.write(`The back-up in ${from} is sound.\n`);
    });
}

export function restoreCommand(shell: Shell): Command {
  const { screen } = shell;
  return new Command('restore')
    .summary('Put a back-up into an empty data directory')
    .description(
      'Check a back-up and put it into an empty data directory. Then start a service there: it takes up what it owed when the\n' +
        'back-up was made. See that the service that was backed up does not run any more: both would do the same work.',
    )
    .requiredOption('--from <directory>', 'where the back-up lies')
    .option(DATA_DIR, 'does not exist, or is empty (or EVERSTEP_DATA_DIR)')
    .option(PASSPHRASE_FILE, 'of an encrypted back-up; a key is in EVERSTEP_SECRETS_KEY_FILE')
    .option('--json', 'print the manifest')
    .action(async (options: PlaceOptions & SecretOptions & { from: string; json?: boolean }) => {
      const dataDir = settingOf(SETTINGS.dataDir, options.dataDir, shell);
      const { restoreBackup } = await import('../../backup/restoring.js');
      const manifest = await restoreBackup({
        from: resolve(shell.cwd, options.from),
        dataDir,
        secret: await secretOf(options, shell),
      });
      if (options.json) return screen.write(json(manifest));
      tell(shell, manifest);
      screen.write(`Restored into ${dataDir}. Start the service with --data-dir ${dataDir}.\n`);
    });
}
