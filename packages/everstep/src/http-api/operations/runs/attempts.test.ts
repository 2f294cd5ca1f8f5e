import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { RunAttempt, RunAttempts } from '../../../contract/attempts.js';
import { ApiHarness } from '../../testing/api-harness.js';

let harness: ApiHarness;
before(async () => {
  harness = await ApiHarness.open();
});
after(() => harness.close());

const ended = { 'svc-wait-for-result': 'true' };
const page = async (id: string, query = '') =>
  (await harness.call<RunAttempts>('GET', `/v2/workflows/runs/${id}/attempts?${query}`)).body;
const attemptsOf = async (id: string) => (await page(id)).attempts;
/** Waits until the run has that many attempts, in turns of the event loop instead of time. */
async function attemptsWhen(id: string, count: number): Promise<readonly RunAttempt[]> {
  for (let turn = 0; ; turn++) {
    const attempts = await attemptsOf(id);
    if (attempts.length >= count) return attempts;
    assert.ok(turn < 1_000, `there were no ${count} attempts: ${JSON.stringify(attempts)}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
const inShort = ({ kind, stepId, outcome, retried, response }: RunAttempt) =>
  `${kind} ${stepId} ${outcome} after ${retried}: ${response?.status ?? 'no status'}`;

test('a failed attempt shows its times, its request without secrets, and its response', async () => {
  const headers = { 'svc-workflow-runid': 'broken', 'svc-retries': '0', 'svc-forward-x-order': '17', ...ended };
  await harness.trigger('fail', headers);
  const [attempt, ...others] = await attemptsOf('broken');
  assert.deepEqual(others, []);
  const { at, messageId, ...shown } = attempt ?? assert.fail();
  assert.ok(at > 0 && messageId.startsWith('msg_'));
  assert.deepEqual(shown, {
    kind: 'workflow',
    stepId: null,
    stepName: null,
    retried: 0,
    startedAt: Date.UTC(2026, 0),
    durationMs: 5,
    outcome: 'failed',
    cause: 'http',
    message: 'the endpoint returned 500',
    request: {
      method: 'POST',
      url: 'http://w.test/fail',
      headers: { Authorization: ['[NOT KEPT]'], 'X-Order': ['17'] },
      bodyBytes: 17,
      body: '{"input":"","recorded":[]}',
      bodyEncoding: 'utf8',
      rebuilt: true,
    },
    response: {
      status: 500,
      headers: { 'X-Reason': ['stock'], 'Set-Cookie': ['[NOT KEPT]'] },
      body: 'out of stock',
      bodyEncoding: 'utf8',
      bodyBytes: 12,
    },
    retryAt: null,
  });
});

test('successful attempts are those of the journal, with their results', async () => {
  await harness.trigger('steps', { 'svc-workflow-runid': 'good', ...ended });
  const attempts = await attemptsOf('good');
  assert.deepEqual(
    attempts.map(({ kind, stepName, outcome, response }) => [kind, stepName, outcome, response?.body, response?.status]),
    [
      ['step', 'step 1', 'succeeded', '1', null],
      ['step', 'step 2', 'succeeded', '2', null],
    ],
  );
  assert.ok(attempts.every(({ cause }) => cause === null));
  for (const { startedAt, durationMs, at } of attempts) assert.equal(at - (durationMs ?? 0), startedAt);
  assert.deepEqual(
    attempts.map(({ request }) => [request?.method, request?.bodyBytes, request?.rebuilt, request?.body]),
    [
      ['POST', null, true, '{"input":"","recorded":[]}'],
      ['POST', null, true, '{"input":"","recorded":[{"stepId":1,"name":"step 1","result":1}]}'],
    ],
  );
});

test('the attempts of a call show its own request, whether or not it succeeds', async () => {
  await harness.trigger('call', { 'svc-workflow-runid': 'called', ...ended });
  const [paid] = await attemptsOf('called');
  assert.deepEqual([paid && inShort(paid), paid?.stepName], ['call 1 succeeded after 0: 200', 'pay']);
  assert.match(paid?.response?.body ?? '', /"paid":true/);
  await harness.trigger('refused-call', { 'svc-workflow-runid': 'refused', ...ended });
  const refused = await attemptsOf('refused');
  assert.deepEqual(refused.map(inShort), ['call 1 failed after 0: 500', 'call 1 failed after 1: 500']);
  assert.deepEqual([refused[0]?.request?.url, refused[0]?.request?.method], ['http://c.test/refuse', 'PUT']);
  assert.deepEqual([refused[0]?.request?.body, refused[0]?.request?.rebuilt], ['{"iban":"secret-of-a-call"}', false]);
  const { method, url, body, bodyBytes } = paid?.request ?? {};
  assert.deepEqual(
    { method, url, body, bodyBytes },
    {
      ...{ method: 'PUT', url: 'http://c.test/pay' },
      ...{ body: '{"iban":"secret-of-a-call"}', bodyBytes: 17 },
    },
  );
  assert.deepEqual([typeof paid?.startedAt, typeof paid?.durationMs], ['number', 'number']);
  assert.deepEqual([refused[0]?.stepName, refused[0]?.retryAt !== null, refused[1]?.retryAt], ['pay', true, null]);
});

test('a call that succeeds after failed attempts shows the request of all attempts', async () => {
  await harness.trigger('late-call', { 'svc-workflow-runid': 'late', ...ended });
  const late = await attemptsOf('late');
  assert.deepEqual(late.map(inShort), ['call 1 failed after 0: 500', 'call 1 succeeded after 1: 200']);
  assert.deepEqual(late[1]?.request, late[0]?.request);
  assert.equal(late[1]?.request?.body, '{"iban":"secret-of-a-call"}');
  assert.equal(late[1]?.startedAt, (late[1]?.at ?? 0) - (late[1]?.durationMs ?? 0));
});

test('shows attempts of failure callbacks and of plain messages', async () => {
  const callback = { 'svc-failure-callback': 'http://cb.test/refuse', 'svc-retries': '0' };
  await harness.trigger('fail', { 'svc-workflow-runid': 'with-callback', ...callback, ...ended });
  const attempts = await attemptsWhen('with-callback', 2);
  assert.deepEqual(attempts.map(inShort), ['workflow null failed after 0: 500', 'callback null failed after 0: 500']);
  assert.equal(attempts[1]?.request?.url, 'http://cb.test/refuse');

  const publish = (path: string) =>
    harness.call<{ messageId: string }>('POST', `/v2/publish/http://w.test/${path}`, {
      headers: { 'upstash-retries': '0' },
      body: '{}',
    });
  for (const [path, expected] of [
    ['refuse', 'message null failed after 0: 500'],
    ['ok', 'message null succeeded after 0: no status'],
  ] as const) {
    const { messageId } = (await publish(path)).body;
    assert.deepEqual((await attemptsWhen(messageId, 1)).map(inShort), [expected]);
  }
});

test('redacted values appear in no attempt', async () => {
  const redact = { 'svc-redact-fields': 'iban, header[x-key], header[x-answer], header[x-reason]', 'svc-retries': '0' };
  const forward = { 'svc-forward-x-key': 'secret-of-a-header' };
  for (const endpoint of ['fail', 'call', 'refused-call', 'late-call']) {
    await harness.trigger(endpoint, { 'svc-workflow-runid': `r-${endpoint}`, ...redact, ...forward, ...ended });
    const text = JSON.stringify(await attemptsOf(`r-${endpoint}`));
    assert.ok(!text.includes('secret') && !text.includes('out of stock') && text.includes('[REDACTED]'), text);
  }
  await harness.trigger('steps', { 'svc-workflow-runid': 'r-body', 'svc-redact-fields': 'body', ...ended });
  assert.deepEqual(
    (await attemptsOf('r-body')).map(({ response }) => response?.body),
    ['"[REDACTED]"', '"[REDACTED]"'],
  );
});

test('a reconstructed request contains the start of a long input and a long journal', async () => {
  const body = JSON.stringify({ text: 'é'.repeat(10_000) });
  await harness.call('POST', '/v2/trigger/http://w.test/steps', { headers: { 'svc-workflow-runid': 'long', ...ended }, body });
  const { request } = (await attemptsOf('long')).at(-1) ?? assert.fail();
  const rebuilt: { readonly input: unknown; readonly recorded: readonly unknown[] } = JSON.parse(request?.body ?? '');
  assert.match(String(rebuilt.input), /^\{"text":"é+$/);
  assert.ok(Buffer.byteLength(request?.body ?? '') < 4_500 && rebuilt.recorded.length === 1);
});

test('lists attempts in pages, and of one step', async () => {
  await harness.trigger('steps', { 'svc-workflow-runid': 'paged', ...ended });
  const first = await page('paged', 'count=1');
  assert.deepEqual([first.attempts.length, typeof first.cursor], [1, 'string']);
  const second = await page('paged', `count=1&cursor=${first.cursor}`);
  assert.deepEqual([second.attempts[0]?.stepId, second.cursor], [2, undefined]);
  assert.deepEqual((await page('paged', 'stepId=2')).attempts.length, 1);
  const ofMessage = await page('paged', `messageId=${second.attempts[0]?.messageId}`);
  assert.deepEqual(ofMessage.attempts, second.attempts);
  const other = await harness.call('GET', `/v2/workflows/runs/good/attempts?count=1&cursor=${first.cursor}`);
  assert.deepEqual([other.status, other.headers['svc-error-code']], [400, 'bad-cursor']);
});

test('the creation time selects one of several runs with the same id; unknown runs are 404', async () => {
  const { workflowCreatedAt } = await harness.trigger('fail', { 'svc-workflow-runid': 'twice', 'svc-retries': '0', ...ended });
  await harness.trigger('steps', { 'svc-workflow-runid': 'twice', ...ended });
  assert.equal((await page('twice', `createdAt=${workflowCreatedAt}`)).attempts[0]?.outcome, 'failed');
  assert.equal((await attemptsOf('twice')).at(-1)?.outcome, 'succeeded');
  const statusOf = async (path: string) => (await harness.call('GET', `/v2/workflows/runs/${path}`)).status;
  assert.equal(await statusOf('none/attempts'), 404);
  assert.equal(await statusOf('msg_none/attempts'), 404);
  assert.equal(await statusOf('twice/attempts?createdAt=1'), 404);
  assert.equal(await statusOf('twice/attempts?workflowCreatedAt=1'), 400);
});
