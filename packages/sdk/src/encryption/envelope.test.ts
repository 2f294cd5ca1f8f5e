import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeBody, textOf } from '../encoded-body.js';
import { PayloadError } from '../errors.js';
import { decryptAll, openBody, openValue, type PayloadCipher, sealBody, sealText, sealValue } from './envelope.js';
import { payloadEncryption } from './payload-encryption.js';

const cipher = payloadEncryption({ keys: [Buffer.alloc(32, 1).toString('base64')] });
const other = payloadEncryption({ keys: [Buffer.alloc(32, 2).toString('base64')] });

describe('an envelope', () => {
  it('is a JSON object with one property', () => {
    assert.match(sealText(cipher, '"secret"'), /^\{"\$encrypted":"v1\.[0-9a-f]{12}\.[\w-]+"\}$/);
  });

  it('returns text, JSON and bytes as they were', () => {
    for (const content of ['text', '{"a":1}', '\u0000starts like bytes', 'ä', Uint8Array.of(0, 255), Uint8Array.of(65)]) {
      const body = encodeBody(content);
      const sealed = sealBody(cipher, body);
      assert.equal(sealed.encoding, 'utf8');
      assert.equal(Object.keys(JSON.parse(sealed.data)).length, 1);
      assert.equal(textOf(openBody(cipher, sealed, 'it')), textOf(body));
    }
    assert.deepEqual(openBody(cipher, sealBody(cipher, encodeBody(Uint8Array.of(0, 255))), 'it'), {
      encoding: 'base64',
      data: 'AP8=',
    });
  });

  it('is recognized however another JSON writer formats it', () => {
    const { $encrypted } = JSON.parse(sealText(cipher, 'text'));
    const body = encodeBody(` { "$encrypted" :\n"${$encrypted}" }\n`);
    assert.equal(openBody(cipher, body, 'it').data, 'text');
  });

  it('differs from any other value, which is read as it is', () => {
    for (const text of [
      '',
      '1',
      '{}',
      '{"$encrypted":1}',
      '{"$encrypted":"a","b":1}',
      '{"$encrypted":',
      '[{"$encrypted":"a"}]',
    ]) {
      const body = encodeBody(text);
      assert.equal(openBody(cipher, body, 'it'), body);
    }
    for (const value of [null, 1, [], { $encrypted: 1 }, { $encrypted: 'a', b: 1 }])
      assert.equal(openValue(cipher, value, 'it'), value);
  });

  it('contains neither an empty body nor a missing value', () => {
    assert.equal(sealBody(cipher, encodeBody('')).data, '');
    assert.equal(sealValue(cipher, undefined), undefined);
  });

  it('that can never be read is a PayloadError, after any other error the attempt is retried', () => {
    const ciphers: readonly (readonly [PayloadCipher | undefined, string, RegExp])[] = [
      [undefined, 'DecryptionError', /^the payload is encrypted: set the option "encryption"$/],
      [other, 'DecryptionError', /^the payload cannot be decrypted: the key \w+ is missing/],
      [{ ...cipher, decrypt: () => assert.fail('no access') }, 'DecryptionError', /^the payload cannot be decrypted: no access$/],
      [
        {
          ...cipher,
          decrypt: () => {
            throw new PayloadError('damaged');
          },
        },
        'PayloadError',
        /^the payload cannot be decrypted: damaged$/,
      ],
    ];
    for (const [reader, name, message] of ciphers)
      assert.throws(() => openBody(reader, sealBody(cipher, encodeBody('text')), 'the payload'), { name, message });
  });

  it('with a value that is not JSON is a PayloadError that does not quote it', () => {
    const envelope = JSON.parse(sealText(cipher, 'a secret that is not JSON'));
    assert.throws(
      () => openValue(cipher, envelope, 'the result'),
      (error) =>
        error instanceof PayloadError && /^the result is not valid JSON/.test(error.message) && !/secret/.test(error.message),
    );
  });

  it('is not created by a cipher that only decrypts', () => {
    const reader = { ...cipher, decryptOnly: true };
    assert.equal(sealText(reader, '"a"'), '"a"');
    assert.deepEqual(sealValue(reader, { a: 1 }), { a: 1 });
    assert.equal(sealBody(reader, encodeBody('a')).data, 'a');
    assert.equal(openValue(reader, sealValue(cipher, 'a'), 'it'), 'a');
  });
});

describe('decrypting a response', () => {
  it('opens envelopes at any depth, in JSON texts too', () => {
    const event = JSON.stringify({ content: { body: { encoding: 'utf8', data: sealText(cipher, '{"by":"me"}') } } });
    const response = {
      id: 'run',
      result: sealValue(cipher, { n: 1 }),
      steps: [{ out: sealText(cipher, '"one"') }, { out: event }, { out: 'not {"$encrypted" JSON' }],
      body: sealBody(cipher, encodeBody(Uint8Array.of(0, 255))).data,
      missing: null,
    };
    assert.deepEqual(decryptAll(cipher, response, assert.fail), {
      id: 'run',
      result: { n: 1 },
      steps: [
        { out: '"one"' },
        { out: '{"content":{"body":{"encoding":"utf8","data":"{\\"by\\":\\"me\\"}"}}}' },
        { out: 'not {"$encrypted" JSON' },
      ],
      body: 'AP8=',
      missing: null,
    });
  });

  it('reports each value that cannot be decrypted, and keeps it', () => {
    const response = [sealValue(other, 1), sealText(other, '2'), sealValue(cipher, 3)];
    const failures: string[] = [];
    const [first, second, third] = decryptAll(cipher, response, ({ name }) => failures.push(name)) as typeof response;
    assert.deepEqual([first, second, third], [response[0], response[1], 3]);
    assert.deepEqual(failures, ['DecryptionError', 'DecryptionError']);
  });

  it('does not look for envelopes in what was decrypted', () => {
    const inner = sealValue(cipher, 'inner');
    assert.deepEqual(decryptAll(cipher, sealValue(cipher, inner), assert.fail), inner);
  });
});
