/**
 * Encryption of payloads with keys of the app. Requires `node:crypto`; the main entry of the package does not.
 * A value is `v1.<key id>.<base64url of nonce, ciphertext and tag>`.
 */
import { requireOption } from '../client/configuration.js';
import { PayloadError } from '../errors.js';
import type { PayloadCipher } from './envelope.js';
import { PayloadKey } from './payload-key.js';

export { decryptAll } from './envelope.js';

/** Options of `payloadEncryption`. */
export interface PayloadEncryptionOptions {
  /**
   * Keys of 32 bytes in Base64, as an array, or as a text with commas or line breaks between them. The first key
   * encrypts; all keys decrypt. Default: EVERSTEP_PAYLOAD_KEYS.
   */
  readonly keys?: string | readonly string[];
  /** If true, new values are not encrypted, but encrypted values can be read. Use it until every process has the keys. */
  readonly decryptOnly?: boolean;
  /** If true, a run fails with PayloadError if its payload is neither encrypted nor empty. */
  readonly requireEncrypted?: boolean;
}

const VERSION = 'v1';
const ENCRYPTED_VALUE = /^v1\.([0-9a-f]{12})\.([\w-]*)$/;
const KEY_TEXT = /^[A-Za-z0-9+/_-]{43}=?$/;

function readKeys(keys: PayloadEncryptionOptions['keys']): readonly [PayloadKey, ...PayloadKey[]] {
  const keyTexts =
    keys === undefined || typeof keys === 'string'
      ? requireOption(keys, 'keys', 'EVERSTEP_PAYLOAD_KEYS')
          .split(/[\s,]+/)
          .filter(Boolean)
      : keys;
  const [firstKey, ...otherKeys] = keyTexts.map((text, index) => {
    const key = KEY_TEXT.test(text) ? Buffer.from(text, 'base64') : null;
    if (key?.length === 32) return new PayloadKey(key);
    throw new RangeError(`payload key ${index + 1} must be 32 bytes in Base64, for example from: openssl rand -base64 32`);
  });
  if (!firstKey) throw new RangeError('payload encryption requires at least one key');
  return [firstKey, ...otherKeys];
}

/**
 * Returns the encryption of payloads for `serve`, `connect` and `Client`.
 *
 * @example
 * const encryption = payloadEncryption(); // EVERSTEP_PAYLOAD_KEYS
 * const client = new Client({ encryption });
 * serve(async (context) => { ... }, { encryption });
 *
 * @throws {EverstepError} If there are no keys.
 * @throws {RangeError} If a key is invalid.
 */
export function payloadEncryption(options: PayloadEncryptionOptions = {}): PayloadCipher {
  const { decryptOnly = false, requireEncrypted = false } = options;
  const keys = readKeys(options.keys);
  const keysById = new Map(keys.map((key) => [key.id, key]));
  const [firstKey] = keys;
  return {
    decryptOnly,
    requireEncrypted,
    encrypt: (text) => `${VERSION}.${firstKey.id}.${firstKey.seal(text).toString('base64url')}`,
    decrypt(encrypted) {
      const [, id, data = ''] = ENCRYPTED_VALUE.exec(encrypted) ?? [];
      if (id === undefined) throw new Error('it was encrypted by a newer version of @everstep/sdk, or by another cipher');
      const key = keysById.get(id);
      if (!key) throw new Error(`the key ${id} is missing; the keys are ${[...keysById.keys()].join(', ')}`);
      try {
        return key.open(Buffer.from(data, 'base64url'));
      } catch {
        throw new PayloadError(`it was modified after it was encrypted with the key ${id}`);
      }
    },
  };
}
