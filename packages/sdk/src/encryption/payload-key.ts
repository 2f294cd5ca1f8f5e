/**
 * A key that encrypts with XAES-256-GCM (https://c2sp.org/XAES-256-GCM). Its nonce of 24 bytes can be chosen at random for any
 * number of values. A random nonce of AES-GCM has 12 bytes, which is safe for only 2^32 values per key.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** Authenticated with every value, so that a value that another program encrypted with the same key is rejected. */
const PURPOSE = Buffer.from('payload-encryption/v1');
const KEY_ID_CONTEXT = 'payload-encryption/key-id';
const KEY_ID_BYTES = 6;
const BLOCK_BYTES = 16;
const NONCE_BYTES = 24;
const TAG_BYTES = 16;

/** Encrypts blocks one by one. XAES derives keys this way; values are never encrypted like this. */
function encryptBlocks(key: Buffer, blocks: Buffer): Buffer {
  const cipher = createCipheriv('aes-256-ecb', key, null);
  cipher.setAutoPadding(false);
  return cipher.update(blocks);
}

/** Returns the subkey K1 of AES-CMAC: the encrypted zero block, doubled. */
function subkeyOf(key: Buffer): Buffer {
  const encryptedZero = encryptBlocks(key, Buffer.alloc(BLOCK_BYTES));
  const doubled = Buffer.from(encryptedZero.map((byte, index) => (byte << 1) | ((encryptedZero[index + 1] ?? 0) >> 7)));
  if ((encryptedZero[0] ?? 0) & 0x80) doubled[BLOCK_BYTES - 1] = (doubled[BLOCK_BYTES - 1] ?? 0) ^ 0x87;
  return doubled;
}

/** A key of XAES-256-GCM. */
export class PayloadKey {
  /** Identifies the key and reveals nothing about it. */
  readonly id: string;
  private readonly key: Buffer;
  private readonly subkey: Buffer;

  constructor(key: Buffer) {
    this.id = createHash('sha256').update(KEY_ID_CONTEXT).update(key).digest().subarray(0, KEY_ID_BYTES).toString('hex');
    this.key = key;
    this.subkey = subkeyOf(key);
  }

  /** Encrypts a text. Returns nonce, ciphertext and tag. Tests choose the nonce and the purpose. */
  seal(plain: string, nonce: Buffer = randomBytes(NONCE_BYTES), purpose = PURPOSE): Buffer {
    const cipher = createCipheriv('aes-256-gcm', this.derivedKey(nonce), nonce.subarray(NONCE_BYTES / 2), {
      authTagLength: TAG_BYTES,
    });
    cipher.setAAD(purpose);
    return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  }

  /** Decrypts a value. Throws if it was modified. */
  open(sealed: Buffer): string {
    const nonce = sealed.subarray(0, NONCE_BYTES);
    const end = sealed.length - TAG_BYTES;
    const decipher = createDecipheriv('aes-256-gcm', this.derivedKey(nonce), nonce.subarray(NONCE_BYTES / 2), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(PURPOSE);
    decipher.setAuthTag(sealed.subarray(end));
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, end)), decipher.final()]).toString();
  }

  private derivedKey(nonce: Buffer): Buffer {
    const blocks = Buffer.concat(
      [1, 2].flatMap((counter) => [Buffer.from([0, counter, 0x58, 0]), nonce.subarray(0, NONCE_BYTES / 2)]),
    );
    return encryptBlocks(this.key, Buffer.from(blocks.map((byte, index) => byte ^ (this.subkey[index % BLOCK_BYTES] ?? 0))));
  }
}
