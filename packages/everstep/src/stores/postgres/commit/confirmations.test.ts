import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { Confirmations } from './confirmations.js';

/** Returns whether the promise is already resolved. */
async function isDone(confirmed: Promise<void>): Promise<boolean> {
  const open = Symbol('open');
  return (await Promise.race([confirmed, Promise.resolve().then(() => Promise.resolve(open))])) !== open;
}

test('a change is confirmed when every requested node has confirmed it, and other confirmations do not count', async () => {
  const confirmations = new Confirmations();
  const { requestNumber, confirmed } = confirmations.request(['a', 'b']);
  confirmations.confirm(requestNumber, 'a');
  confirmations.confirm(requestNumber, 'a');
  confirmations.confirm(requestNumber, 'c');
  confirmations.confirm(requestNumber + 1, 'b');
  assert.equal(await isDone(confirmed), false);
  confirmations.confirm(requestNumber, 'b');
  assert.equal(await isDone(confirmed), true);
});

test('a node that does not confirm delays a change by one second', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const { confirmed } = new Confirmations().request(['silent']);
    mock.timers.tick(999);
    assert.equal(await isDone(confirmed), false);
    mock.timers.tick(1);
    assert.equal(await isDone(confirmed), true);
  } finally {
    mock.timers.reset();
  }
});
