/** Tests calls to endpoints by name: lookups that fail, never end, return different addresses, or cannot be sent. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { buildConnector } from 'undici';
import { ownersOf } from '../../fairness/owners.fixture.js';
import { NotAttemptedError } from '../../ports/not-attempted.js';
import { resultOfFailure } from '../../runtime/dispatch/delivery-result.js';
import {
  callerWith,
  endpoint,
  failureOf,
  message,
  outboundOptions,
  respondWithPlan,
  senderWith,
  stepCall,
  useSharedEndpoint,
} from '../endpoint.fixture.js';
import { Destinations } from '../exchanges/destinations.js';
import { createNameResolver, NameError, type NameResolution } from '../names/index.js';
import { type Reply, startNameServer } from '../names/name-server.fixture.js';
import { createAddressPolicy } from './address-policy.js';

useSharedEndpoint();

const urlOf = (host: string): string => `http://${host}:${endpoint.port}/w`;
const never = new AbortController().signal;

/** Creates a caller that uses a simulated name server. */
async function withNames(t: TestContext, reply: (name: string) => Reply, allowLoopback = true) {
  const server = await startNameServer(({ name }) => reply(name));
  const names = createNameResolver({ source: { servers: [server.address] }, owners: ownersOf('hog1', 'quiet1') });
  const policy = createAddressPolicy({ allowLoopback, allow: [], names });
  const caller = callerWith({ addressPolicyOf: () => policy });
  endpoint.respond = respondWithPlan;
  endpoint.received = [];
  t.after(async () => {
    await caller.close();
    server.close();
  });
  return { server, caller };
}

test('unresponsive name servers of one account do not delay deliveries of other accounts', async (t) => {
  const { caller } = await withNames(t, (name) => (name.endsWith('attacker.test') ? 'never' : { addresses: ['127.0.0.1'] }));
  const gone = new AbortController();
  let ended = 0;
  const attacks = Array.from({ length: 300 }, (_, index) => {
    const call = stepCall({ instanceId: 'hog1', workflowUrl: urlOf(`a${index}.attacker.test`), timeoutMs: 60_000 });
    return caller.call(call, gone.signal).finally(() => ended++);
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  for (const host of ['shop.test', 'localhost']) {
    const quiet = stepCall({ instanceId: 'quiet1', workflowUrl: urlOf(host), timeoutMs: 60_000 });
    const outcome = await caller.call(quiet, never);
    assert.equal(outcome.kind, 'reply', host);
  }
  assert.equal(ended, 0, 'the other calls still wait for their name servers');
  gone.abort();
  for (const attack of attacks) assert.equal(failureOf(await attack).message, 'the request was aborted');
});

test('a failed lookup fails the delivery and counts against its destination', async (t) => {
  const { caller } = await withNames(t, (name) => (name === 'broken.test' ? 'server-failure' : 'no-such-name'));
  for (const [host, message] of [
    ['broken.test', /broken\.test:\d+: the host name could not be resolved \(EAI_AGAIN\)/],
    ['gone.test', /gone\.test:\d+: the host name does not exist \(ENOTFOUND\)/],
  ] as const) {
    const failure = failureOf(await caller.call(stepCall({ workflowUrl: urlOf(host) }), never));
    assert.equal(failure.cause, 'network');
    assert.match(failure.message, message);
    assert.equal(resultOfFailure(failure).kind, 'failed', 'the circuit breaker counts it');
  }
});

test('a lookup ends at the timeout of its delivery, which counts as a failure of the destination', async (t) => {
  const { caller } = await withNames(t, () => 'never');
  const failure = failureOf(await caller.call(stepCall({ workflowUrl: urlOf('dead.test'), timeoutMs: 100 }), never));
  assert.deepEqual([failure.cause, failure.message], ['timeout', 'the endpoint did not respond within 100 ms']);
  assert.equal(resultOfFailure(failure).kind, 'failed');
});

test('the connected address is checked, whatever the name server answered before', async (t) => {
  const { caller, server } = await withNames(t, () => ({ addresses: ['127.0.0.1'], ttlS: 0 }), false);
  const failure = failureOf(await caller.call(stepCall({ workflowUrl: urlOf('rebound.test') }), never));
  assert.deepEqual([failure.cause, failure.retry], ['blocked-address', { kind: 'never' }]);
  assert.deepEqual([endpoint.received.length, server.questions.length > 0], [0, true]);
  // The address of the name changes between the lookup and the connection.
  let asked = 0;
  const names = {
    find: (): NameResolution => ({
      kind: 'found',
      addresses: [{ address: asked++ === 0 ? '192.0.2.1' : '127.0.0.1', family: 4 }],
    }),
  };
  const policy = createAddressPolicy({ allowLoopback: false, allow: ['192.0.2.1'], names });
  const rebound = callerWith({ addressPolicyOf: () => policy });
  t.after(() => rebound.close());
  const second = failureOf(await rebound.call(stepCall({ workflowUrl: urlOf('rebound.test') }), never));
  assert.deepEqual([second.cause, asked, endpoint.received.length], ['blocked-address', 2, 0]);
});

test('a lookup without a free file descriptor is retried; until the timeout it does not count as an attempt', async (t) => {
  let left = 2;
  const names = {
    find: (name: string): NameResolution =>
      left-- > 0
        ? { kind: 'failed', error: new NameError(name, 'EMFILE') }
        : { kind: 'found', addresses: [{ address: '127.0.0.1', family: 4 }] },
  };
  const policy = createAddressPolicy({ allowLoopback: true, allow: [], names });
  const [caller, sender] = [callerWith({ addressPolicyOf: () => policy }), senderWith({ addressPolicyOf: () => policy })];
  t.after(() => Promise.all([caller.close(), sender.close()]));
  endpoint.respond = respondWithPlan;
  assert.equal((await caller.call(stepCall({ workflowUrl: urlOf('shop.test') }), never)).kind, 'reply');
  left = Number.POSITIVE_INFINITY;
  const short = { timeoutMs: 300 };
  await assert.rejects(caller.call(stepCall({ workflowUrl: urlOf('shop.test'), ...short }), never), NotAttemptedError);
  await assert.rejects(sender.send(message({ url: urlOf('shop.test'), ...short }), never), NotAttemptedError);
});

test('a delivery that times out while it waits for a file descriptor does not count as an attempt', async (t) => {
  const connectOnce: buildConnector.connector = ({ port }, callback) => {
    const code = port === '1' ? 'EMFILE' : 'ECONNREFUSED';
    callback(Object.assign(new Error(`connect ${code}`), { code }), null);
  };
  const destinations = new Destinations({ ...outboundOptions(), connectOnce });
  t.after(() => destinations.close());
  const ask = async (port: number) => {
    const verdict = destinations.targetOf('qi_1', `http://127.0.0.1:${port}/`);
    assert.ok(verdict.ok);
    const request = { method: 'GET', path: '/', headers: [], body: null, timeoutMs: 100, maxResponseBytes: 100 } as const;
    return destinations.send('qi_1', verdict.target, { ...request, headers: [] }, never);
  };
  await assert.rejects(ask(1), NotAttemptedError);
  assert.equal((await ask(2)).kind, 'failure', 'any other failure counts as an attempt');
});
