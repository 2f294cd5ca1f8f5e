/** Keys of an encrypted backup, derived from a secrets key or a passphrase. */
import { createHmac, hkdfSync, randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';
import type { SecretKeys } from '../../config/secret-keys.js';
import { keyIdOf } from '../../secrets/sealed-values.js';
import { BackupError, type Encryption } from '../contents.js';

const SALT_BYTES = 32;
const KEY_BYTES = 32;
/** Cost of one guess of a passphrase: 128 MiB and about 100 ms. */
const SCRYPT = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 } as const;

/** The secret that opens a backup. */
export type BackupSecret =
  | { readonly kind: 'key'; readonly keys: SecretKeys }
  | { readonly kind: 'passphrase'; readonly passphrase: string };

export interface BackupCipher {
  readonly encryption: Encryption;
  /** Returns the key of a file in this backup. `path` is its path in the manifest. */
  keyOf(path: string): Uint8Array;
  /** Returns a text that authenticates the manifest. */
  sealOf(text: string): string;
}

const derive = (key: Uint8Array, salt: Uint8Array, info: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', key, salt, info, KEY_BYTES));

function cipherOf(encryption: Encryption, inputKey: Uint8Array): BackupCipher {
  const salt = Buffer.from(encryption.salt, 'base64url');
  const rootKey = derive(inputKey, salt, 'everstep backup');
  return {
    encryption,
    keyOf: (path) => derive(rootKey, salt, `file ${path}`),
    sealOf: (text) =>
      createHmac('sha256', derive(rootKey, salt, 'manifest'))
        .update(text)
        .digest('base64url'),
  };
}

const keyFromPassphrase = (passphrase: string, salt: Uint8Array): Uint8Array => scryptSync(passphrase, salt, KEY_BYTES, SCRYPT);

/** Creates the cipher of a new backup. Each backup has different keys. */
export function newCipher(secret: BackupSecret): BackupCipher {
  const salt = randomBytes(SALT_BYTES);
  const saltText = salt.toString('base64url');
  if (secret.kind === 'passphrase')
    return cipherOf({ method: 'passphrase', salt: saltText }, keyFromPassphrase(secret.passphrase, salt));
  const [key] = secret.keys;
  return cipherOf({ method: 'key', keyId: keyIdOf(key), salt: saltText }, key);
}

/** Returns the cipher of an existing backup. Throws BackupError if the secret is missing or of the wrong kind. */
export function cipherFor(encryption: Encryption, secret: BackupSecret | null): BackupCipher {
  if (encryption.method === 'passphrase') {
    if (secret?.kind !== 'passphrase')
      throw new BackupError('The backup is encrypted with a passphrase. Provide it with --passphrase-file.');
    return cipherOf(encryption, keyFromPassphrase(secret.passphrase, Buffer.from(encryption.salt, 'base64url')));
  }
  const keys = secret?.kind === 'key' ? secret.keys : [];
  const key = keys.find((candidate) => keyIdOf(candidate) === encryption.keyId);
  if (!key)
    throw new BackupError(
      `The backup is encrypted under the key ${encryption.keyId}. Provide it in EVERSTEP_SECRETS_KEY_FILE. (secrets-key-wrong)`,
    );
  return cipherOf(encryption, key);
}

/** Compares two seals in constant time. */
export const isSameSeal = (seal: string, otherSeal: string): boolean => {
  const [sealBytes, otherBytes] = [Buffer.from(seal), Buffer.from(otherSeal)];
  return sealBytes.length === otherBytes.length && timingSafeEqual(sealBytes, otherBytes);
};
