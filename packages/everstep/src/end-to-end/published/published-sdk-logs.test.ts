/** What `client.logs()` of `@upstash/workflow` returns for steps that the server executes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@upstash/workflow';
import { createWorkflow, serveMany } from '@upstash/workflow/hono';
import { Hono } from 'hono';
import { createLatch, thirdParty } from '../guides/example-servers.fixture.js';
import { endOf, eventually, resultOf, serveApp, startService } from './published-sdk.fixture.js';

const service = await startService();
const client = new Client({ baseUrl: process.env.QSTASH_URL ?? '', token: process.env.QSTASH_TOKEN ?? '' });

type Shown = Readonly<Record<string, unknown>>;
const shown = (value: object): Shown => Object.fromEntries(Object.entries(value));

async function logOf(workflowRunId: string) {
  const [run] = (await client.logs({ filter: { workflowRunId } })).runs;
  assert.ok(run);
  return { ...run, stepsOf: (at: number): readonly Shown[] => (run.steps[at]?.steps ?? []).map(shown) };
}

const child = createWorkflow(async (context) => {
  const payload = context.requestPayload as { fail?: boolean };
  if (payload.fail) throw new Error('not this time');
  return context.run('child', () => 'of the child');
});
const parent = createWorkflow(async (context) => {
  const { callUrl, invokes } = context.requestPayload as { callUrl: string; invokes: { fail?: boolean } };
  const [response] = await Promise.all([
    context.call<{ paid: boolean }>('pay', { url: callUrl, method: 'PUT', body: '{"cents":12}', headers: { 'x-key': 'k1' } }),
    context.sleep('nap', 0.1),
    context.run('note', () => 'noted'),
  ]);
  const { body, isFailed } = await context.invoke('order', { workflow: child, body: invokes, retries: 0 });
  return { status: response.status, body, isFailed };
});

test('logs show calls, sleeps and invocations with their results', async (t) => {
  const bank = await thirdParty(t, () => ({ status: 402, body: { text: 'grüße' } }));
  const app = new Hono();
  app.post('/*', serveMany({ parent, child }));
  const server = await serveApp(t, (request) => app.fetch(request));
  const { workflowRunId } = await client.trigger({ url: `${server.origin}/parent`, body: { callUrl: bank.url, invokes: {} } });
  assert.deepEqual(await resultOf(service, workflowRunId), { status: 402, body: 'of the child', isFailed: false });
  const run = await logOf(workflowRunId);
  assert.deepEqual(
    run.steps.map(({ type, steps }) => [type, steps.length]),
    [
      ['sequential', 1],
      ['parallel', 3],
      ['sequential', 1],
    ],
  );
  const [pay, nap, note] = run.stepsOf(1);
  assert.deepEqual([pay?.stepType, pay?.state, pay?.concurrent], ['Call', 'STEP_SUCCESS', 3]);
  assert.equal(pay?.callResponseStatus, 402);
  assert.equal(pay.callResponseBody, '{"text":"grüße"}');
  assert.deepEqual((pay.callResponseHeaders as Shown)['Content-Type'], ['application/json']);
  const { status, header } = JSON.parse(String(pay.out));
  assert.deepEqual([status, header['Content-Type']], [402, ['application/json']]);
  assert.deepEqual([nap?.stepType, nap?.sleepFor, nap?.out], ['SleepFor', 100, undefined]);
  assert.deepEqual([note?.stepType, note?.out], ['Run', '"noted"']);
  const [invoked] = run.stepsOf(2);
  assert.equal(invoked?.stepType, 'Invoke');
  assert.equal(invoked.invokedWorkflowUrl, `${server.origin}/child`);
  assert.equal(invoked.invokedWorkflowRunBody, '{}');
  assert.equal(invoked.out, '"of the child"');
  const ofChild = await logOf(String(invoked.invokedWorkflowRunId));
  assert.equal(ofChild.workflowRunCreatedAt, invoked.invokedWorkflowCreatedAt);
  assert.deepEqual(ofChild.invoker, {
    workflowRunId,
    workflowUrl: `${server.origin}/parent`,
    workflowRunCreatedAt: run.workflowRunCreatedAt,
  });
});

test('logs show open steps: a call without a response, and an invoked run that failed', async (t) => {
  let respond = (): void => {};
  const held = new Promise<void>((resolve) => {
    respond = resolve;
  });
  const app = new Hono();
  app.post('/*', serveMany({ parent, child }));
  app.put('/slow', async (context) => {
    await held;
    return context.json({ paid: true });
  });
  const server = await serveApp(t, (request) => app.fetch(request));
  const body = { callUrl: `${server.origin}/slow`, invokes: { fail: true } };
  const { workflowRunId } = await client.trigger({ url: `${server.origin}/parent`, body, retries: 1 });
  const open = await eventually(async () => {
    const run = await logOf(workflowRunId);
    return run.stepsOf(1).find(({ callUrl }) => callUrl !== undefined);
  });
  assert.equal(open.callUrl, body.callUrl);
  assert.equal(open.callMethod, 'PUT');
  assert.equal(open.callBody, '{"cents":12}');
  assert.deepEqual((open.callHeaders as Shown)['X-Key'], ['k1']);
  assert.equal(open.state, 'STEP_PROGRESS');
  respond();
  const { body: words, ...result } = (await resultOf(service, workflowRunId)) as Shown;
  assert.deepEqual(result, { status: 200, isFailed: true });
  assert.match(String(words), /not this time/);
  const failed = (await logOf(workflowRunId)).stepsOf(2)[0];
  const ofChild = await logOf(String(failed?.invokedWorkflowRunId));
  assert.equal(ofChild.workflowState, 'RUN_FAILED');
  assert.equal(ofChild.steps.at(-1)?.type, 'next');
});

test('logs show failed attempts before the last one', async (t) => {
  const app = new Hono();
  let attempts = 0;
  const flaky = createWorkflow(async (context) =>
    context.run('flaky', () => {
      attempts++;
      if (attempts < 3) throw new Error(`attempt ${attempts}`);
      return 'at last';
    }),
  );
  app.post('/*', serveMany({ flaky }));
  const server = await serveApp(t, (request) => app.fetch(request));
  const { workflowRunId } = await client.trigger({ url: `${server.origin}/flaky`, retries: 5, retryDelay: '300' });
  const next = await eventually(async () => {
    const last = (await logOf(workflowRunId)).steps.at(-1);
    return last?.type === 'next' && last.steps[0]?.state === 'STEP_RETRY' && last.steps[0];
  });
  assert.match(next.errors?.[0]?.error ?? '', /attempt 1/);
  assert.equal(next.errors?.[0]?.status, 500);
  assert.equal(next.retries, 5);
  assert.equal(next.retryDelay, '300');
  await endOf(service, workflowRunId);
  const done = (await logOf(workflowRunId)).stepsOf(1)[0];
  assert.equal(done?.out, '"at last"');
  assert.equal((done.errors as unknown[]).length, 2);
});

test('the invoke step of a failed run shows the progress and end of the invoked run', async (t) => {
  const started = createLatch();
  const held = createLatch();
  const slow = createWorkflow(async (context) => {
    await context.run('wait', () => {
      started.open();
      return held.opened;
    });
    return 'of the child';
  });
  const both = createWorkflow(async (context) => {
    await Promise.all([
      context.invoke('child', { workflow: slow, body: null }),
      context.run('fail', async () => {
        await started.opened;
        throw new Error('no');
      }),
    ]);
  });
  const app = new Hono();
  app.post('/*', serveMany({ both, slow }));
  const server = await serveApp(t, (request) => app.fetch(request));
  const { workflowRunId } = await client.trigger({ url: `${server.origin}/both`, retries: 0 });
  assert.equal((await endOf(service, workflowRunId)).workflowState, 'RUN_FAILED');
  const statesOf = async () => {
    const steps = (await logOf(workflowRunId)).stepsOf(1);
    return steps.map(({ stepName, state, out }) => [stepName, state, out]);
  };
  const open = await eventually(async () => {
    const states = await statesOf();
    return states.length === 2 && states;
  });
  assert.deepEqual(open[0], ['child', 'STEP_PROGRESS', undefined]);
  assert.equal(open[1]?.[1], 'STEP_FAILED');
  held.open();
  const childId = String((await logOf(workflowRunId)).stepsOf(1)[0]?.invokedWorkflowRunId);
  await endOf(service, childId);
  assert.deepEqual((await statesOf())[0], ['child', 'STEP_SUCCESS', '"of the child"']);
});
