import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type FailureDescription, groupOf } from './fingerprint.js';
import { normalizeMessage } from './normalized-text.js';

const FAILED: FailureDescription = {
  ...{ kind: 'workflow', workflowUrl: 'https://app.test/order', stepName: 'charge', status: 500, cause: 'step' },
  message: 'Error: no stock',
};
const fingerprintOf = (changes: Partial<FailureDescription>): string => groupOf({ ...FAILED, ...changes }).fingerprint;

describe('failures with different causes are in different groups', () => {
  const cases: readonly (readonly [what: string, one: string, other: string])[] = [
    ['SQLSTATE', 'error: SQLSTATE 23505', 'error: SQLSTATE 40001'],
    ['SQLSTATE in brackets', 'SQLSTATE[23000]: integrity', 'SQLSTATE[40001]: integrity'],
    ['SQLSTATE as a code', "failed (code: '23505')", "failed (code: '40001')"],
    ['column', 'column "email" does not exist', 'column "phone" does not exist'],
    ['required field', '"email" is required', '"phone" is required'],
    ['status of another service', 'Stripe answered 500', 'Stripe answered 429'],
    ['status with its name', 'Stripe answered 401 Unauthorized', 'Stripe answered 403 Forbidden'],
    ['status as a value', 'upstream failed: status=502', 'upstream failed: status=503'],
    [
      'property',
      "Cannot read properties of undefined (reading 'vatNumber')",
      "Cannot read properties of undefined (reading 'address')",
    ],
    ['error name', 'connect ECONNREFUSED 10.0.0.1:5432', 'connect ETIMEDOUT 10.0.0.1:5432'],
    ['module', "Cannot find module 'left-pad'", "Cannot find module 'right-pad'"],
  ];
  for (const [what, one, other] of cases)
    test(`by ${what}`, () => {
      assert.notEqual(fingerprintOf({ message: one }), fingerprintOf({ message: other }), normalizeMessage(one));
    });
});

describe('values stay masked', () => {
  const cases: readonly (readonly [message: string, normalized: string])[] = [
    ['user "alice" not found', 'user "…" not found'],
    ['batch of 500 items in 429 ms', 'batch of # items in # ms'],
    ['the code 48213 is wrong', 'the code # is wrong'],
    ['Error: card 4242 was declined', 'Error: card # was declined'],
    ['column "order_1234567" is missing', 'column "order_#" is missing'],
    ['{"code": "23505", "user": "bob"}', '{"code": "23505", "user": "…"}'],
  ];
  for (const [message, normalized] of cases)
    test(message, () => {
      assert.equal(normalizeMessage(message), normalized);
    });
});

describe('the location in the code distinguishes failures with the same message', () => {
  const at = (file: string, line: number, column: number, name?: string): string =>
    fingerprintOf({ source: { file, line, column, ...(name === undefined ? {} : { function: name }) } });

  test('by function, wherever the function is in its file, and the file in the file system', () => {
    assert.equal(at('src/app.mjs', 7, 13, 'charge'), at('/srv/releases/17/app.mjs', 99, 5, 'charge'));
    assert.notEqual(at('app.mjs', 7, 13, 'charge'), at('app.mjs', 7, 13, 'refund'));
    assert.notEqual(at('app.mjs', 7, 13, 'charge'), at('pay.mjs', 7, 13, 'charge'));
    assert.notEqual(at('app.mjs', 7, 13, 'charge'), fingerprintOf({}));
  });

  test('by column in functions without a name, except in generated code', () => {
    assert.notEqual(at('app.mjs', 7, 48), at('app.mjs', 7, 40));
    assert.equal(at('app.mjs', 7, 48), at('app.mjs', 9, 48));
    assert.equal(at('app.min.js', 1, 48_000), at('app.min.js', 1, 52_000));
    assert.equal(at('route-9fceb02d0ae5.js', 1, 5), at('route-d95db9749fce.js', 1, 5));
  });
});
