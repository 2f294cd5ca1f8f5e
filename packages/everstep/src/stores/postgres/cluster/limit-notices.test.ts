import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LimitNotices } from './limit-notices.js';

test('one transaction sends notices at a time, and a key that waits gets one', async () => {
  const sentKeys: string[][] = [];
  let finish = (): void => {};
  const notices = new LimitNotices((keys) => {
    sentKeys.push(keys.map(({ key }) => key));
    return new Promise((resolve) => {
      finish = resolve;
    });
  });
  const add = (...keys: readonly string[]) => notices.add(keys.map((key) => ({ instanceId: 'qi_1', key })));
  add('a');
  add('b', 'c');
  add('b');
  assert.deepEqual(sentKeys, [['a']]);
  finish();
  await new Promise(setImmediate);
  assert.deepEqual(sentKeys, [['a'], ['c', 'b'].sort()]);
  finish();
  await new Promise(setImmediate);
  add('d');
  assert.deepEqual(sentKeys.at(-1), ['d']);
});
