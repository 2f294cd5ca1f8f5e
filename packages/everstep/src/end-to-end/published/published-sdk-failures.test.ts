/** Failures with the published SDK: errors, retries, failure functions, cancellation, and endpoints that are not workflows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, WorkflowNonRetryableError, WorkflowRetryAfterError } from '@upstash/workflow';
import { serve } from '@upstash/workflow/hono';
import { Hono } from 'hono';
import { endOf, eventually, journalOf, resultOf, serveApp, startService } from './published-sdk.fixture.js';

const service = await startService();
const client = new Client({ baseUrl: process.env.QSTASH_URL ?? '', token: process.env.QSTASH_TOKEN ?? '' });

interface DeadLetter {
  readonly workflowRunId: string;
  readonly failureFunctionState?: string;
}

async function deadLetterOf(workflowRunId: string): Promise<DeadLetter | undefined> {
  const { body } = await service.request('GET', `/v2/workflows/dlq?workflowRunId=${workflowRunId}`);
  return (body as { messages: DeadLetter[] }).messages[0];
}

test('a step that throws is retried with the retries and delay of the trigger', async (t) => {
  const app = new Hono();
  const retried: number[] = [];
  app.post(
    '/flaky',
    serve(async (context) => {
      await context.run('steady', () => 1);
      return context.run('flaky', () => {
        retried.push(context.retried);
        if (retried.length < 4) throw new TypeError('no luck');
        return retried.length;
      });
    }),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const { workflowRunId } = await client.trigger({ url: `${server.origin}/flaky`, retries: 5, retryDelay: '20' });
  assert.equal(await resultOf(service, workflowRunId), 4);
  assert.deepEqual(retried, [0, 1, 2, 3]);
  const { attempts } = await journalOf(service, workflowRunId);
  assert.match(attempts?.[0]?.error ?? '', /step "flaky": TypeError: no luck/);
});

test('only the parallel step that throws is retried', async (t) => {
  const app = new Hono();
  const ran: string[] = [];
  app.post(
    '/parallel',
    serve(async (context) => {
      const results = await Promise.all(
        ['a', 'b', 'c'].map((name) =>
          context.run(name, () => {
            ran.push(name);
            if (name === 'b' && ran.filter((each) => each === 'b').length < 3) throw new Error('not yet');
            return name;
          }),
        ),
      );
      return results.join('');
    }),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const { workflowRunId } = await client.trigger({ url: `${server.origin}/parallel`, retries: 3, retryDelay: '20' });
  assert.equal(await resultOf(service, workflowRunId), 'abc');
  assert.deepEqual([...ran].sort(), ['a', 'b', 'b', 'b', 'c']);
});

test('a non-retryable error is not retried, and a retry-after error is retried at its time', async (t) => {
  const app = new Hono();
  let hopeless = 0;
  const late: number[] = [];
  app.post(
    '/hopeless',
    serve(async (context) => {
      await context.run('try', () => {
        hopeless++;
        throw new WorkflowNonRetryableError('the card is stolen');
      });
    }),
  );
  app.post(
    '/later',
    serve(async (context) => {
      return context.run('try', () => {
        late.push(Date.now());
        if (late.length === 1) throw new WorkflowRetryAfterError('busy', 1);
        return 'done';
      });
    }),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const first = await client.trigger({ url: `${server.origin}/hopeless` });
  const second = await client.trigger({ url: `${server.origin}/later`, retryDelay: '100000' });
  const { workflowState, error } = await endOf(service, first.workflowRunId);
  assert.equal(workflowState, 'RUN_FAILED');
  assert.match(error ?? '', /the card is stolen/);
  assert.equal(hopeless, 1);
  assert.equal(await resultOf(service, second.workflowRunId), 'done');
  const waitedMs = (late[1] ?? 0) - (late[0] ?? 0);
  assert.ok(waitedMs >= 1_000 && waitedMs < 10_000, `retried after ${waitedMs} ms`);
});

test('the failure function receives the error; without one, nothing is called', async (t) => {
  const app = new Hono();
  const failures: unknown[] = [];
  const fails = async (context: { run: (name: string, step: () => never) => Promise<unknown> }) => {
    await context.run('fail', () => {
      throw new RangeError('größer als erlaubt');
    });
  };
  app.post(
    '/failing',
    serve<{ order: number }>(fails as never, {
      failureFunction: async ({ context, failStatus, failResponse, failStack, failHeaders }) => {
        failures.push({
          failStatus,
          failResponse,
          stack: failStack?.includes('RangeError'),
          order: (context.requestPayload as { order: number }).order,
          run: context.workflowRunId,
          user: context.headers.get('x-user'),
          protocol: Object.keys(failHeaders).length > 0,
        });
        return 'noted';
      },
    }),
  );
  app.post('/untold', serve(fails as never));
  const server = await serveApp(t, (request) => app.fetch(request));
  const options = { retries: 0, headers: { 'x-user': 'ada' } };
  const first = await client.trigger({ url: `${server.origin}/failing`, body: { order: 7 }, ...options });
  const second = await client.trigger({ url: `${server.origin}/untold`, body: {}, ...options });
  await eventually(() => failures.length > 0);
  assert.deepEqual(failures, [
    {
      failStatus: 500,
      failResponse: 'größer als erlaubt',
      stack: true,
      order: 7,
      run: first.workflowRunId,
      user: 'ada',
      protocol: true,
    },
  ]);
  await eventually(async () => (await deadLetterOf(first.workflowRunId))?.failureFunctionState === 'CALLBACK_SUCCESS');
  await eventually(async () => {
    const letter = await deadLetterOf(second.workflowRunId);
    return letter !== undefined && letter.failureFunctionState === undefined;
  });
  assert.equal(failures.length, 1);
});

test('a failure URL is called instead', async (t) => {
  const app = new Hono();
  const failures: Record<string, unknown>[] = [];
  app.post(
    '/fails',
    serve(async (context) => {
      await context.run('fail', () => {
        throw new Error('no');
      });
    }),
  );
  app.post('/alarm', async (context) => {
    failures.push({ ...(await context.req.json()), mark: context.req.header('upstash-workflow-is-failure') });
    return context.text('noted');
  });
  const server = await serveApp(t, (request) => app.fetch(request));
  const { workflowRunId } = await client.trigger({
    url: `${server.origin}/fails`,
    failureUrl: `${server.origin}/alarm`,
    retries: 0,
    body: 'hello',
  });
  const [notice] = await eventually(() => failures.length > 0 && failures);
  assert.equal(notice?.workflowRunId, workflowRunId);
  assert.equal(notice?.status, 500);
  assert.equal(notice?.mark, 'true');
  assert.equal(Buffer.from(String(notice?.sourceBody), 'base64').toString(), 'hello');
  assert.equal(JSON.parse(Buffer.from(String(notice?.body), 'base64').toString()).message, 'no');
});

test('a run is canceled from outside and from within, and its later steps are not recorded', async (t) => {
  const app = new Hono();
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let inside = false;
  app.post(
    '/slow',
    serve(async (context) => {
      await context.run('slow', async () => {
        inside = true;
        await held;
        return 'too late';
      });
    }),
  );
  app.post(
    '/quits',
    serve<boolean>(async (context) => {
      await context.run('look', () => 1);
      await context.cancel();
    }),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const slow = await client.trigger({ url: `${server.origin}/slow` });
  await eventually(() => inside);
  const { QSTASH_URL, QSTASH_TOKEN } = process.env;
  const canceled = await fetch(`${QSTASH_URL}/v2/workflows/runs/${slow.workflowRunId}?cancel=true`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${QSTASH_TOKEN}` },
  });
  assert.equal(canceled.status, 200);
  release();
  assert.equal((await endOf(service, slow.workflowRunId)).workflowState, 'RUN_CANCELED');
  const quits = await client.trigger({ url: `${server.origin}/quits` });
  assert.equal((await endOf(service, quits.workflowRunId)).workflowState, 'RUN_CANCELED');
  assert.deepEqual((await journalOf(service, slow.workflowRunId)).steps, []);
  assert.equal(await deadLetterOf(quits.workflowRunId), undefined);
});

test('the end of an ended run is accepted again; a step of it, or the end of an unknown run, is refused', async (t) => {
  const app = new Hono();
  app.post(
    '/short',
    serve(async (context) => context.run('one', () => 1)),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const { workflowRunId } = await client.trigger({ url: `${server.origin}/short` });
  assert.equal(await resultOf(service, workflowRunId), 1);
  const { QSTASH_URL, QSTASH_TOKEN } = process.env;
  const headers = { authorization: `Bearer ${QSTASH_TOKEN}`, 'content-type': 'application/json' };
  const end = async (id: string) => {
    const response = await fetch(`${QSTASH_URL}/v2/workflows/runs/${id}?cancel=false`, { method: 'DELETE', headers, body: '2' });
    return { status: response.status, body: await response.json() };
  };
  assert.deepEqual(await end(workflowRunId), { status: 200, body: { cancelled: 0 } });
  assert.equal(await resultOf(service, workflowRunId), 1, 'the result is the first one');
  assert.equal((await end('wfr_never')).status, 400);
  const step = {
    destination: `${server.origin}/short`,
    headers: { 'Upstash-Workflow-Init': 'false', 'Upstash-Workflow-RunId': workflowRunId, 'Upstash-Workflow-Sdk-Version': '1' },
    body: JSON.stringify({ stepId: 2, stepName: 'two', stepType: 'Run', concurrent: 1, out: '2' }),
  };
  const late = await fetch(`${QSTASH_URL}/v2/batch`, { method: 'POST', headers, body: JSON.stringify([step]) });
  assert.equal(late.status, 400, 'the SDK treats this as the end of the run');
});

test('an endpoint that is not a workflow fails the run immediately with instructions', async (t) => {
  const app = new Hono();
  let deliveries = 0;
  app.post('/page', (context) => {
    if (context.req.header('upstash-workflow-is-failure') === undefined) deliveries++;
    return context.html('<p>hello</p>');
  });
  const server = await serveApp(t, (request) => app.fetch(request));
  const { workflowRunId } = await client.trigger({ url: `${server.origin}/page` });
  const { workflowState, error } = await endOf(service, workflowRunId);
  assert.equal(workflowState, 'RUN_FAILED');
  assert.match(error ?? '', /not a workflow endpoint.*@upstash\/workflow 1\.x/);
  assert.equal(deliveries, 1);
});

test('an endpoint with another or no protocol version fails the run and names both versions', async (t) => {
  const app = new Hono();
  app.post('/newer', (context) => context.json({ message: 'Incompatible' }, 500, { 'upstash-workflow-sdk-version': '2' }));
  app.post('/silent', (context) => context.json({}, 200, { 'upstash-workflow-sdk-version': '1' }));
  const submitted: { status: number; text: string }[] = [];
  app.post('/older', async (context) => {
    const received = await fetch(`${process.env.QSTASH_URL}/v2/batch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${process.env.QSTASH_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify([
        {
          destination: context.req.url,
          headers: {
            'Upstash-Workflow-Init': 'false',
            'Upstash-Workflow-RunId': context.req.header('upstash-workflow-runid'),
          },
          body: JSON.stringify({ stepId: 1, stepName: 'a', stepType: 'Run', concurrent: 1 }),
        },
      ]),
    });
    submitted.push({ status: received.status, text: await received.text() });
    return context.json({ ok: true });
  });
  const server = await serveApp(t, (request) => app.fetch(request));
  const failure = async (path: string) => {
    const { workflowRunId } = await client.trigger({ url: server.origin + path });
    return (await endOf(service, workflowRunId)).error ?? '';
  };
  assert.match(await failure('/newer'), /uses version "2" of the step protocol, but Everstep uses version 1: upgrade/);
  assert.match(await failure('/older'), /SDK is too old.*@upstash\/workflow 1\.x/);
  assert.equal(submitted[0]?.status, 412);
  assert.match(submitted[0]?.text ?? '', /too old.*version 1.*upgrade @upstash\/workflow/);
  assert.match(await failure('/silent'), /submitted neither a step nor the end of the run/);
});

test('a run started without the SDK first calls the endpoint to determine its protocol version', async (t) => {
  const app = new Hono();
  app.post(
    '/hello',
    serve<{ name: string }>(async (context) => {
      const name = await context.run('name', () => context.requestPayload.name);
      return { name, user: context.headers.get('x-user') };
    }),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const result = await fetch(`${process.env.QSTASH_URL}/v2/trigger/${server.origin}/hello`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${process.env.QSTASH_TOKEN}`,
      'content-type': 'application/json',
      'upstash-forward-x-user': 'ada',
      'upstash-retries': '0',
    },
    body: JSON.stringify({ name: 'grüße' }),
  });
  assert.equal(result.status, 200);
  const { workflowRunId } = (await result.json()) as { workflowRunId: string };
  assert.deepEqual(await resultOf(service, workflowRunId), { name: 'grüße', user: 'ada' });
  assert.equal(server.received.length, 3, 'the introduction, one step, and the end');
});

test('a message published to a workflow endpoint starts a run', async (t) => {
  const app = new Hono();
  const runs: string[] = [];
  app.post(
    '/published',
    serve<{ name: string }>(async (context) => {
      const name = await context.run('name', () => context.requestPayload.name);
      await context.run('note', () => runs.push(context.workflowRunId));
      return { name, user: context.headers.get('x-user') };
    }),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const response = await fetch(`${process.env.QSTASH_URL}/v2/publish/${server.origin}/published`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${process.env.QSTASH_TOKEN}`,
      'content-type': 'application/json',
      'upstash-forward-x-user': 'ada',
    },
    body: JSON.stringify({ name: 'grüße' }),
  });
  assert.equal(response.status, 200, await response.text());
  const [workflowRunId = ''] = await eventually(() => runs.length > 0 && runs);
  assert.deepEqual(await resultOf(service, workflowRunId), { name: 'grüße', user: 'ada' });
});

test('a step whose request is invalid fails the run with the reason', async (t) => {
  const app = new Hono();
  const longId = 'e'.repeat(600);
  const headers = Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`x-${n}`, 'a']));
  app.post(
    '/waits',
    serve(async (context) => {
      await context.waitForEvent('wait', longId);
    }),
  );
  app.post(
    '/notifies',
    serve(async (context) => {
      await context.notify('notify', longId, {});
    }),
  );
  app.post(
    '/calls',
    serve(async (context) => {
      await context.call('call', { url: 'http://127.0.0.1/', headers });
    }),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const errorOf = async (path: string) => {
    const { workflowRunId } = await client.trigger({ url: server.origin + path });
    const { workflowState, error } = await endOf(service, workflowRunId);
    assert.equal(workflowState, 'RUN_FAILED');
    return error ?? '';
  };
  assert.match(await errorOf('/waits'), /eventId must be a string of 1 to 512 characters/);
  assert.match(await errorOf('/notifies'), /eventId must be a string of 1 to 512 characters/);
  assert.match(await errorOf('/calls'), /headers can have at most 200 entries/);
});

test('a workflow that rejects the request fails the run with the reason', async (t) => {
  const app = new Hono();
  app.post(
    '/closed',
    serve(async (context) => {
      if (context.headers.get('x-secret') !== 'open') return;
      await context.run('never', () => 1);
    }),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const { workflowRunId } = await client.trigger({ url: `${server.origin}/closed`, retries: 0 });
  assert.match((await endOf(service, workflowRunId)).error ?? '', /Failed to authenticate/);
  const open = await client.trigger({ url: `${server.origin}/closed`, retries: 0, headers: { 'x-secret': 'open' } });
  assert.equal((await endOf(service, open.workflowRunId)).workflowState, 'RUN_SUCCESS');
});
