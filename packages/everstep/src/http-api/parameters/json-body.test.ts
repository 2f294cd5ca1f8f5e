import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { ApiError } from '../../contract/error-codes.js';
import { validate } from './json-body.js';

const Scopes = Type.Array(Type.Enum(['read', 'write']), { minItems: 1, maxItems: 6, uniqueItems: true });
const schema = Type.Object(
  { scopes: Scopes, entries: Type.Optional(Type.Array(Type.Object({ scopes: Scopes }), { maxItems: 3 })) },
  { additionalProperties: false },
);

const messageOf = (value: unknown): string => {
  try {
    validate(schema, value, 'the body');
  } catch (error) {
    assert.ok(error instanceof ApiError);
    assert.equal(error.code, 'bad-body');
    return error.message;
  }
  assert.fail('the value was accepted');
};

/** An array whose items must not be read: an attacker chooses how many there are. */
const unread = (length: number): readonly unknown[] =>
  new Proxy(
    Array.from({ length }, () => 0),
    {
      get(target, key) {
        assert.ok(typeof key !== 'string' || !/^\d+$/.test(key) || Number(key) === 0, `reads item ${String(key)}`);
        return Reflect.get(target, key);
      },
    },
  );

test('a list that is too long is rejected without reading its items', () => {
  assert.equal(messageOf({ scopes: unread(100_000) }), 'body.scopes must not have more than 6 items');
  assert.equal(
    messageOf({ scopes: ['read'], entries: [{ scopes: ['read'] }, { scopes: unread(7) }] }),
    'body.entries.1.scopes must not have more than 6 items',
  );
  assert.equal(messageOf({ scopes: ['read'], entries: unread(4) }), 'body.entries must not have more than 3 items');
});

test('an error shows only the first of many unknown fields', () => {
  const fields = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`field${index}`, 1]));
  assert.equal(
    messageOf({ scopes: ['read'], ...fields }),
    'the body has unknown fields: "field0", "field1", "field2", "field3", "field4" and others',
  );
  assert.equal(messageOf({ scopes: ['read'], one: 1, two: 2 }), 'the body has unknown fields: "one", "two"');
});
