import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { snippetOf } from '../../responses/retry-advice.js';
import { normalizeMessage, normalizeStepName, shorten } from './normalized-text.js';

describe('a message keeps its words, and has placeholders for', () => {
  const cases: readonly (readonly [what: string, message: string, normalized: string])[] = [
    ['nothing', 'Error: no stock', 'Error: no stock'],
    ['numbers', 'retry 3 of 10 failed after 1,250.5 ms', 'retry # of # failed after # ms'],
    ['numbers with a unit', 'timed out after 30s (98.5%)', 'timed out after #s (#%)'],
    ['numbers within words', 'order-123 of step7 is not in v1.2.3', 'order-# of step# is not in v#.#.#'],
    ['UUIDs', 'no user 7f9c24e8-3b12-4fef-91e0-1d2c3b4a5968.', 'no user <id>.'],
    ['ids', 'no such run: wfr_01HZX5J9K2M4N6P8Q0R2S4T6V8', 'no such run: wfr_<id>'],
    ['ids of other services', 'No such customer: cus_NffrFeUfNV2Hib', 'No such customer: cus_<id>'],
    ['hexadecimal numbers', 'at 0x7ffee4c3 in commit 9fceb02d0ae598e95dc970b74767f19372d61af8', 'at <id> in commit <id>'],
    ['quotations', `about 'foo' of "bar \\"baz\\"" and \`qux\``, 'about \'…\' of "…" and `…`'],
    ['values of JSON, but not its names', '{"code": "E42", "user": {"id": 7}}', '{"code": "…", "user": {"id": #}}'],
    ['times', 'at 2026-11-21T23:59:59.123Z and 2026-11-21 23:59:59', 'at <time> and <time>'],
    ['addresses', 'connect ECONNREFUSED 127.0.0.1:5432, ::1:5432', 'connect ECONNREFUSED <address>'],
    ['e-mail addresses', 'cannot write to ann.o-ther+x@mail.example.com', 'cannot write to <email>'],
    [
      'variable parts of URLs',
      'GET HTTPS://ann:secret@api.example.com/v2/users/1234/orders/9fceb02d0ae5?token=abc#x answered',
      'GET https://api.example.com/v#/users/#/orders/<id>?<query> answered',
    ],
    ['hosts that are IP addresses', 'fetch http://10.0.0.7:8080/x failed', 'fetch http://<address>/x failed'],
    ['tokens', 'bad token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl', 'bad token <id>'],
    ['base64', 'key c2VjcmV0LXNlY3JldC1zZWNyZXQtMTIzNDU2Nzg5MA== is bad', 'key <id> is bad'],
    ['line breaks and control characters', 'first\r\n\tsecond\u0000 third', 'first second third'],
    ['lists of any length', 'missing: 1, 2, 3; bad: 7', 'missing: #; bad: #'],
    ['non-ASCII digits', 'شماره ۱۲۳ ناموفق', 'شماره # ناموفق'],
  ];
  for (const [what, message, normalized] of cases)
    test(what, () => {
      assert.equal(normalizeMessage(message), normalized);
    });
});

test('an apostrophe does not start a quotation', () => {
  assert.equal(normalizeMessage("it can't be the user's or o'neil's"), "it can't be the user's or o'neil's");
});

test('a quotation without an end is read literally', () => {
  assert.equal(normalizeMessage('unexpected " in line 7'), 'unexpected " in line #');
});

describe('the quoted body of a response', () => {
  const about = (body: string) =>
    normalizeMessage(`the endpoint returned 500 (${snippetOf(new TextEncoder().encode(body), false)}); look there`);

  test('is normalized', () => {
    assert.equal(about('order 77 is gone'), 'the endpoint returned 500 (a body that begins with "order # is gone")');
  });

  test('is the same wherever it was cut', () => {
    const rest = 'because the database is not there and nobody knows why it should be so, which is a pity for all of us';
    assert.equal(about(`order 7: ${rest}`), about(`order 123456789: ${rest}`));
  });
});

test('messages that differ only in ids and numbers are equal', () => {
  const words = fc.array(fc.constantFrom('order', 'of', 'user', 'is not', 'failed:', 'at', '(no', 'stock)'), {
    minLength: 1,
    maxLength: 8,
  });
  const changing = [fc.integer({ min: 0, max: 9_999_999 }).map(String), fc.uuid(), fc.ipV4()];
  for (const each of changing)
    fc.assert(
      fc.property(words, each, each, (around, one, other) => {
        const about = (value: string) => normalizeMessage(around.map((word) => `${word} ${value}`).join(' '));
        assert.equal(about(one), about(other));
      }),
    );
});

describe('any text', () => {
  test('becomes a short, well-formed one that does not change when it is normalized again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2000 }), (text) => {
        const normalized = normalizeMessage(text);
        assert.ok(normalized.length <= 300);
        assert.doesNotMatch(normalized, /\p{Cs}|\0/u);
      }),
    );
  });

  test('is cut between characters, even with unpaired surrogates', () => {
    assert.equal(normalizeMessage('\ud83d bad'), '\ufffd bad');
    assert.doesNotMatch(normalizeMessage('x'.repeat(299) + '😀'.repeat(9)), /\p{Cs}/u);
    assert.equal(shorten('ab😀cd', 4), 'ab…');
  });

  test('is read in constant time, whatever it contains', () => {
    const hostile = [
      '"',
      "'",
      '`',
      '"\\',
      '1,',
      '# ',
      'a1',
      'a@b.',
      '::',
      '://',
      '1.1.1.',
      '<id> ',
      '0x',
      '-',
      '“',
      '{"',
      'aB1',
      '2026-',
    ];
    const started = performance.now();
    for (const piece of hostile) {
      normalizeMessage(piece.repeat(1_000_000 / piece.length));
      normalizeStepName(piece.repeat(100_000 / piece.length));
    }
    // Each text takes well below 10 ms. A quadratic pass would take minutes.
    assert.ok(performance.now() - started < 5_000);
  });
});

describe('the name of a step', () => {
  const cases: readonly (readonly [name: string, normalized: string])[] = [
    ['pay', 'pay'],
    ['order-123', 'order-#'],
    ['order-12345678', 'order-#'],
    ['item 7/12', 'item #/#'],
    ['user-7f9c24e8-3b12-4fef-91e0-1d2c3b4a5968', 'user-#'],
    ['mail:9fceb02d0ae5', 'mail:#'],
    ['call 1.2.3', 'call #'],
    ['Schritt №5 für Zoë', 'Schritt №# für Zoë'],
  ];
  for (const [name, normalized] of cases)
    test(`normalizes ${name} to ${normalized}`, () => {
      assert.equal(normalizeStepName(name), normalized);
    });
});
