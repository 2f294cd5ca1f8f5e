import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { ApiError } from '../../contract/error-codes.js';
import { readJson, validate } from './json-body.js';

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

test('accepts every spelling of the JSON content type, and no other', () => {
  const read = (contentType: string): string => {
    try {
      readJson(Buffer.from('1'), contentType);
      return 'accepted';
    } catch (error) {
      assert.ok(error instanceof ApiError);
      assert.equal(error.code, 'unsupported-media-type');
      return error.message;
    }
  };
  for (const contentType of [
    'application/json',
    'application/json ; ',
    'application/cloudevents+json;charset=utf-8',
    'Application/JSON ; charset = "UTF8" ; ',
  ])
    assert.equal(read(contentType), 'accepted', contentType);
  for (const contentType of ['text/json', 'application/json;;', 'application/json; charset=latin1', 'application/json x'])
    assert.equal(read(contentType), `the body must be application/json, not ${JSON.stringify(contentType)}`);
  // A quadratic test of this content type would take minutes.
  assert.equal(
    read(`application/json;charset=utf-8${' '.repeat(1_000_000)};x`),
    'the content type must be application/json, with at most 256 characters, not 1000032',
  );
});
