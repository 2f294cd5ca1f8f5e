/**
 * `everstep verify`, `everstep backup`, `everstep verify-backup` and `everstep restore`: maintenance of the embedded store on
 * the server's machine.
 */
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { BackupError, type BackupParts, type Manifest } from '../../../backup/contents.js';
import type { BackupSecret } from '../../../backup/encryption/backup-cipher.js';
import { SETTINGS } from '../../../config/settings.js';
import { SERVER_VERSION } from '../../../step-calls/version.js';
import type { CheckResult } from '../../../stores/shared/consistency/checks.js';
import { UsageError } from '../../exit-codes.js';
import { countText, json, printable, type Shell, table } from '../../output.js';
import { abortOnSignal } from '../../shutdown.js';
import { settingOf } from './server-settings.js';

interface LocationOptions {
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

/** Returns the secret that decrypts backups; null if none is configured. */
async function readSecret({ passphraseFile }: SecretOptions, shell: Shell): Promise<BackupSecret | null> {
  if (passphraseFile !== undefined) {
    const text = await readFile(resolve(shell.cwd, passphraseFile), 'utf8').catch((error) => {
      throw new UsageError(`--passphrase-file is not readable: ${error.message}`);
    });
    const passphrase = text.replace(/\r?\n$/, '');
    if (passphrase.length < MIN_PASSPHRASE_LENGTH || text.length > MAX_PASSPHRASE_BYTES)
      throw new UsageError(`--passphrase-file must contain a passphrase of ${MIN_PASSPHRASE_LENGTH} characters to 16 KiB`);
    return { kind: 'passphrase', passphrase };
  }
  const keys = settingOf(SETTINGS.secretsKey, undefined, shell);
  return keys && { kind: 'key', keys };
}

/** Returns the secret that encrypts the new backup; null if it is not encrypted. */
async function readEncryptionSecret(options: SecretOptions, shell: Shell): Promise<BackupSecret | null> {
  if (!options.encrypt && options.passphraseFile === undefined) return null;
  const secret = await readSecret(options, shell);
  if (secret) return secret;
  throw new UsageError(
    '--encrypt requires --passphrase-file or EVERSTEP_SECRETS_KEY_FILE. A key stored only in the data directory would be lost with it.',
  );
}

function storeFileOf({ store }: LocationOptions, dataDir: string, shell: Shell): string {
  const location = settingOf(SETTINGS.store, store, shell);
  if (location?.kind === 'postgres')
    throw new UsageError('The store is a PostgreSQL database. Back it up with PostgreSQL tools (see docs/operations/backup.md).');
  return location?.file ?? join(dataDir, 'everstep.db');
}

function showCounts({ screen }: Shell, counts: Manifest['counts']): void {
  const rows = Object.entries(counts).map(([name, count]) => [
    name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
    count,
  ]);
  screen.write(table(screen, ['RECORDS', 'COUNT'], rows));
}

function showManifest(shell: Shell, { beganAt, version, counts, files }: Manifest): void {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  showCounts(shell, counts);
  shell.screen.write(`${files.length} files, ${bytes} bytes, started ${beganAt}, by version ${printable(version)}\n`);
}

const DATA_DIR = '--data-dir <path>';
const CLEANING_UP = 'Interrupted, removing the incomplete files ...';

export function backupCommand(shell: Shell): Command {
  const { screen } = shell;
  return new Command('backup')
    .summary('Back up the embedded store, with the server running or stopped')
    .description(
      'Back up the embedded store with its search indexes and credentials to a new directory, and verify the copy.\n' +
        "The server keeps running. Run this command on the server's machine, as the same operating system user.",
    )
    .requiredOption('--to <directory>', 'target directory; created if missing, must be empty')
    .option(DATA_DIR, 'data directory of the server (or EVERSTEP_DATA_DIR)')
    .option('--store <path>', 'store file, if it is not in the data directory (or EVERSTEP_STORE)')
    .option('--no-credentials', 'exclude credentials.json; a server restored without it creates new credentials')
    .option('--no-secrets-key', 'exclude secrets.key; you must supply the key to a server restored without it')
    .option('--encrypt', 'encrypt the backup with the key in EVERSTEP_SECRETS_KEY_FILE, or with a passphrase')
    .option(PASSPHRASE_FILE, 'encrypt the backup with the passphrase in this file')
    .option('--json', 'print the manifest')
    .action(async (options: LocationOptions & BackupParts & SecretOptions & { to: string; json?: boolean }) => {
      const dataDir = settingOf(SETTINGS.dataDir, options.dataDir, shell);
      const storeFile = storeFileOf(options, dataDir, shell);
      const to = resolve(shell.cwd, options.to);
      const { credentials, secretsKey } = options;
      const { takeBackup } = await import('../../../backup/taking.js');
      const secret = await readEncryptionSecret(options, shell);
      const settings = { dataDir, storeFile, to, credentials, secretsKey, version: SERVER_VERSION, secret };
      const { manifest, isOnline } = await abortOnSignal(shell, CLEANING_UP, (signal) => takeBackup({ ...settings, signal }));
      if (options.json) return screen.write(json(manifest));
      showManifest(shell, manifest);
      screen.write(
        `Backed up ${isOnline ? 'the running server' : 'the store of a stopped server'} to ${to}${manifest.encryption ? ', encrypted' : ''}. The backup contains secrets: protect it like the store.\n`,
      );
    });
}

/** Prints the violated invariants. Throws BackupError if there are any. */
function assertInvariants(checks: readonly CheckResult[] | null, printsJson: boolean, { screen, printError }: Shell): void {
  if (!checks) {
    printError('Warning: the store has the schema of an older version. Start the server once to check its invariants.\n');
    return;
  }
  const violatedChecks = checks.filter(({ violations }) => violations > 0);
  for (const { id, rule, violations, examples } of violatedChecks)
    printError(
      `${id}: ${countText(violations, 'violation')} of the rule "${rule}"\n${examples.map((example) => `  ${printable(example)}\n`).join('')}`,
    );
  if (violatedChecks.length > 0)
    throw new BackupError(
      `Violated invariants: ${violatedChecks.length} of ${checks.length}. Keep a copy of the store and report this.`,
    );
  if (!printsJson) screen.write(`${checks.length} invariants hold.\n`);
}

async function verifyPostgres(url: string, printsJson: boolean, shell: Shell): Promise<void> {
  const { verifyDatabase } = await import('../../../stores/postgres/storage/consistency.js');
  const ignore = () => {};
  const checks = await verifyDatabase(url, { debug: ignore, info: ignore, warn: ignore, error: ignore });
  if (printsJson) shell.screen.write(json({ checks }));
  assertInvariants(checks, printsJson, shell);
}

export function verifyCommand(shell: Shell): Command {
  const { screen } = shell;
  return new Command('verify')
    .summary('Check the store for corruption, lost commits and broken invariants')
    .description(
      'Check that the embedded store and its search indexes are readable, that no acknowledged change is lost, and that the\n' +
        'invariants hold: for example, that no journal has gaps. This command changes nothing. A running server copies its store\n' +
        'within the data directory; the copy is checked and then removed, and needs as much free disk space as the store.\n' +
        "Run this command on the server's machine, as the same operating system user. In a PostgreSQL database, the invariants\n" +
        'are checked in one read-only transaction, even while nodes use it.',
    )
    .option(DATA_DIR, 'data directory of the server (or EVERSTEP_DATA_DIR)')
    .option('--store <path-or-url>', 'store file or database, if it is not in the data directory (or EVERSTEP_STORE)')
    .option('--json', 'print the result as JSON')
    .action(async (options: LocationOptions & { json?: boolean }) => {
      const dataDir = settingOf(SETTINGS.dataDir, options.dataDir, shell);
      const location = settingOf(SETTINGS.store, options.store, shell);
      if (location?.kind === 'postgres') return verifyPostgres(location.url, options.json === true, shell);
      const storeFile = storeFileOf(options, dataDir, shell);
      const { verifyStore } = await import('../../../backup/verifying.js');
      const verification = await abortOnSignal(shell, CLEANING_UP, (signal) => verifyStore({ dataDir, storeFile, signal }));
      if (options.json) screen.write(json(verification));
      else showCounts(shell, verification.counts);
      assertInvariants(verification.checks, options.json === true, shell);
      if (options.json) return;
      for (const doubt of verification.doubts) shell.printError(`Warning: ${doubt}\n`);
      screen.write(`The store ${storeFile} is valid.\n`);
    });
}

export function verifyBackupCommand(shell: Shell): Command {
  const { screen } = shell;
  return new Command('verify-backup')
    .description('Check that a backup is complete and unchanged: checksums, databases and counts. Changes nothing.')
    .requiredOption('--from <directory>', 'directory of the backup')
    .option(PASSPHRASE_FILE, 'file with the passphrase of an encrypted backup; a key is read from EVERSTEP_SECRETS_KEY_FILE')
    .option('--json', 'print the manifest')
    .action(async (options: SecretOptions & { from: string; json?: boolean }) => {
      const from = resolve(shell.cwd, options.from);
      const { verifyBackup } = await import('../../../backup/checking.js');
      const { manifest } = await verifyBackup(from, await readSecret(options, shell));
      if (options.json) return screen.write(json(manifest));
      showManifest(shell, manifest);
      screen.write(`The backup in ${from} is valid.\n`);
    });
}

export function restoreCommand(shell: Shell): Command {
  const { screen } = shell;
  return new Command('restore')
    .summary('Restore a backup into an empty data directory')
    .description(
      'Verify a backup and restore it into an empty data directory. Then start a server there: it continues with the work\n' +
        'that was pending when the backup was made. Make sure the original server is stopped, or both execute the same work.',
    )
    .requiredOption('--from <directory>', 'directory of the backup')
    .option(DATA_DIR, 'target data directory; must be empty or missing (or EVERSTEP_DATA_DIR)')
    .option(PASSPHRASE_FILE, 'file with the passphrase of an encrypted backup; a key is read from EVERSTEP_SECRETS_KEY_FILE')
    .option('--json', 'print the manifest')
    .action(async (options: LocationOptions & SecretOptions & { from: string; json?: boolean }) => {
      const dataDir = settingOf(SETTINGS.dataDir, options.dataDir, shell);
      const { restoreBackup } = await import('../../../backup/restoring.js');
      const settings = { from: resolve(shell.cwd, options.from), dataDir, secret: await readSecret(options, shell) };
      const manifest = await abortOnSignal(shell, CLEANING_UP, (signal) => restoreBackup({ ...settings, signal }));
      if (options.json) return screen.write(json(manifest));
      showManifest(shell, manifest);
      screen.write(`Restored to ${dataDir}. Start the server with --data-dir ${dataDir}.\n`);
    });
}
