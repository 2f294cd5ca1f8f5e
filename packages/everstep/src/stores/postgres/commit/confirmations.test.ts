import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { Confirmations } from './confirmations.js';

/** Whether it has resolved by now. */
async function isDone(confirmed: Promise<void>): Promise<boolean> {
  const open = Symbol('open');
  return (await Promise.race([confirmed, Promise.resolve().then(() => Promise.resolve(open))])) !== open;
}

test('a change is confirmed when every node that was asked has heard of it, and no other answer counts', async () => {
  const confirmations = new Confirmations();
  const { ask, confirmed } = confirmations.of(['a', 'b']);
  confirmations.heard(ask, 'a');
  confirmations.heard(ask, 'a');
  confirmations.heard(ask, 'c');
  confirmations.heard(ask + 1, 'b');
  assert.equal(await isDone(confirmed), false);
  confirmations.heard(ask, 'b');
  assert.equal(await isDone(confirmed), true);
});

test('a node that does not answer holds it up for a second', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const { confirmed } = new Confirmations().of(['silent']);
    mock.timers.tick(999);
    assert.equal(await isDone(confirmed), false);
    mock.timers.tick(1);
    assert.equal(await isDone(confirmed), true);
  } finally {
    mock.timers.reset();
  }
});
