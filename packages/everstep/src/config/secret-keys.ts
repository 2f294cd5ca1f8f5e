/** Parses the keys that encrypt the secrets in the store. */

/** The first key encrypts; all keys decrypt. */
export type SecretKeys = readonly [Uint8Array, ...Uint8Array[]];

const KEY_BYTES = 32;
/** Maximum number of keys. A key replacement needs two; additional keys are from earlier replacements. */
const MAX_KEYS = 8;
const BASE64 = /^[A-Za-z0-9+/_-]{43}=?$/;

/** Parses keys of 32 bytes in Base64, separated by commas or white space. Throws an Error with the allowed values. */
export function parseSecretKeys(text: string): SecretKeys {
  const encodedKeys = text.split(/[\s,]+/).filter((encodedKey) => encodedKey !== '');
  const keys = encodedKeys.filter((encodedKey) => BASE64.test(encodedKey)).map((encodedKey) => Buffer.from(encodedKey, 'base64'));
  const [current, ...otherKeys] = keys;
  const isDistinct = new Set(keys.map((key) => key.toString('hex'))).size === keys.length;
  if (!current || keys.length !== encodedKeys.length || keys.length > MAX_KEYS || !isDistinct || current.length !== KEY_BYTES)
    throw new Error(
      `must be 1 to ${MAX_KEYS} different keys of 32 random bytes in Base64, such as the output of \`openssl rand -base64 32\``,
    );
  return [current, ...otherKeys];
}
