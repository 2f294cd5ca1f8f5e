import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAddressPolicy } from './address-policy.js';
import { Connections } from './connections.js';

test('the number of origins is bounded: what was idle for longest is closed, what is in use never', async (t) => {
  const connections = new Connections(createAddressPolicy({ allowLoopback: true, allow: [] }));
  t.after(() => connections.close());
  const busy = connections.acquire('http://127.0.0.1:1');
  const first = connections.acquire('http://127.0.0.1:2');
  first.release();
  for (let port = 3; port < 1_000; port++) connections.acquire(`http://127.0.0.1:${port}`).release();
  assert.equal(connections.origins, 256);
  assert.equal(connections.acquire('http://127.0.0.1:1').pool, busy.pool);
  assert.notEqual(connections.acquire('http://127.0.0.1:2').pool, first.pool);
  assert.equal(first.pool.closed || first.pool.destroyed, true);
  assert.equal(busy.pool.closed, false);
});
