import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSqliteStore } from '../stores/sqlite/index.js';
import { AccountRules } from './account-rules.js';

test('changes of all accounts on one store run one at a time, across all rule sets, even after a failure', async () => {
  const { accounts } = await openSqliteStore({ file: ':memory:' });
  const options = { accounts, now: () => 1, random: { bytes: (count: number) => new Uint8Array(count) } };
  const [one, other] = [new AccountRules(options), new AccountRules(options)];
  const seen: string[] = [];
  const change = (name: string) => async () => {
    seen.push(`${name} starts`);
    await new Promise((resolve) => setImmediate(resolve));
    seen.push(`${name} ends`);
    if (name === 'b') throw new Error('the disk is full');
    return name;
  };
  const changes = [one.withLock(change('a')), other.withLock(change('b')), one.withLock(change('c'))];
  const ends = await Promise.allSettled(changes);
  assert.deepEqual(
    ends.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.deepEqual(seen, ['a starts', 'a ends', 'b starts', 'b ends', 'c starts', 'c ends']);
});
