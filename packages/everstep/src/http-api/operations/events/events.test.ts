import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LIMITS } from '../../../config/limits.js';
import type { NotifiedWaiter, Waiter } from '../../../contract/events.js';
import type { RunResult } from '../../../contract/runs.js';
import { ApiHarness, EVENT_ID } from '../../testing/api-harness.js';

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

const EVENT = encodeURIComponent(EVENT_ID);
const waiting = async (id: string, endpoint = 'wait') => {
  await harness.trigger(endpoint, { 'svc-workflow-runid': id });
  return harness.journalWhen(id, ({ tasks }) => tasks.some(({ kind }) => kind === 'wait'));
};
const resultOf = async (id: string) =>
  (await harness.call<RunResult>('GET', `/v2/workflows/runs/${encodeURIComponent(id)}/result`)).body.result;
const notify = (path: string, body: string | Buffer = '', headers: Record<string, string> = {}) =>
  harness.call<NotifiedWaiter[]>('POST', `/v2/notify/${path}`, { body, headers });

test('returns an empty array when no run waits', async () => {
  const { status, body } = await notify('nobody', 'x', { 'content-type': 'x/y' });
  assert.deepEqual([status, body], [200, []]);
  assert.deepEqual((await harness.call('GET', '/v2/waiters/nobody')).body, []);
});

test('lists all waiters, longest first, and notifies each once with the data', async () => {
  const first = await waiting('w-1');
  await waiting('w 2');
  const deadlineAt = first.tasks.find(({ kind }) => kind === 'wait')?.waitDeadline ?? 0;
  const listed = await harness.call<Waiter[]>('GET', `/v2/waiters/${EVENT}`);
  const expected: Waiter = {
    url: 'http://w.test/wait',
    headers: { 'Svc-Workflow-Runid': ['w-1'], 'Svc-Workflow-Url': ['http://w.test/wait'] },
    deadline: Math.floor(deadlineAt / 1000),
  };
  assert.deepEqual(listed.body[0], expected);
  assert.deepEqual(
    listed.body.map(({ headers }) => headers['Svc-Workflow-Runid']),
    [['w-1'], ['w 2']],
  );
  assert.equal((await harness.call<Waiter[]>('GET', `/v2/waiters/${EVENT}?count=1`)).body.length, 1);

  const { body } = await notify(EVENT, '{"n":1}', { 'content-type': 'application/json' });
  assert.deepEqual(body[0]?.waiter, expected);
  assert.equal(body.length, 2);
  assert.ok(body.every(({ messageId, kept }) => messageId.startsWith('msg_') && kept === undefined));
  assert.deepEqual((await notify(EVENT)).body, [], 'no run is waiting anymore');
  const content = { kind: 'data', body: { encoding: 'utf8', data: '{"n":1}' }, contentType: 'application/json' };
  for (const id of ['w-1', 'w 2']) assert.deepEqual(await resultOf(id), { timeout: false, eventId: EVENT_ID, content });
});

test('passes any bytes unchanged, without a content type if none was sent', async () => {
  await waiting('w-bytes');
  await notify(EVENT, Buffer.from([0, 255, 1]));
  const content = { kind: 'data', body: { encoding: 'base64', data: 'AP8B' } };
  assert.deepEqual(await resultOf('w-bytes'), { timeout: false, eventId: EVENT_ID, content });
});

test('notifies a single run', async () => {
  await waiting('alone/1');
  await waiting('alone/2');
  const { body } = await notify(`${encodeURIComponent('alone/1')}/${EVENT}`, 'x');
  assert.deepEqual(
    body.map(({ waiter, kept }) => [waiter.headers['Svc-Workflow-Runid'], kept]),
    [[['alone/1'], undefined]],
  );
  assert.equal((await harness.call<Waiter[]>('GET', `/v2/waiters/${EVENT}`)).body.length, 1);
  await notify(EVENT);
});

test('stores the event for a run that does not wait yet and rejects it for one that has ended', async () => {
  await harness.trigger('hang', { 'svc-workflow-runid': 'early' });
  const { status, body } = await notify(`early/${EVENT}`, 'x');
  assert.equal(status, 200);
  const [kept] = body;
  assert.deepEqual(
    { ...kept, messageId: '' },
    {
      waiter: {
        url: 'http://w.test/hang',
        headers: { 'Svc-Workflow-Runid': ['early'], 'Svc-Workflow-Url': ['http://w.test/hang'] },
        deadline: 0,
      },
      messageId: '',
      kept: true,
    },
  );
  const journal = await harness.journalWhen('early', ({ keptEvents }) => keptEvents !== undefined);
  assert.deepEqual(
    journal.keptEvents?.map(({ eventId }) => eventId),
    [EVENT_ID],
  );
  await harness.call('DELETE', '/v2/workflows/runs/early');
  const late = await notify(`early/${EVENT}`);
  assert.deepEqual([late.status, late.headers['svc-error-code']], [409, 'run-not-active']);
});

test('rejects events at the limit of stored events', async () => {
  const notify = async () => ({ kind: 'too-many-kept' as const });
  const { instanceOfWebhook, callWebhook } = harness.runtime.events;
  const events = { notify, instanceOfWebhook, callWebhook };
  const full = await ApiHarness.open({ service: { ...harness.runtime, events } });
  const response = await full.call('POST', '/v2/notify/r/e');
  assert.deepEqual([response.status, response.headers['svc-error-code']], [409, 'too-many-events']);
  assert.match(response.body.error, /run "r" has reached the limit of stored events \(1000 events, or 33554432 bytes in total\)/);
  await full.close();
});

test('does not notify or list runs of other instances', async () => {
  await waiting('mine');
  const stranger = await harness.authority.issueToken({ instanceId: 'qi_2', access: 'read-write' });
  const headers = { authorization: `Bearer ${stranger}` };
  assert.deepEqual((await harness.call('GET', `/v2/waiters/${EVENT}`, { headers })).body, []);
  assert.deepEqual((await notify(EVENT, '', headers)).body, []);
  assert.equal((await notify(`mine/${EVENT}`, '', headers)).status, 404);
  assert.equal((await notify(EVENT)).body.length, 1);
});

test('anyone can call a webhook with any method, and the run receives the request', async () => {
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    const id = `hook-${method}`;
    const journal = await waiting(id, 'hook');
    const { webhookUrl } = JSON.parse(journal.steps[0]?.out ?? '{}');
    const { pathname } = new URL(webhookUrl);
    const payload = method === 'GET' ? {} : { payload: 'in' };
    const received = await harness.send({
      method,
      url: `${pathname}?a=1&a=%2C`,
      headers: { authorization: 'Basic of-the-caller', cookie: 'c=1', 'x-odd': 'é', connection: 'close, x-hop', 'x-hop': '1' },
      ...payload,
    });
    assert.deepEqual([received.status, received.body], [200, { status: 'taken' }]);
    const result = await resultOf(id);
    assert.ok(typeof result === 'object' && result !== null && 'content' in result);
    const content: unknown = result.content;
    assert.ok(typeof content === 'object' && content !== null && 'headers' in content);
    const { headers, ...request } = { ...content };
    assert.deepEqual(request, {
      kind: 'request',
      method,
      query: '?a=1&a=%2C',
      body: { encoding: 'utf8', data: method === 'GET' ? '' : 'in' },
    });
    const kept = new Map(Object.entries(headers ?? {}));
    assert.deepEqual([kept.get('authorization'), kept.get('cookie')], [['Basic of-the-caller'], ['c=1']]);
    assert.deepEqual([kept.has('connection'), kept.has('x-hop')], [false, false]);
    assert.equal((await harness.send({ method, url: pathname })).status, 404, 'the run has ended');
  }
  assert.ok(!JSON.stringify(harness.logged).includes('of-the-caller'));
});

test('a webhook at the limit of stored calls returns 409, and HEAD is not a call', async (t) => {
  const instanceOfWebhook = async () => 'queue';
  const callWebhook = async () => 'too-many-kept' as const;
  const { notify } = harness.runtime.events;
  const events = { notify, instanceOfWebhook, callWebhook };
  const full = await ApiHarness.open({ service: { ...harness.runtime, events } });
  t.after(() => full.close());
  const response = await full.send({ method: 'POST', url: '/v2/webhooks/whk_1.k' });
  assert.deepEqual([response.status, response.headers['svc-error-code']], [409, 'too-many-events']);
  assert.equal((await full.api.inject({ method: 'HEAD', url: '/v2/webhooks/whk_1.k' })).statusCode, 405);
  const long = await full.send({ method: 'PUT', url: '/v2/webhooks/whk_1.k', payload: Buffer.alloc(LIMITS.maxEventBytes + 1) });
  assert.deepEqual([long.status, long.headers['svc-error-code']], [413, 'body-too-large']);
  assert.match(long.body.error, /must not be larger than 1048576 bytes/);
});
