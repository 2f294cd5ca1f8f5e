/**
 * Encryption of stored secrets: AES-256-GCM with a random nonce. The name of a value (table, row and column) is authenticated
 * too, so a sealed value is valid only in its own row and column.
 *
 * A sealed value is `enc1.<key id>.<base64url of nonce, ciphertext and tag>`.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const PREFIX = 'enc1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID_BYTES = 6;
const KEY_ID_CONTEXT = 'everstep secrets key id';

export type SecretsErrorCode =
  /** The store has sealed values, but no key is configured. */
  | 'secrets-key-missing'
  /** A value is sealed under a key that is not configured. */
  | 'secrets-key-wrong'
  /** A new database cannot be used without a key. */
  | 'secrets-key-required'
  /** The key file cannot be read or written. */
  | 'secrets-key-file'
  /** A sealed value was altered, or moved to another row. */
  | 'secret-damaged';

/** Reports why secrets cannot be read. The message is for the operator, contains no secret, and ends with the code. */
export class SecretsError extends Error {
  override readonly name = 'SecretsError';
  readonly code: SecretsErrorCode;
  constructor(code: SecretsErrorCode, message: string, cause?: unknown) {
    super(`${message} (${code})`, { cause });
    this.code = code;
  }
}

/** Returns the id of a 32-byte key. It reveals nothing about the key. */
export const keyIdOf = (key: Uint8Array): string =>
  createHash('sha256').update(KEY_ID_CONTEXT).update(key).digest().subarray(0, KEY_ID_BYTES).toString('hex');

/** Returns whether a stored value is encrypted. No other stored value starts with this prefix. */
export const isSealed = (value: string): boolean => value.startsWith(`${PREFIX}.`);

export interface Sealer {
  /** Encrypts a value under the current key. */
  seal(name: string, plain: string): string;
  /** Returns the plain text of a value, which may already be plain. Throws SecretsError. */
  open(name: string, value: string): string;
  /** Returns whether the value is sealed under the current key. */
  isCurrent(value: string): boolean;
}

/** A sealer without a key: leaves values plain, and rejects sealed ones. */
export const PLAIN_SEALER: Sealer = Object.freeze({
  seal: (_name, plain) => plain,
  open(name, value) {
    if (!isSealed(value)) return value;
    throw new SecretsError(
      'secrets-key-missing',
      `The store is encrypted (${name}), but no key is configured. Set EVERSTEP_SECRETS_KEY_FILE to the file with its key.`,
    );
  },
  isCurrent: (value) => !isSealed(value),
} satisfies Sealer);

/** Returns a sealer that seals under the first key (32 bytes each), and opens values sealed under any of them. */
export function createSealer(keys: readonly [Uint8Array, ...Uint8Array[]]): Sealer {
  const keysById = new Map(keys.map((key) => [keyIdOf(key), key]));
  const [currentKey] = keys;
  const currentPrefix = `${PREFIX}.${keyIdOf(currentKey)}.`;
  const openSealed = (name: string, value: string): string => {
    const [, id = '', text = ''] = value.split('.');
    const key = keysById.get(id);
    if (!key)
      throw new SecretsError(
        'secrets-key-wrong',
        `The store is encrypted under the key ${id} (${name}), but the configured keys are ${[...keysById.keys()].join(', ')}. ` +
          'Add the correct key to EVERSTEP_SECRETS_KEY or its file.',
      );
    const bytes = Buffer.from(text, 'base64url');
    try {
      const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(name));
      decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
      const body = bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES);
      return Buffer.concat([decipher.update(body), decipher.final()]).toString();
    } catch (error) {
      throw new SecretsError('secret-damaged', `The encrypted value of ${name} was altered, or belongs to another row.`, error);
    }
  };
  return {
    seal(name, plain) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, currentKey, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(name));
      const sealedBytes = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
      return `${currentPrefix}${sealedBytes.toString('base64url')}`;
    },
    open: (name, value) => (isSealed(value) ? openSealed(name, value) : value),
    isCurrent: (value) => value.startsWith(currentPrefix),
  };
}
