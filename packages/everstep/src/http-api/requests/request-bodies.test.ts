/** Bodies that arrive slowly, are too large or too numerous, on real connections. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { LONG_BYTES, type WorkSlices } from '../../fairness/work-slices.js';
import { ApiHarness } from '../testing/api-harness.js';
import { RequestBodies } from './request-bodies.js';

const WORKFLOW = '/v2/trigger/http://w.test/ok';

const bodies = new RequestBodies({ maxBytesTotal: 3_000, maxBytesOfOwner: 2_000 });
let harness: ApiHarness;
let port: number;
before(async () => {
  harness = await ApiHarness.open({ bodies });
  ({ port } = await harness.api.listen({ host: '127.0.0.1', port: 0 }));
});
after(() => harness.close());

interface Sent {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | number>>;
}

/** Sends the head of a request; the caller writes its body. */
function open({ path, headers = {} }: Sent): ClientRequest {
  const request = httpRequest({ port, host: '127.0.0.1', method: 'POST', path, headers, agent: false });
  request.on('error', () => {});
  return request;
}

async function responseTo(request: ClientRequest) {
  const [response]: IncomingMessage[] = await once(request, 'response');
  assert.ok(response);
  const body = (await json(response)) as { readonly error?: string };
  return { status: response.statusCode, headers: response.headers, error: body.error };
}

const withToken = () => ({ authorization: `Bearer ${harness.token}`, 'content-type': 'text/plain' });
const trigger = (headers: Readonly<Record<string, string | number>> = {}): ClientRequest =>
  open({ path: WORKFLOW, headers: { ...withToken(), ...headers } });

/** Writes bytes and resolves when the server has read them. */
async function upload(request: ClientRequest, bytes: number): Promise<void> {
  const read = bodies.bytes + bytes;
  request.write('x'.repeat(bytes));
  while (bodies.bytes < read) await new Promise(setImmediate);
}

test('limits the bytes of unfinished bodies per caller and releases them when the caller disconnects', async () => {
  const slow = trigger();
  await upload(slow, 1_500);
  const refused = trigger();
  refused.end('x'.repeat(501));
  const { status, headers, error } = await responseTo(refused);
  assert.deepEqual([status, headers['retry-after'], headers.connection], [429, '1', 'close']);
  assert.match(error ?? '', /too many bytes of request bodies/);
  slow.destroy();
  while (bodies.bytes > 0) await new Promise(setImmediate);
  const taken = trigger();
  taken.end('x'.repeat(2_000));
  assert.equal((await responseTo(taken)).status, 200);
});

test('the instances of an account have one limit together while another account owns instances', async () => {
  const { store, limits, authority } = harness;
  for (const userId of ['usr_hog', 'usr_quiet'])
    await store.accounts.createUser({
      user: { userId, email: `${userId}@w.test`, createdAt: 1 },
      apiKey: { apiKeyId: `key_${userId}`, userId, name: 'first', keyHash: userId, createdAt: 1 },
    });
  const assign = async (instanceId: string, accountId: string): Promise<void> => {
    await store.accounts.changeInstance({ instanceId, change: { accountId } });
    await limits.forget(instanceId);
  };
  for (const instanceId of ['qi_1', 'qi_2']) await assign(instanceId, 'usr_hog');
  const token = await authority.issueToken({ instanceId: 'qi_2', access: 'read-write' });
  const statusOfSecond = async (): Promise<number | undefined> => {
    const slow = trigger();
    await upload(slow, 1_500);
    const second = trigger({ authorization: `Bearer ${token}` });
    second.end('x'.repeat(501));
    const { status } = await responseTo(second);
    slow.destroy();
    while (bodies.bytes > 0) await new Promise(setImmediate);
    return status;
  };
  assert.equal(await statusOfSecond(), 200);
  await assign('qi_us', 'usr_quiet');
  assert.equal(await statusOfSecond(), 429);
});

test('one caller at its limit does not block others', async () => {
  const slow = trigger();
  await upload(slow, 2_000);
  const login = open({ path: '/v2/session', headers: { 'content-type': 'application/json' } });
  login.end(JSON.stringify({ email: 'nobody@w.test', api_key: 'none' }));
  assert.equal((await responseTo(login)).status, 401);
  slow.end();
  assert.equal((await responseTo(slow)).status, 200);
});

test('rejects a body over the limit by its announced length or while it arrives', async () => {
  const announced = open({ path: '/v2/session', headers: { 'content-length': 4_097 } });
  announced.flushHeaders();
  assert.equal((await responseTo(announced)).status, 413);
  const arriving = open({ path: '/v2/session' });
  arriving.write('x'.repeat(4_097));
  const { status, headers } = await responseTo(arriving);
  assert.deepEqual([status, headers.connection], [413, 'close']);
  arriving.destroy();
});

test('rejects a login from a page of another origin before reading its body', async () => {
  const request = open({ path: '/v2/session', headers: { 'content-length': 4_000, origin: 'http://evil.test' } });
  request.flushHeaders();
  const { status, headers } = await responseTo(request);
  assert.deepEqual([status, headers['svc-error-code']], [403, 'csrf-refused']);
  request.destroy();
});

test('rejects a login without a content type, which pages of any origin can send', async () => {
  const request = open({ path: '/v2/session' });
  request.end('{}');
  assert.equal((await responseTo(request)).status, 415);
});

test('rejects logins from a blocked address before reading their body', async () => {
  const failing = { method: 'POST' as const, url: '/v2/session', headers: { 'content-type': 'application/json' } };
  for (let i = 0; i < 60; i++) {
    const payload = JSON.stringify({ email: `nobody-${i}@w.test`, api_key: 'none' });
    await harness.send({ ...failing, payload, remoteAddress: '192.0.2.9' });
  }
  const { status } = await harness.send({ ...failing, payload: '{', remoteAddress: '192.0.2.9' });
  assert.equal(status, 429);
  assert.equal((await harness.send({ ...failing, payload: '{', remoteAddress: '192.0.2.10' })).status, 400);
});

test('rejects an unknown webhook before reading its body', async () => {
  for (const path of ['/v2/webhooks/whk_none.run_none', '/v2/workflows/hooks/user/run/event']) {
    const request = open({ path, headers: { 'content-length': 1_000_000 } });
    request.flushHeaders();
    assert.equal((await responseTo(request)).status, 404, path);
    request.destroy();
  }
});

test('does not pass an incomplete body to the operation', async () => {
  const request = trigger({ 'content-length': 10 });
  await upload(request, 5);
  const runs = await harness.send({ method: 'GET', url: '/v2/workflows/logs', headers: withToken() });
  request.destroy();
  while (bodies.bytes > 0) await new Promise(setImmediate);
  assert.deepEqual((await harness.send({ method: 'GET', url: '/v2/workflows/logs', headers: withToken() })).body, runs.body);
});

test('a long request takes its turn as one of its queue instance', async () => {
  const turns: string[] = [];
  const run: WorkSlices['run'] = (instanceId, work) => {
    turns.push(instanceId);
    return work();
  };
  const sliced = await ApiHarness.open({ slices: { run } });
  try {
    assert.equal((await sliced.call('POST', WORKFLOW, { body: 'x'.repeat(LONG_BYTES - 1) })).status, 200);
    assert.deepEqual(turns, []);
    assert.equal((await sliced.call('POST', WORKFLOW, { body: 'x'.repeat(LONG_BYTES) })).status, 200);
    assert.deepEqual(turns, ['qi_1']);
  } finally {
    await sliced.close();
  }
});
