/** What failure functions and failure URLs of the published SDK receive: labels, headers and the failed response. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client as MessageClient } from '@upstash/qstash';
import { Client, WorkflowNonRetryableError } from '@upstash/workflow';
import { serve } from '@upstash/workflow/hono';
import { Hono } from 'hono';
import { eventually, serveApp, startService } from './published-sdk.fixture.js';

await startService();
const client = new Client({ baseUrl: process.env.QSTASH_URL ?? '', token: process.env.QSTASH_TOKEN ?? '' });

interface ReceivedFailure {
  readonly labels: readonly string[];
  readonly headers: Headers;
  readonly failHeaders: Readonly<Record<string, unknown>>;
  readonly failResponse: string;
  readonly failStack: string;
}

/** Returns an app with a workflow that throws, and the calls of its failure function. */
function failingApp(error = () => new Error('no')) {
  const app = new Hono();
  const received: ReceivedFailure[] = [];
  app.post(
    '/fails',
    serve(
      async (context) => {
        await context.run('fail', () => {
          throw error();
        });
      },
      {
        failureFunction: async ({ context, failHeaders, failResponse, failStack }) => {
          received.push({
            labels: context.labels,
            headers: context.headers as Headers,
            failHeaders,
            failResponse,
            failStack,
          });
        },
      },
    ),
  );
  return { app, received };
}

test('a failure function receives the labels and the headers of its run', async (t) => {
  const { app, received } = failingApp();
  const server = await serveApp(t, (request) => app.fetch(request));
  const label = ['billing', 'eu'];
  await client.trigger({ url: `${server.origin}/fails`, label, headers: { 'x-user': 'ada' }, retries: 0 });
  const [first] = await eventually(() => received.length > 0 && received);
  assert.deepEqual(first?.labels, label);
  assert.deepEqual([first?.headers.get('x-user'), first?.headers.get('upstash-label')], ['ada', 'billing,eu']);
});

test('the failure function of an invoked run receives the labels of that run', async (t) => {
  const { serveMany, createWorkflow } = await import('@upstash/workflow/hono');
  const received: (readonly string[])[] = [];
  const child = createWorkflow(
    async (context) => {
      await context.run('fail', () => {
        throw new Error('no');
      });
    },
    { failureFunction: async ({ context }) => void received.push(context.labels) },
  );
  const parent = createWorkflow(async (context) => {
    await context.invoke('child', { workflow: child, body: null, label: 'of-the-child', retries: 0 });
  });
  const app = new Hono();
  app.post('/many/*', serveMany({ child, parent }));
  const server = await serveApp(t, (request) => app.fetch(request));
  await client.trigger({ url: `${server.origin}/many/parent`, label: 'of-the-parent' });
  await eventually(() => received.length > 0);
  assert.deepEqual(received, [['of-the-child']]);
});

test('a failure URL receives the label, the forwarded headers and the run in its headers', async (t) => {
  const { app } = failingApp();
  const received: Headers[] = [];
  app.post('/alarm', (context) => {
    received.push(context.req.raw.headers);
    return context.text('noted');
  });
  const server = await serveApp(t, (request) => app.fetch(request));
  const url = `${server.origin}/fails`;
  const { workflowRunId } = await client.trigger({
    ...{ url, failureUrl: `${server.origin}/alarm` },
    ...{ label: 'billing', headers: { 'x-user': 'ada' }, retries: 0 },
  });
  const [headers] = await eventually(() => received.length > 0 && received);
  const names = ['upstash-label', 'x-user', 'upstash-workflow-runid', 'upstash-workflow-url', 'upstash-workflow-is-failure'];
  assert.deepEqual(
    names.map((name) => headers?.get(name)),
    ['billing', 'ada', workflowRunId, url, 'true'],
  );
});

test('a failure callback shows header names in their canonical form', async (t) => {
  const { app, received } = failingApp();
  const notices: Record<'header' | 'sourceHeader', Record<string, string[]>>[] = [];
  app.post('/alarm', async (context) => {
    notices.push(await context.req.json());
    return context.text('noted');
  });
  const server = await serveApp(t, (request) => app.fetch(request));
  const options = { url: `${server.origin}/fails`, headers: { 'x-request-id': '7' }, body: { n: 1 }, retries: 0 };
  await client.trigger(options);
  await client.trigger({ ...options, failureUrl: `${server.origin}/alarm` });
  await eventually(() => received.length > 0 && notices.length > 0);
  const failHeaders = received[0]?.failHeaders;
  assert.deepEqual(failHeaders?.['Upstash-Workflow-Sdk-Version'], ['1']);
  assert.match(String(failHeaders?.['Content-Type']), /^text\/plain/);
  assert.equal(notices[0]?.header['Upstash-Workflow-Sdk-Version']?.[0], '1');
  assert.deepEqual(notices[0]?.sourceHeader['X-Request-Id'], ['7']);
  assert.deepEqual(notices[0]?.sourceHeader['Content-Type'], ['application/json']);
});

test('a run started by its endpoint, as for a published message, calls its failure function', async (t) => {
  const { app, received } = failingApp(() => new WorkflowNonRetryableError('no'));
  const server = await serveApp(t, (request) => app.fetch(request));
  const messages = new MessageClient({ baseUrl: process.env.QSTASH_URL ?? '', token: process.env.QSTASH_TOKEN ?? '' });
  await messages.publishJSON({ url: `${server.origin}/fails`, body: { n: 1 }, headers: { 'x-user': 'ada' } });
  const [first] = await eventually(() => received.length > 0 && received);
  assert.deepEqual([first?.failResponse, first?.headers.get('x-user')], ['no', 'ada']);
});

test('a failure function receives the beginning of the message and of the stack of a very long error', async (t) => {
  const message = `too much: ${'ä'.repeat(300_000)}`;
  const { app, received } = failingApp(() => new Error(message));
  const server = await serveApp(t, (request) => app.fetch(request));
  await client.trigger({ url: `${server.origin}/fails`, retries: 0 });
  const [first] = await eventually(() => received.length > 0 && received);
  assert.equal(first?.failResponse, message.slice(0, 8 * 1024));
  assert.match(first.failStack, /^Error: too much: ä/);
});
