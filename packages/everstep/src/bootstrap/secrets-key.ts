/**
 * Which keys encrypt the secrets in the store: those that are configured, else those in the data directory. An embedded store
 * gets a key of its own at its first start. A database, which several nodes share, needs one that is configured.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/config.js';
import { parseSecretKeys, type SecretKeys } from '../config/secret-keys.js';
import type { AccountStore } from '../ports/account-store.js';
import { inspectSecrets, sealAccounts, sealStored } from '../secrets/sealed-accounts.js';
import { createSealer, NO_KEY, type Sealer, SecretsError } from '../secrets/sealed-values.js';
import { writePrivately } from './private-file.js';
import { codeOf, StartError } from './start-error.js';

export const SECRETS_KEY_FILE = 'secrets.key';
const KEY_BYTES = 32;

export const secretsKeyFile = (dataDir: string): string => join(dataDir, SECRETS_KEY_FILE);

/** The keys in the data directory; null when there is no such file. Rejects with SecretsError. */
async function readKeyFile(dataDir: string): Promise<SecretKeys | null> {
  const file = secretsKeyFile(dataDir);
  try {
    return parseSecretKeys(await readFile(file, 'utf8'));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    const reason = error instanceof Error ? error.message : String(error);
    throw new SecretsError('secrets-key-file', `The keys in ${file} cannot be used: ${reason}.`, error);
  }
}

/** Makes the file, durably: what is encrypted with a key that a power failure takes away is lost. Never replaces one. */
async function makeKeyFile(dataDir: string): Promise<SecretKeys> {
  const file = secretsKeyFile(dataDir);
  const draft = `${file}.${randomUUID()}.tmp`;
  try {
    await writePrivately(draft, `${randomBytes(KEY_BYTES).toString('base64')}\n`);
    await link(draft, file).catch((error) => {
      if (codeOf(error) !== 'EEXIST') throw error;
    });
    if (process.platform !== 'win32') {
      const directory = await open(dataDir, 'r');
      await directory.sync().finally(() => directory.close());
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SecretsError('secrets-key-file', `The key for secrets cannot be written to ${file}: ${reason}.`, error);
  } finally {
    await rm(draft, { force: true });
  }
  const made = await readKeyFile(dataDir);
  if (!made) throw new SecretsError('secrets-key-file', `The key for secrets is gone from ${file}.`);
  return made;
}

export type SecretsKeySettings = Pick<Config, 'dataDir' | 'secretsKeys' | 'mode' | 'store'>;

/** The keys, and whether a missing one matters. Rejects with SecretsError. */
export async function findSealer(accounts: AccountStore, settings: SecretsKeySettings): Promise<Sealer> {
  const { dataDir, secretsKeys, mode, store } = settings;
  const keys = secretsKeys ?? (await readKeyFile(dataDir));
  if (keys) return createSealer(keys);
  const { isEmpty, isSealed } = await inspectSecrets(accounts);
  if (isSealed) {
    throw new SecretsError(
      'secrets-key-missing',
      'The secrets in the store are encrypted, and their key is missing. Set EVERSTEP_SECRETS_KEY_FILE to the file with the key, ' +
        `or restore ${secretsKeyFile(dataDir)}.`,
    );
  }
  if (store.kind === 'file') return createSealer(await makeKeyFile(dataDir));
  if (isEmpty && mode === 'serve') {
    throw new SecretsError(
      'secrets-key-required',
      'A new database requires a key that encrypts its secrets. Set EVERSTEP_SECRETS_KEY_FILE on every node to a file with the ' +
        'same key, such as one that `openssl rand -base64 32` prints, and keep a copy of it.',
    );
  }
  return NO_KEY;
}

export interface OpenedSecrets {
  readonly accounts: AccountStore;
  readonly sealer: Sealer;
  /** False when no key is configured and the secrets are stored as plain text. */
  readonly areEncrypted: boolean;
}

/**
 * Encrypts what is not encrypted yet, and resolves with the accounts as the service uses them. `accounts` as the store has them.
 * Rejects with StartError when the keys are missing or wrong; then nothing was changed.
 */
export async function openSecrets(accounts: AccountStore, settings: SecretsKeySettings): Promise<OpenedSecrets> {
  try {
    const sealer = await findSealer(accounts, settings);
    const sealed = sealAccounts(accounts, sealer);
    // All are opened before one is written.
    await Promise.all([sealed.listSecrets(), sealed.listInstances()]);
    if (sealer !== NO_KEY) await sealStored(accounts, sealer);
    return { accounts: sealed, sealer, areEncrypted: sealer !== NO_KEY };
  } catch (error) {
    if (error instanceof SecretsError) throw new StartError(error.message, { cause: error });
    throw error;
  }
}
