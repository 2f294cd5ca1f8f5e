/** Runs the examples of docs/guides, and compares the pages with the examples. */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import * as calls from '@everstep/example-guides/calls';
import * as cancel from '@everstep/example-guides/cancel';
import * as checkpoints from '@everstep/example-guides/checkpoints';
import * as delay from '@everstep/example-guides/delay';
import * as encryption from '@everstep/example-guides/encryption';
import * as events from '@everstep/example-guides/events';
import * as failureFunctions from '@everstep/example-guides/failure-functions';
import * as failures from '@everstep/example-guides/failures';
import * as hooks from '@everstep/example-guides/hooks';
import * as invoke from '@everstep/example-guides/invoke';
import * as webhooks from '@everstep/example-guides/webhooks';
import * as workers from '@everstep/example-guides/workers';
import { Client, NonRetryableError } from '@everstep/sdk';
import { payloadEncryption } from '@everstep/sdk/encryption';
import { type StartedTestService, startTestService } from '@everstep/sdk/testing';
import { serveOne, thirdParty } from './example-servers.fixture.js';

const ROOT = new URL('../../../../../', import.meta.url);
const GUIDES = new URL('docs/guides/', ROOT);
const EXAMPLES = new URL('examples/guides/', ROOT);

let service: StartedTestService;
before(async () => {
  service = await startTestService();
});
after(() => service?.stop());

test('every example is on its page unchanged, and every page is in the index', async () => {
  const examples = (await readdir(EXAMPLES)).filter((file) => file.endsWith('.ts')).map((file) => file.slice(0, -'.ts'.length));
  assert.ok(examples.length > 10);
  for (const name of examples) {
    const code = await readFile(new URL(`${name}.ts`, EXAMPLES), 'utf8');
    const page = await readFile(new URL(`${name}.md`, GUIDES), 'utf8');
    assert.ok(page.includes(`\`\`\`ts\n${code}\`\`\``), `docs/guides/${name}.md must show examples/guides/${name}.ts unchanged`);
  }
  const index = await readFile(new URL('docs/README.md', ROOT), 'utf8');
  for (const page of await readdir(GUIDES))
    assert.ok(index.includes(`(guides/${page})`), `docs/README.md has no link to ${page}`);
});

for (const [document, page] of [
  ['openapi.json', 'api.md'],
  ['openapi-management.json', 'management-api.md'],
] as const) {
  test(`every operation of ${document} is listed in ${page}`, async () => {
    const overview = await readFile(new URL(page, GUIDES), 'utf8');
    const response = await fetch(`${service.url}/${document}`);
    const { paths } = (await response.json()) as { paths: Record<string, Record<string, unknown>> };
    const methods = ['get', 'post', 'put', 'patch', 'delete'];
    const operations = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).flatMap((method) => (methods.includes(method) ? [`${method.toUpperCase()} ${path}`] : [])),
    );
    assert.ok(operations.length > 15);
    assert.deepEqual(
      operations.filter((operation) => !overview.includes(`\`${operation}\``)),
      [],
    );
  });
}

test('events: an event for a run that does not wait yet is kept for it', async (t) => {
  const packing = await service.triggerAndSettle(await serveOne(t, events.packing));
  const body = { orderId: '7', packingRunId: packing.workflowRunId };
  const order = await service.triggerAndSettle(await serveOne(t, events.order), { body });
  assert.equal(await events.approve(service.client, '8', 'me'), false, 'no run waits for order 8');
  assert.equal(await events.approve(service.client, '7', 'me'), true);
  await service.settle();
  assert.equal(await service.resultOf(order.workflowRunId), 'approved by me');
  assert.equal(await service.stateOf(packing.workflowRunId), 'RUN_STARTED');
  await service.advance('1h');
  assert.equal(await service.resultOf(packing.workflowRunId), 'packed 7');
});

test('events: a wait times out without an event', async (t) => {
  const body = { orderId: '9', packingRunId: 'none' };
  const { workflowRunId } = await service.triggerAndSettle(await serveOne(t, events.order), { body });
  const waiters = await service.client.waiters('order/9/approved');
  assert.equal(waiters.length, 1);
  await service.advance('2d');
  assert.equal(await service.resultOf(workflowRunId), 'no decision');
  assert.equal(await events.approve(service.client, '9', 'me'), false);
});

test('encryption: the app sees plain values, and everyone else sees encrypted ones', async (t) => {
  const keys = payloadEncryption({ keys: [Buffer.alloc(32, 7).toString('base64')] });
  const client = new Client({ baseUrl: service.url, token: service.token, encryption: keys });
  const url = await serveOne(t, encryption.admissionWith(keys));
  const { workflowRunId } = await encryption.admit(client, url, { name: 'Ada', insurance: 'private' });
  await service.settle();
  const notified = await encryption.assignDoctor(client, workflowRunId, 'Grace');
  assert.equal(notified.length, 1);
  await service.settle();
  const end = await client.runs.result(workflowRunId);
  assert.partialDeepStrictEqual(end, { result: { bed: 'private ward, bed of Ada', doctor: 'Grace' } });
  const seen = await Promise.all([service.client.runs.get(workflowRunId), service.client.runs.attempts(workflowRunId)]);
  assert.doesNotMatch(JSON.stringify(seen), /Ada|Grace|ward/);
});

test('hooks: runs and steps are logged, and an error that ends a run is reported once with its cause', async (t) => {
  const lines: string[] = [];
  const reported: unknown[] = [];
  const write = (_fields: object, message: string) => lines.push(message);
  const captureException: hooks.ErrorReporter['captureException'] = (error, { tags }) => reported.push([error, tags]);
  const workflowUrl = await serveOne(t, hooks.paymentWith({ captureException }, { info: write, error: write }));
  await service.triggerAndSettle(workflowUrl, { body: { card: 'valid' } });
  assert.deepEqual([lines.splice(0), reported], [['run started', 'step finished', 'run finished'], []]);
  const { workflowRunId: runId } = await service.triggerAndSettle(workflowUrl, { body: { card: 'expired' } });
  assert.deepEqual(lines, ['run started', 'step failed']);
  const cause = new Error('the bank responded with 402');
  assert.deepEqual(reported, [
    [new NonRetryableError('the card has expired', { cause }), { runId, workflowUrl, step: 'charge' }],
  ]);
});

test('webhooks: the run continues when its URL is called', async (t) => {
  const bank = await thirdParty(t, () => ({ status: 202, body: {} }));
  const url = await serveOne(t, webhooks.transfer);
  const { workflowRunId } = await service.triggerAndSettle(url, { body: { bankUrl: bank.url, cents: 100 } });
  const [ordered] = bank.requests.map((request) => request.json() as { cents: number; callMeAt: string });
  const { cents, callMeAt } = ordered ?? { cents: 0, callMeAt: '' };
  assert.equal(cents, 100);
  const taken = await fetch(`${callMeAt}?state=done`, { method: 'PUT', body: 'transferred' });
  assert.deepEqual([taken.status, await taken.json()], [200, { status: 'taken' }]);
  await service.settle();
  assert.equal(await service.resultOf(workflowRunId), 'PUT ?state=done: transferred');
  assert.equal((await fetch(callMeAt, { method: 'POST' })).status, 404, 'the run has ended');
});

test('webhooks: a wait times out without a call', async (t) => {
  const bank = await thirdParty(t, () => ({ status: 202, body: {} }));
  const url = await serveOne(t, webhooks.transfer);
  const { workflowRunId } = await service.triggerAndSettle(url, { body: { bankUrl: bank.url, cents: 100 } });
  await service.advance('3d');
  assert.equal(await service.resultOf(workflowRunId), 'no callback from the bank');
});

test('checkpoints: cheap steps are recorded together, before the call after them', async (t) => {
  const bank = await thirdParty(t, () => ({ status: 200, body: {} }));
  const url = await serveOne(t, checkpoints.charge);
  const items = [1, 2, 3].map((count) => ({ cents: 100, count }));
  const { workflowRunId } = await service.triggerAndSettle(url, { body: { items, bankUrl: bank.url } });
  const id = await service.resultOf(workflowRunId);
  assert.deepEqual(
    bank.requests.map((request) => request.json()),
    [{ id, cents: 600 }],
  );
  const { steps } = await service.client.runs.get(workflowRunId);
  assert.deepEqual(
    steps.map(({ stepName }) => stepName),
    ['item 1', 'item 2', 'item 3', 'id', 'charge'],
  );
  assert.equal(new Set(steps.map(({ messageId }) => messageId)).size, 5);
});

test('calls: the server sends the request, and retries it after a delay', async (t) => {
  const api = await thirdParty(t, ({ count }) =>
    count === 1 ? { status: 500, body: {} } : { status: 200, body: { words: 12 } },
  );
  const url = await serveOne(t, calls.transcribe);
  const body = { recording: 'a.wav', apiUrl: api.url };
  const { workflowRunId } = await service.triggerAndSettle(url, { body });
  assert.equal(api.requests.length, 1);
  await service.advance('1s');
  assert.equal(await service.resultOf(workflowRunId), 12);
  for (const request of api.requests) {
    assert.equal(request.method, 'POST');
    assert.deepEqual(request.json(), { recording: 'a.wav' });
    assert.equal(request.headers['idempotency-key'], workflowRunId);
    assert.equal(request.headers['svc-signature'], undefined);
  }
  assert.equal(api.requests.length, 2);
});

test('calls: the last response is the result when no retries are left', async (t) => {
  const api = await thirdParty(t, () => ({ status: 404, body: {} }));
  const url = await serveOne(t, calls.transcribe);
  const body = { recording: 'a.wav', apiUrl: api.url };
  const { workflowRunId } = await service.triggerAndSettle(url, { body });
  await service.advance('1m');
  assert.equal(api.requests.length, 6);
  await assert.rejects(service.resultOf(workflowRunId), /no transcript: status 404/);
});

test('invoke: each invoice is a separate run, and a canceled one is reported', async (t) => {
  const invoiceUrl = await serveOne(t, invoke.invoice);
  const due = [
    { customer: 'a', cents: 5 },
    { customer: 'b', cents: 0 },
    { customer: 'c', cents: 7 },
  ];
  const { workflowRunId } = await service.triggerAndSettle(await serveOne(t, invoke.billing), { body: { invoiceUrl, due } });
  assert.deepEqual(await service.resultOf(workflowRunId), ['inv-a-5', 'canceled', 'inv-c-7']);
  const { runs } = await service.client.runs.list({ workflowUrl: invoiceUrl });
  assert.deepEqual(
    runs.map(({ workflowRunOrigin }) => workflowRunOrigin?.workflowRunId),
    [workflowRunId, workflowRunId, workflowRunId],
  );
});

test('failures: resumed payouts continue after their completed steps', async (t) => {
  const url = await serveOne(t, failures.payout);
  const pay = (cents: number) => service.triggerAndSettle(url, { body: { cents }, retries: 1, labels: ['payout'] });
  await pay(5);
  await pay(7);
  await service.advance('1m');
  const { messages } = await service.client.dlq.list({ label: 'payout' });
  assert.deepEqual(
    messages.map(({ error }) => /the bank is down/.test(error)),
    [true, true],
  );
  failures.bank.isUp = true;
  assert.equal(await failures.resumePayouts(service.client), 2);
  await service.settle();
  const { runs } = await service.client.runs.list({ workflowUrl: url, state: 'RUN_SUCCESS' });
  assert.deepEqual(runs.map(({ workflowRunResponse }) => workflowRunResponse).sort(), ['"transferred 5"', '"transferred 7"']);
  assert.equal(failures.bank.reserved, 12, 'completed steps did not run again');
  const wrong = await pay(0);
  assert.equal(await service.stateOf(wrong.workflowRunId), 'RUN_FAILED');
});

test('failure functions: a failed run calls the failure function of its endpoint', async (t) => {
  const url = await serveOne(t, failureFunctions.booking);
  const { workflowRunId } = await service.triggerAndSettle(url, { body: { seat: '12A' }, retries: 0 });
  const { messages } = await service.client.dlq.list({ workflowRunId });
  const [entry] = messages;
  assert.equal(entry?.failureFunctionState, 'CALLBACK_SUCCESS');
  assert.deepEqual(failureFunctions.released, [`12A (card declined; run ${workflowRunId}, dead letter ${entry?.dlqId})`]);
});

test('failure callbacks: the callback URL is called instead, with retries until it succeeds', async (t) => {
  const alarm = await thirdParty(t, ({ count }) => ({ status: count === 1 ? 500 : 200, body: {} }));
  const url = await serveOne(t, failureFunctions.booking);
  const failureCallback = { url: alarm.url, headers: { 'x-team': 'billing' } };
  const options = { body: { seat: '12B' }, retries: 1, retryDelay: '1000', failureCallback };
  const { workflowRunId } = await service.triggerAndSettle(url, options);
  await service.advance('1s');
  const stateOf = async () => (await service.client.dlq.list({ workflowRunId })).messages[0]?.failureFunctionState;
  assert.equal(await stateOf(), 'CALLBACK_INPROGRESS');
  await service.advance('1s');
  assert.equal(await stateOf(), 'CALLBACK_SUCCESS');
  const [first, second] = alarm.requests;
  assert.equal(alarm.requests.length, 2);
  assert.equal(first?.headers['x-team'], 'billing');
  assert.ok(first?.headers['svc-signature']);
  const notice = second?.json() as { workflowRunId: string; sourceBody: string; retried: number } | undefined;
  assert.equal(notice?.workflowRunId, workflowRunId);
  assert.equal(notice?.retried, 1);
  assert.equal(Buffer.from(notice?.sourceBody ?? '', 'base64').toString(), '{"seat":"12B"}');
  assert.equal(failureFunctions.released.length, 1, 'the failure function was not called');
});

test('delay: a run starts after a delay or at a given time', async (t) => {
  const url = await serveOne(t, delay.reminder);
  const { client } = service;
  const later = await delay.remindLater(client, url, 'me');
  const tomorrow = await delay.remindAt(client, url, 'you', new Date((await service.now()) + 24 * 3_600_000));
  await service.advance('59m');
  assert.equal(await service.stateOf(later.workflowRunId), 'RUN_STARTED');
  await service.advance('1m');
  assert.equal(await service.resultOf(later.workflowRunId), 'reminded me');
  assert.equal(await service.stateOf(tomorrow.workflowRunId), 'RUN_STARTED');
  await service.advance('24h');
  assert.equal(await service.resultOf(tomorrow.workflowRunId), 'reminded you');
});

test('cancel: by id, by label, and from inside the workflow', async (t) => {
  const url = await serveOne(t, cancel.trial);
  const { client } = service;
  const trial = (active: boolean, label: string) =>
    service.triggerAndSettle(url, { body: { active }, labels: [label] }).then(({ workflowRunId }) => workflowRunId);
  const [one, two, three, other, inactive] = [
    await trial(true, 'acme'),
    await trial(true, 'acme'),
    await trial(true, 'acme'),
    await trial(true, 'other'),
    await trial(false, 'acme'),
  ];
  assert.equal(await service.stateOf(inactive), 'RUN_CANCELED');
  await cancel.cancelTrial(client, one);
  assert.equal(await cancel.cancelTrialsOf(client, 'acme'), 2);
  for (const runId of [one, two, three]) assert.equal(await service.stateOf(runId), 'RUN_CANCELED');
  await service.advance('30d');
  assert.equal(await service.resultOf(other), 'trial ended');
  assert.deepEqual((await client.dlq.list({ workflowUrl: url })).messages, []);
});

test('workers: a connected app runs its workflows; without it, runs wait', async () => {
  const body = { sku: 'A1', customer: 'ada' };
  const { workflowRunId: waiting } = await service.triggerAndSettle('worker://shop/pack', { body });
  assert.equal(await service.stateOf(waiting), 'RUN_STARTED');
  const explained = await service.client.runs.explain(waiting);
  assert.match(explained.summary, /No worker for app shop that serves worker:\/\/shop\/pack has been connected since/);
  const worker = workers.start(service.url, service.token);
  try {
    await worker.connected;
    await service.settle();
    assert.equal(await service.resultOf(waiting), 'packed A1 for ada');
    const { workflowRunId } = await service.triggerAndSettle(worker.urls.refund, { body });
    assert.equal(await service.resultOf(workflowRunId), 'refunded ada');
  } finally {
    await worker.close();
  }
});
