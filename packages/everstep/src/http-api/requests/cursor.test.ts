import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../contract/error-codes.js';
import { type CursorScope, createCursorSeal } from './cursor.js';

const accounts = { findOrCreateSecret: async () => 'a secret of the installation' };
const seal = createCursorSeal(accounts);
const scope: CursorScope = { operation: 'logs', instanceId: 'qi_1', filters: { labels: ['a', 'b'], count: undefined, from: 1 } };
const state = { after: '17', horizon: '20', remaining: 3 };
const isBadCursor = (error: unknown) => error instanceof ApiError && error.code === 'bad-cursor';

test('a cursor returns its state, even after a restart', async () => {
  for (const made of [state, { after: '', horizon: null, remaining: null }]) {
    const cursor = await seal.seal(scope, made);
    assert.match(cursor, /^[\w.-]+$/, 'it needs no encoding in a URL');
    assert.deepEqual(await seal.open(scope, cursor), made);
    assert.deepEqual(await createCursorSeal(accounts).open(scope, cursor), made);
  }
});

test('the order of filters does not matter, and an undefined filter equals a missing one', async () => {
  const cursor = await seal.seal(scope, state);
  assert.deepEqual(await seal.open({ ...scope, filters: { from: 1, labels: ['b', 'a'] } }, cursor), state);
});

test('rejects a cursor of another operation, instance or filter', async () => {
  const cursor = await seal.seal(scope, state);
  const others: readonly CursorScope[] = [
    { ...scope, operation: 'dlq' },
    { ...scope, instanceId: 'qi_2' },
    { ...scope, filters: {} },
    { ...scope, filters: { labels: ['a'], from: 1 } },
    { ...scope, filters: { labels: ['a', 'b'], from: 2 } },
    { ...scope, filters: { labels: ['a,b'], from: 1 } },
  ];
  for (const other of others) await assert.rejects(seal.open(other, cursor), isBadCursor, JSON.stringify(other));
  await assert.rejects(createCursorSeal({ findOrCreateSecret: async () => 'another' }).open(scope, cursor), isBadCursor);
});

test('rejects a cursor with a changed, added or removed character', async () => {
  const cursor = await seal.seal(scope, state);
  for (let at = 0; at < cursor.length; at++) {
    const changed = cursor[at] === 'A' ? 'B' : 'A';
    await assert.rejects(seal.open(scope, cursor.slice(0, at) + changed + cursor.slice(at + 1)), isBadCursor, `position ${at}`);
    await assert.rejects(seal.open(scope, cursor.slice(0, at) + cursor.slice(at + 1)), isBadCursor, `without position ${at}`);
  }
  for (const text of ['x', '.', 'a.b', 'a.b.c', `${cursor}.`, `${cursor}=`, ` ${cursor}`, '%', 'é', '17'])
    await assert.rejects(seal.open(scope, text), isBadCursor, text);
});

test('reads the secret again after a failure', async () => {
  let asked = 0;
  const flaky = createCursorSeal({
    findOrCreateSecret: async () => {
      asked++;
      if (asked === 1) throw new Error('the disk is full');
      return 'a secret of the installation';
    },
  });
  await assert.rejects(flaky.seal(scope, state), /disk/);
  assert.deepEqual(await seal.open(scope, await flaky.seal(scope, state)), state);
});

test('does not need the store after prepare, and prepare can be repeated after a failure', async () => {
  let away = true;
  let reads = 0;
  const prepared = createCursorSeal({
    findOrCreateSecret: async () => {
      reads++;
      if (away) throw new Error('the store rejects writes');
      return 'a secret of the installation';
    },
  });
  await assert.rejects(prepared.prepare(), /rejects writes/);
  away = false;
  await prepared.prepare();
  away = true;
  assert.deepEqual(await prepared.open(scope, await prepared.seal(scope, state)), state);
  assert.equal(reads, 2);
});
