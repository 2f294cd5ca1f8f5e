/**
 * Selects the keys that encrypt the secrets in the store: the configured keys, or those in the data directory. An embedded store
 * creates its own key at the first start. A database shared by several nodes requires a configured key.
 * Keeps invariant 34.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { link, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/config.js';
import { parseSecretKeys, type SecretKeys } from '../config/secret-keys.js';
import type { AccountStore } from '../ports/stores/account-store.js';
import { inspectSecrets, sealAccounts, sealStored } from '../secrets/sealed-accounts.js';
import { createSealer, PLAIN_SEALER, type Sealer, SecretsError } from '../secrets/sealed-values.js';
import { syncDirectory, writePrivately } from './private-file.js';
import { codeOf, StartError } from './start-error.js';

export const SECRETS_KEY_FILE = 'secrets.key';
const KEY_BYTES = 32;

export const secretsKeyFile = (dataDir: string): string => join(dataDir, SECRETS_KEY_FILE);

/** Returns the keys in the data directory; null if the file is missing. Rejects with SecretsError if it is invalid. */
async function readKeyFile(dataDir: string): Promise<SecretKeys | null> {
  const file = secretsKeyFile(dataDir);
  try {
    return parseSecretKeys(await readFile(file, 'utf8'));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    const reason = error instanceof Error ? error.message : String(error);
    throw new SecretsError('secrets-key-file', `The keys in ${file} are invalid: ${reason}.`, error);
  }
}

/** Creates the key file durably, because secrets encrypted with a lost key are lost. Never replaces an existing file. */
async function createKeyFile(dataDir: string): Promise<SecretKeys> {
  const file = secretsKeyFile(dataDir);
  const draft = `${file}.${randomUUID()}.tmp`;
  try {
    await writePrivately(draft, `${randomBytes(KEY_BYTES).toString('base64')}\n`);
    await link(draft, file).catch((error) => {
      if (codeOf(error) !== 'EEXIST') throw error;
    });
    await syncDirectory(dataDir);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SecretsError('secrets-key-file', `Cannot write the secrets key to ${file}: ${reason}.`, error);
  } finally {
    await rm(draft, { force: true });
  }
  const keys = await readKeyFile(dataDir);
  if (!keys)
    throw new SecretsError('secrets-key-file', `The key file ${file} was removed while the server started. Start it again.`);
  return keys;
}

export type SecretsKeySettings = Pick<Config, 'dataDir' | 'secretsKeys' | 'mode' | 'store'>;

/** Returns a sealer with the configured keys, or those in the data directory. Rejects with SecretsError if a key is missing. */
export async function findSealer(accounts: AccountStore, settings: SecretsKeySettings): Promise<Sealer> {
  const { dataDir, secretsKeys, mode, store } = settings;
  const keys = secretsKeys ?? (await readKeyFile(dataDir));
  if (keys) return createSealer(keys);
  const { isEmpty, isSealed } = await inspectSecrets(accounts);
  if (isSealed) {
    throw new SecretsError(
      'secrets-key-missing',
      'The secrets in the store are encrypted, but their key is missing. Set EVERSTEP_SECRETS_KEY_FILE to the file with the key, ' +
        `or restore ${secretsKeyFile(dataDir)}.`,
    );
  }
  if (store.kind === 'file') return createSealer(await createKeyFile(dataDir));
  if (isEmpty && mode === 'serve') {
    throw new SecretsError(
      'secrets-key-required',
      'A new database requires a key that encrypts its secrets. Set EVERSTEP_SECRETS_KEY_FILE on every node to a file with the ' +
        'same key, for example the output of `openssl rand -base64 32`, and keep a copy of the key.',
    );
  }
  return PLAIN_SEALER;
}

export interface OpenedSecrets {
  readonly accounts: AccountStore;
  readonly sealer: Sealer;
  /** Whether the secrets are encrypted. Without a key, they are stored as plain text. */
  readonly areEncrypted: boolean;
}

/**
 * Encrypts the plain secrets of the store, and resolves with accounts that encrypt and decrypt. Rejects with StartError, without
 * changing anything, if keys are missing or wrong.
 */
export async function openSecrets(accounts: AccountStore, settings: SecretsKeySettings): Promise<OpenedSecrets> {
  try {
    const sealer = await findSealer(accounts, settings);
    const sealedAccounts = sealAccounts(accounts, sealer);
    // All secrets are decrypted before the first one is written.
    await Promise.all([sealedAccounts.listSecrets(), sealedAccounts.listInstances()]);
    if (sealer !== PLAIN_SEALER) await sealStored(accounts, sealer);
    return { accounts: sealedAccounts, sealer, areEncrypted: sealer !== PLAIN_SEALER };
  } catch (error) {
    if (error instanceof SecretsError) throw new StartError(error.message, { cause: error });
    throw error;
  }
}
