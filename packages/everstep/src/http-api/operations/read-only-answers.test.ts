/** What a read-only token never learns, from whichever operation and in whichever dialect. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { UPSTASH_OPERATIONS } from '../../dialects/upstash/operations/index.js';
import { ApiWorld } from '../testing/api-world.js';
import { OPERATIONS } from './index.js';

const SECRET = 'hush-hush';
const FORWARDED = { 'svc-forward-authorization': `Bearer ${SECRET}`, 'svc-forward-x-order': 'order-1' };
const UPSTASH = { 'upstash-telemetry-sdk': 'test' };

let world: ApiWorld;
const ids: Record<string, string> = {};

before(async () => {
  world = await ApiWorld.open();
  const waiting = await world.trigger('hook', FORWARDED);
  const journal = await world.journalWhen(waiting.workflowRunId, ({ steps }) => steps.length > 0);
  const [made] = journal.steps;
  ids.workflowRunId = waiting.workflowRunId;
  ids.eventId = (JSON.parse(made?.out ?? '{}') as { readonly eventId: string }).eventId;
  const [dlqId] = await world.fail(1, FORWARDED);
  assert.ok(dlqId);
  ids.dlqId = dlqId;
  await world.call('POST', '/v2/schedules/http://w.test/ok', {
    headers: { ...FORWARDED, 'svc-cron': '0 0 1 1 *', 'svc-schedule-id': 'yearly' },
  });
  ids.scheduleId = 'yearly';
  const headers = { ...UPSTASH, 'upstash-forward-authorization': `Bearer ${SECRET}`, 'upstash-method': 'PUT' };
  const message = await world.call<{ readonly messageId: string }>('POST', '/v2/publish/http://w.test/hang', { headers });
  assert.equal(message.status, 200);
  ids.messageId = message.body.messageId;
});
after(() => world.close());

const reading = [...OPERATIONS, ...UPSTASH_OPERATIONS].filter(
  ({ access, method, streams, needsReadWrite }) => access === 'token' && method === 'GET' && !streams && !needsReadWrite,
);

async function answersTo(token: string): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  for (const { operationId, path, dialect } of reading) {
    const url = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ids[name] ?? 'none'));
    const timeout = url.endsWith('/result') ? '?timeout=0' : '';
    const headers = { authorization: `Bearer ${token}`, ...(dialect === 'upstash' ? UPSTASH : {}) };
    const { status, body } = await world.send<unknown>({ method: 'GET', url: `${url}${timeout}`, headers });
    if (status === 200) answers.set(operationId, JSON.stringify(body));
  }
  return answers;
}

test('no operation shows a read-only token a webhook or a forwarded secret', async () => {
  const [shown, full] = [await answersTo(world.readOnlyToken), await answersTo(world.token)];
  assert.ok(shown.size >= 15, String(shown.size));
  for (const [operationId, text] of shown) {
    assert.ok(!text.includes('whk_'), `${operationId} shows a webhook: ${text}`);
    assert.ok(!text.includes(SECRET), `${operationId} shows a secret: ${text}`);
  }
  const leaking = (what: string): string[] =>
    [...full].flatMap(([operationId, text]) => (text.includes(what) ? [operationId] : []));
  // With a read-write token they are there, so the test looks in the right places.
  assert.ok(leaking('whk_').length >= 3, leaking('whk_').join());
  assert.ok(leaking(SECRET).length >= 5, leaking(SECRET).join());
});

test('what is no secret is shown to a read-only token', async () => {
  const { body } = await world.send({
    method: 'GET',
    url: `/v2/workflows/runs/${ids.workflowRunId}`,
    headers: { authorization: `Bearer ${world.readOnlyToken}` },
  });
  assert.match(JSON.stringify(body), /"X-Order":\["order-1"\]/);
});
