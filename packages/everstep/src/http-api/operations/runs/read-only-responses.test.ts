/** Tests that no operation of any dialect shows secret data to a read-only token. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { decodeJwt } from 'jose';
import { hashOfToken } from '../../../accounts/tokens/named-token.js';
import type { RunResult } from '../../../contract/runs.js';
import type { TokenScope } from '../../../ports/stores/accounts/named-tokens.js';
import { ApiHarness } from '../../testing/api-harness.js';
import { UPSTASH_OPERATIONS } from '../../upstash/index.js';
import { OPERATIONS } from '../index.js';

const SECRET = 'hush-hush';
/** Text that appears in payloads, results and responses. */
const PAYLOAD = 'iban-of-a-customer';
const FORWARDED = { 'svc-forward-authorization': `Bearer ${SECRET}`, 'svc-forward-x-order': 'order-1' };
const UPSTASH = { 'upstash-telemetry-sdk': 'test' };

let harness: ApiHarness;
const ids: Record<string, string> = {};

before(async () => {
  harness = await ApiHarness.open();
  const waiting = await harness.trigger('hook', FORWARDED, PAYLOAD);
  const journal = await harness.journalWhen(waiting.workflowRunId, ({ steps }) => steps.length > 0);
  const [made] = journal.steps;
  ids.workflowRunId = waiting.workflowRunId;
  ids.eventId = (JSON.parse(made?.out ?? '{}') as { readonly eventId: string }).eventId;
  await harness.trigger('ok', { 'svc-wait-for-result': 'true' }, PAYLOAD);
  await harness.trigger('call', {}, PAYLOAD);
  const [dlqId] = await harness.fail(1, FORWARDED);
  assert.ok(dlqId);
  ids.dlqId = dlqId;
  await harness.call('POST', '/v2/schedules/http://w.test/ok', {
    headers: { ...FORWARDED, 'svc-cron': '0 0 1 1 *', 'svc-schedule-id': 'yearly' },
  });
  ids.scheduleId = 'yearly';
  const headers = { ...UPSTASH, 'upstash-forward-authorization': `Bearer ${SECRET}`, 'upstash-method': 'PUT' };
  const message = await harness.call<{ readonly messageId: string }>('POST', '/v2/publish/http://w.test/hang', {
    headers,
    body: PAYLOAD,
  });
  assert.equal(message.status, 200);
  ids.messageId = message.body.messageId;
});
after(() => harness.close());

let created = 0;

/** Returns a token with these scopes. */
async function tokenWith(...scopes: readonly TokenScope[]): Promise<string> {
  const { sub: instanceId = '' } = decodeJwt(harness.token);
  const tokenId = `${scopes.join()} ${++created}`;
  const token = `est_${tokenId.replace(' ', '_')}`;
  const record = { tokenId, instanceId, name: 'n', tokenHash: hashOfToken(token), scopes, createdBy: 'ann@w.test' };
  const times = { createdAt: 1, expiresAt: null, revokedAt: null, lastUsedAt: null, replacedBy: null };
  await harness.store.accounts.createNamedToken({ token: { ...record, ...times } });
  return token;
}

const reading = [...OPERATIONS, ...UPSTASH_OPERATIONS].filter(
  ({ access, method, streams, needsReadWrite }) => access === 'token' && method === 'GET' && !streams && !needsReadWrite,
);

async function responsesTo(token: string): Promise<Map<string, string>> {
  const responses = new Map<string, string>();
  for (const { operationId, path, dialect } of reading) {
    const url = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ids[name] ?? 'none'));
    const timeout = url.endsWith('/result') ? '?timeout=0' : '';
    const headers = { authorization: `Bearer ${token}`, ...(dialect === 'upstash' ? UPSTASH : {}) };
    const { status, body } = await harness.send<unknown>({ method: 'GET', url: `${url}${timeout}`, headers });
    if (status === 200) responses.set(operationId, JSON.stringify(body));
  }
  return responses;
}

test('no operation shows webhooks or forwarded secrets to a read-only token', async () => {
  const [shown, full] = [await responsesTo(harness.readOnlyToken), await responsesTo(harness.token)];
  assert.ok(shown.size >= 15, String(shown.size));
  for (const [operationId, text] of shown) {
    assert.ok(!text.includes('whk_'), `${operationId} shows a webhook: ${text}`);
    assert.ok(!text.includes(SECRET), `${operationId} shows a secret: ${text}`);
  }
  const leaking = (what: string): string[] =>
    [...full].flatMap(([operationId, text]) => (text.includes(what) ? [operationId] : []));
  // A read-write token sees them, which proves that the test looks in the right places.
  assert.ok(leaking('whk_').length >= 3, leaking('whk_').join());
  assert.ok(leaking(SECRET).length >= 5, leaking(SECRET).join());
});

test('shows data that is not secret to a read-only token', async () => {
  const { body } = await harness.send({
    method: 'GET',
    url: `/v2/workflows/runs/${ids.workflowRunId}`,
    headers: { authorization: `Bearer ${harness.readOnlyToken}` },
  });
  assert.match(JSON.stringify(body), /"X-Order":\["order-1"\]/);
});

test('no operation shows payloads, results or headers with the scope read-metadata', async () => {
  const [shown, full] = [await responsesTo(await tokenWith('read-metadata')), await responsesTo(harness.token)];
  assert.ok(shown.size >= 12, String(shown.size));
  for (const [operationId, text] of shown) {
    for (const hidden of ['whk_', SECRET, PAYLOAD, 'order-1', Buffer.from(PAYLOAD).toString('base64'), 'out of stock'])
      assert.ok(!text.includes(hidden), `${operationId} shows ${hidden}: ${text}`);
    assert.ok(full.has(operationId), operationId);
  }
  assert.ok([...full.values()].filter((text) => text.includes(PAYLOAD)).length >= 3);
});

test('admits a token only if one of its scopes permits the operation', async () => {
  const run = `/v2/workflows/runs/${ids.workflowRunId}`;
  const asked: readonly (readonly ['GET' | 'POST' | 'DELETE', string])[] = [
    ['POST', '/v2/trigger/http://w.test/ok'],
    ['POST', '/v2/notify/nobody-waits'],
    ['GET', run],
    ['GET', `${run}/result?timeout=0`],
    ['DELETE', '/v2/schedules/none'],
  ];
  const statusesOf = async (...scopes: readonly TokenScope[]): Promise<readonly number[]> => {
    const headers = { authorization: `Bearer ${await tokenWith(...scopes)}` };
    const statuses: number[] = [];
    for (const [method, url] of asked) statuses.push((await harness.send({ method, url, headers })).status);
    return statuses;
  };
  assert.deepEqual(await statusesOf('trigger'), [200, 403, 403, 403, 403]);
  assert.deepEqual(await statusesOf('notify'), [403, 200, 403, 403, 403]);
  assert.deepEqual(await statusesOf('read-metadata'), [403, 403, 200, 403, 403]);
  assert.deepEqual(await statusesOf('read'), [403, 403, 200, 202, 403]);
  assert.deepEqual(await statusesOf('trigger', 'notify', 'read'), [200, 200, 200, 202, 403]);
  assert.deepEqual(await statusesOf('write'), [200, 200, 200, 202, 404]);
  assert.deepEqual(await statusesOf('connect'), [403, 403, 403, 403, 403]);
});

test('a trigger returns the result of a run that already existed only to a token that may read', async () => {
  const start = (token: string, headers: Readonly<Record<string, string>>) =>
    harness.call<Partial<RunResult>>('POST', '/v2/trigger/http://w.test/ok', {
      headers: { ...headers, authorization: `Bearer ${token}`, 'svc-wait-for-result': '30s', 'svc-redact-fields': 'body' },
      body: PAYLOAD,
    });
  const [triggerToken, readingToken] = [await tokenWith('trigger'), await tokenWith('trigger', 'read')];
  const own = await start(triggerToken, {});
  assert.deepEqual([own.status, own.body.result], [200, { got: PAYLOAD }]);
  const existing = { 'svc-deduplication-id': 'of another caller' };
  const first = await start(harness.token, existing);
  const { workflowRunId, workflowCreatedAt } = first.body;
  const withoutResult = await start(triggerToken, existing);
  assert.deepEqual(
    [withoutResult.status, withoutResult.body],
    [202, { workflowRunId, workflowCreatedAt, deduplicated: true, workflowState: 'RUN_STARTED' }],
  );
  const redacted = await start(readingToken, existing);
  assert.deepEqual([redacted.status, redacted.body.deduplicated, redacted.body.result], [200, true, '[REDACTED]']);
  const whole = await start(harness.token, existing);
  assert.deepEqual([whole.status, whole.body.deduplicated, whole.body.result], [200, true, { got: PAYLOAD }]);
});

test('a trigger does not wait for a run that already existed if its token may not read', { timeout: 60_000 }, async () => {
  const headers = { 'svc-workflow-runid': 'hangs' };
  await harness.trigger('hang', headers);
  const { status, body } = await harness.call<RunResult>('POST', '/v2/trigger/http://w.test/hang', {
    headers: { ...headers, authorization: `Bearer ${await tokenWith('trigger')}`, 'svc-wait-for-result': '5m' },
  });
  assert.deepEqual([status, body.workflowRunId, body.deduplicated], [202, 'hangs', true]);
});

test('a token with the scope trigger cannot submit steps', async () => {
  const authorization = `Bearer ${await tokenWith('trigger', 'connect')}`;
  const item = (headers: Readonly<Record<string, string>>) => [
    { destination: 'http://w.test/ok', headers, body: '{"stepId":1,"stepName":"s","stepType":"Run","out":"1"}' },
  ];
  const send = (items: unknown) =>
    harness.send({
      method: 'POST',
      url: '/v2/batch',
      headers: { authorization, 'content-type': 'application/json', ...UPSTASH },
      payload: JSON.stringify(items),
    });
  assert.equal((await send(item({}))).status, 200);
  const step = {
    'Upstash-Workflow-RunId': ids.workflowRunId ?? '',
    'Upstash-Workflow-Init': 'false',
    'Upstash-Workflow-Sdk-Version': '1',
  };
  const submitted = await send(item(step));
  assert.deepEqual(
    [submitted.status, submitted.headers['upstash-error-code']],
    [403, 'missing-scope'],
    JSON.stringify(submitted.body),
  );
});
