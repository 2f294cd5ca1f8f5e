import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccountLocks } from './account-locks.js';

/** Changes that end on request, and the order in which they started. */
function scene() {
  const locks = new AccountLocks();
  const started: string[] = [];
  const letEnd = new Map<string, () => void>();
  const change = (name: string, accountIds: readonly string[] | null, fails = false) =>
    locks.run(accountIds, async () => {
      started.push(name);
      await new Promise<void>((resolve) => letEnd.set(name, resolve));
      if (fails) throw new Error(name);
      return name;
    });
  const end = async (name: string) => {
    letEnd.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { started, change, end };
}

test('changes of one account run one at a time, and changes of other accounts do not wait', async () => {
  const { started, change, end } = scene();
  const all = [change('a1', ['a']), change('a2', ['a']), change('b1', ['b']), change('ab', ['a', 'b'])];
  await end('none');
  assert.deepEqual(started, ['a1', 'b1']);
  await end('a1');
  await end('b1');
  assert.deepEqual(started, ['a1', 'b1', 'a2']);
  await end('a2');
  assert.deepEqual(started, ['a1', 'b1', 'a2', 'ab']);
  await end('ab');
  assert.deepEqual(await Promise.all(all), ['a1', 'a2', 'b1', 'ab']);
});

test('a change of all accounts waits for every earlier one, and every later one waits for it', async () => {
  const { started, change, end } = scene();
  const all = [change('a1', ['a']), change('all', null), change('b1', ['b'])];
  await end('none');
  assert.deepEqual(started, ['a1']);
  await end('a1');
  assert.deepEqual(started, ['a1', 'all']);
  await end('all');
  assert.deepEqual(started, ['a1', 'all', 'b1']);
  await end('b1');
  await Promise.all(all);
});

test('a failed change does not block the next one', async () => {
  const { started, change, end } = scene();
  const failing = change('a1', ['a'], true);
  const next = change('a2', ['a']);
  const rejected = assert.rejects(failing, /a1/);
  await end('none');
  await end('a1');
  await rejected;
  assert.deepEqual(started, ['a1', 'a2']);
  await end('a2');
  assert.equal(await next, 'a2');
});
