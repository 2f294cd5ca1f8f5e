import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { PayloadError } from '../errors.js';
import { payloadEncryption } from './payload-encryption.js';
import { PayloadKey } from './payload-key.js';

const OLD = Buffer.alloc(32, 1).toString('base64');
const NEW = Buffer.alloc(32, 2).toString('base64url');
const partsOf = (encrypted: string): readonly string[] => encrypted.split('.');

/** Returns the modules that an entry loads from outside this package. */
async function loadedBy(entry: URL, seen = new Set<string>()): Promise<readonly string[]> {
  if (seen.has(entry.href)) return [];
  seen.add(entry.href);
  const imports = [...(await readFile(entry, 'utf8')).matchAll(/\bfrom '([^']+)';$/gm)].map(([, path = '']) => path);
  const inside = imports.filter((path) => path.startsWith('.')).map((path) => loadedBy(new URL(path, entry), seen));
  return [...imports.filter((path) => !path.startsWith('.')), ...(await Promise.all(inside)).flat()];
}

describe('payload encryption', () => {
  it('needs node:crypto, which the main entry does not load', async () => {
    assert.deepEqual(await loadedBy(new URL('../index.js', import.meta.url)), []);
    assert.deepEqual(await loadedBy(new URL('payload-encryption.js', import.meta.url)), ['node:crypto']);
  });

  it('follows the test vectors of XAES-256-GCM', () => {
    const nonce = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWX');
    for (const [byte, purpose, expected] of [
      [1, '', 'ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271'],
      [3, 'c2sp.org/XAES-256-GCM', '986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d'],
    ] as const) {
      const sealed = new PayloadKey(Buffer.alloc(32, byte)).seal('XAES-256-GCM', nonce, Buffer.from(purpose));
      assert.equal(sealed.subarray(nonce.length).toString('hex'), expected);
    }
  });

  it('returns the same text, and encrypts equal texts differently', () => {
    const cipher = payloadEncryption({ keys: [OLD] });
    for (const text of ['', '{"a":1}', 'ä€𝄞', 'x'.repeat(1_000_000)]) {
      const [one, other] = [cipher.encrypt(text), cipher.encrypt(text)];
      assert.notEqual(one, other);
      assert.equal(cipher.decrypt(one), text);
      assert.match(one, /^v1\.[0-9a-f]{12}\.[\w-]+$/);
    }
  });

  it('encrypts with the first key and decrypts with every key', () => {
    const old = payloadEncryption({ keys: OLD }).encrypt('secret');
    const rotated = payloadEncryption({ keys: `${NEW},\n ${OLD}\n` });
    assert.equal(rotated.decrypt(old), 'secret');
    const [, id] = partsOf(rotated.encrypt('secret'));
    assert.equal(id, partsOf(payloadEncryption({ keys: [NEW] }).encrypt(''))[1]);
    assert.notEqual(id, partsOf(old)[1]);
  });

  it('names the missing key by its id, and no key by its content', () => {
    const old = payloadEncryption({ keys: [OLD] }).encrypt('secret');
    const cipher = payloadEncryption({ keys: [NEW] });
    const ids = [old, cipher.encrypt('')].map((encrypted) => partsOf(encrypted)[1]);
    assert.throws(() => cipher.decrypt(old), {
      name: 'Error',
      message: `the key ${ids[0]} is missing; the keys are ${ids[1]}`,
    });
  });

  it('reports a value of another version or cipher', () => {
    const cipher = payloadEncryption({ keys: [OLD] });
    for (const encrypted of ['', 'v2.000000000000.AAAA', 'v1.a key\n.AAAA'])
      assert.throws(() => cipher.decrypt(encrypted), {
        name: 'Error',
        message: 'it was encrypted by a newer version of @everstep/sdk, or by another cipher',
      });
  });

  it('finds every modification', () => {
    const cipher = payloadEncryption({ keys: [OLD] });
    const [version, id, data = ''] = partsOf(cipher.encrypt('secret'));
    const bytes = Buffer.from(data, 'base64url');
    const changed = [...bytes.keys()].map((at) => Buffer.from(bytes.map((byte, index) => (index === at ? byte ^ 1 : byte))));
    for (const each of [...changed, bytes.subarray(1), bytes.subarray(0, -1), Buffer.alloc(0)]) {
      const encrypted = [version, id, each.toString('base64url')].join('.');
      assert.throws(
        () => cipher.decrypt(encrypted),
        (error) => error instanceof PayloadError && /was modified/.test(error.message),
      );
    }
  });

  it('requires keys of 32 bytes, and does not repeat an invalid key in the error', () => {
    for (const key of [
      'secret',
      Buffer.alloc(31).toString('base64'),
      Buffer.alloc(33).toString('base64'),
      `${'ä'.repeat(43)}=`,
    ]) {
      assert.throws(() => payloadEncryption({ keys: [OLD, key] }), {
        name: 'RangeError',
        message: 'payload key 2 must be 32 bytes in Base64, for example from: openssl rand -base64 32',
      });
    }
    assert.throws(() => payloadEncryption({ keys: [] }), /at least one key/);
    assert.throws(() => payloadEncryption({ keys: ' ,' }), /at least one key/);
  });

  it('reads the keys from EVERSTEP_PAYLOAD_KEYS', (t) => {
    t.after(() => delete process.env.EVERSTEP_PAYLOAD_KEYS);
    assert.throws(() => payloadEncryption(), /set the environment variable EVERSTEP_PAYLOAD_KEYS/);
    process.env.EVERSTEP_PAYLOAD_KEYS = OLD;
    assert.equal(payloadEncryption().decrypt(payloadEncryption({ keys: [OLD] }).encrypt('secret')), 'secret');
  });
});
