import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { buildConnector } from 'undici';
import { ReplyBudget } from '../../fairness/reply-budget.js';
import type { Log } from '../../ports/log.js';
import { ONE_OWNER } from '../../ports/stores/instance-owners.js';
import { createAddressPolicy } from '../addresses/address-policy.js';
import { Connections } from './connections.js';
import { exchange } from './exchange.js';

const POLICY = createAddressPolicy({ allowLoopback: true, allow: [] });
const quiet: Log = { debug() {}, info() {}, warn() {}, error() {} };

test('the pools of the origins that were idle longest are closed above the limit, and pools in use are kept', async (t) => {
  const connections = new Connections(quiet);
  t.after(() => connections.close());
  const busy = connections.acquire(POLICY, 'http://127.0.0.1:1');
  const first = connections.acquire(POLICY, 'http://127.0.0.1:2');
  first.release();
  for (let port = 3; port < 1_000; port++) connections.acquire(POLICY, `http://127.0.0.1:${port}`).release();
  assert.equal(connections.originCount, 256);
  assert.equal(connections.acquire(POLICY, 'http://127.0.0.1:1').pool, busy.pool);
  assert.notEqual(connections.acquire(POLICY, 'http://127.0.0.1:2').pool, first.pool);
  assert.equal(first.pool.closed || first.pool.destroyed, true);
  assert.equal(busy.pool.closed, false);
});

test('a connection that fails because no file descriptor is free is retried, and logged once', async (t) => {
  const server = createServer((_request, response) => response.end('here'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const really = buildConnector({});
  let left = 3;
  const short: buildConnector.connector = (options, callback) => {
    const code = left % 2 === 0 ? 'EMFILE' : 'ENFILE';
    if (left-- > 0) callback(Object.assign(new Error(`connect ${code}`), { code }), null);
    else really(options, callback);
  };
  const lines: string[] = [];
  const log: Log = { ...quiet, warn: ({ error }, message) => lines.push(`${message} ${error}`) };
  const connections = new Connections(log, { connectOnce: short });
  t.after(() => connections.close());
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { pool } = connections.acquire(POLICY, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const request = { method: 'GET', path: '/', headers: [], body: null, timeoutMs: 60_000, maxResponseBytes: 100 } as const;
  const bytes = new ReplyBudget({ maxBytes: 100, maxReplyBytes: 100 }, ONE_OWNER).open('qi_1', 100);
  const outcome = exchange(pool, { ...request, headers: [] }, bytes, new AbortController().signal);
  while (left >= 0) {
    await new Promise((resolve) => setImmediate(resolve));
    t.mock.timers.tick(250);
  }
  t.mock.timers.reset();
  const ended = await outcome;
  assert.equal(ended.kind === 'response' && ended.response.body.toString(), 'here');
  assert.deepEqual(lines, ['no free file descriptor for an endpoint connection, retrying in 250 ms ENFILE']);
});
