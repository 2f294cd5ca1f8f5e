/** Errors of `@upstash/workflow` with EVERSTEP_TOKEN instead of QSTASH_TOKEN. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@upstash/workflow';
import { serve } from '@upstash/workflow/hono';
import { Hono } from 'hono';
import { endOf, eventually, serveApp, startService } from './published-sdk.fixture.js';

const service = await startService();
const baseUrl = process.env.QSTASH_URL ?? '';
const bareToken = service.env.get('EVERSTEP_TOKEN') ?? '';
const client = new Client({ baseUrl, token: process.env.QSTASH_TOKEN ?? '' });

test('a client that starts a run is refused with the name of the correct variable', async () => {
  const wrong = new Client({ baseUrl, token: bareToken });
  await assert.rejects(wrong.trigger({ url: 'http://127.0.0.1:9/' }), { status: 401, message: /requires QSTASH_TOKEN/ });
  const { runs } = await client.logs();
  assert.deepEqual(runs, [], 'no run was started');
});

test('an endpoint is refused at its first step, and the run fails with the name of the correct variable', async (t) => {
  const app = new Hono();
  const env = { QSTASH_URL: baseUrl, QSTASH_TOKEN: bareToken };
  app.post(
    '/steps',
    serve(async (context) => context.run('first', () => 1), { env }),
  );
  app.post(
    '/waits',
    serve(async (context) => context.waitForEvent('first', 'event', { timeout: '1h' }), { env }),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  for (const path of ['steps', 'waits']) {
    const { workflowRunId } = await client.trigger({ url: `${server.origin}/${path}`, retries: 0 });
    const { workflowState, error } = await endOf(service, workflowRunId);
    assert.equal(workflowState, 'RUN_FAILED', path);
    assert.match(String(error), /requires QSTASH_TOKEN/, path);
  }
});

test('requests that only a parameter identifies as requests of the SDK are recognized: the end of a run, and a cancellation', async (t) => {
  const app = new Hono();
  app.post(
    '/sleeps',
    serve(async (context) => context.sleep('long', '1h')),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const start = async () => (await client.trigger({ url: `${server.origin}/sleeps` })).workflowRunId;
  const [ended, canceled, other] = [await start(), await start(), await start()];
  // Before the sleep is recorded, the code could still end.
  await eventually(async () => {
    const [run] = (await client.logs({ filter: { workflowRunId: ended } })).runs;
    return run?.steps.some(({ steps }) => steps.some((step) => 'sleepFor' in step));
  });
  const answered = await fetch(`${baseUrl}/v2/workflows/runs/${ended}?cancel=false`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${bareToken}` },
    body: '"done"',
  });
  // The request is recognized, but the code of the run cannot have ended. The API of our SDK does not know the parameter.
  assert.equal(answered.status, 412);
  assert.match(((await answered.json()) as { readonly error: string }).error, /its code cannot have ended/);
  assert.deepEqual(await new Client({ baseUrl, token: bareToken }).cancel({ ids: [canceled, other] }), { cancelled: 2 });
});
