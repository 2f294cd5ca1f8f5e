/** Forks and replay checks with our SDK and with the published one. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { Client as Everstep, serve as serveOurs, type WorkflowContext } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { Client } from '@upstash/workflow';
import { serve } from '@upstash/workflow/hono';
import { Hono } from 'hono';
import { endOf, resultOf, serveApp, startService } from './published/published-sdk.fixture.js';

const service = await startService();
const published = new Client({ baseUrl: process.env.QSTASH_URL ?? '', token: process.env.QSTASH_TOKEN ?? '' });

const JSON_TYPE = { 'content-type': 'application/json' };

async function fork(workflowRunId: string, body: object): Promise<string> {
  const response = await service.request('POST', `/v2/workflows/runs/${workflowRunId}/fork`, JSON_TYPE, JSON.stringify(body));
  assert.equal(response.status, 201, JSON.stringify(response.body));
  return (response.body as { readonly workflowRunId: string }).workflowRunId;
}

interface Check {
  readonly outcome: string;
  readonly stepName: string | null;
  readonly message: string;
}
async function check(workflowRunId: string): Promise<Check> {
  const { body } = await service.request('GET', `/v2/workflows/runs/${workflowRunId}/check`);
  const [found] = (body as { readonly checks: readonly Check[] }).checks;
  return found ?? assert.fail(JSON.stringify(body));
}

test('a run of the published SDK can be forked from any step; incomplete parallel steps are all repeated', async (t) => {
  const app = new Hono();
  const ran: string[] = [];
  const did = (name: string) => () => {
    ran.push(name);
    return name;
  };
  app.post(
    '/flow',
    serve<string>(async (context) => {
      const one = await context.run('one', did('one'));
      const both = await Promise.all([context.run('a', did('a')), context.run('b', did('b'))]);
      await context.sleep('nap', 0.01);
      const last = await context.run('last', did('last'));
      return [context.requestPayload, one, ...both, last].join(' ');
    }),
  );
  const server = await serveApp(t, (request) => app.fetch(request));
  const { workflowRunId } = await published.trigger({ url: `${server.origin}/flow`, body: 'in', retries: 0 });
  assert.equal(await resultOf(service, workflowRunId), 'in one a b last');
  for (const [request, result, expected] of [
    [{ fromStep: 1 }, 'in one a b last', ['one', 'a', 'b', 'last']],
    [{ fromStep: 2, results: [{ stepId: 1, result: 'ONE' }] }, 'in ONE a b last', ['a', 'b', 'last']],
    [{ fromStep: 3 }, 'in one a b last', ['a', 'b', 'last']],
    [{ fromStep: 4, results: [{ stepId: 2, result: 'A' }] }, 'in one A b last', ['last']],
    [{ fromStep: 5, results: [{ stepId: 5, result: 'LAST' }] }, 'in one a b LAST', []],
  ] as const) {
    ran.length = 0;
    assert.equal(await resultOf(service, await fork(workflowRunId, request)), result, JSON.stringify(request));
    assert.deepEqual([...ran].sort(), [...expected].sort(), JSON.stringify(request));
  }
  assert.equal((await check(workflowRunId)).outcome, 'cannot-tell');
});

test('after a deployment a check shows whether a failed run can be replayed, without executing a step', async (t) => {
  const ran: string[] = [];
  const step = (context: WorkflowContext<unknown>, name: string) =>
    context.run(name, () => {
      ran.push(name);
      if (name === 'charge') throw new Error('declined');
      return name;
    });
  const versions: Record<string, (context: WorkflowContext<unknown>) => Promise<unknown>> = {
    first: async (context) => [await step(context, 'reserve'), await step(context, 'charge')],
    renamed: async (context) => [await step(context, 'hold stock'), await step(context, 'charge')],
    shorter: async (context) => step(context, 'reserve'),
    fixed: async (context) => [await step(context, 'reserve'), await context.run('charge', () => 'paid')],
  };
  let deployed = 'first';
  const current = service.env.get('EVERSTEP_CURRENT_SIGNING_KEY');
  assert.ok(current);
  const workflow = serveOurs((context: WorkflowContext<unknown>) => versions[deployed]?.(context), { signingKeys: { current } });
  const server = createServer(toNodeHandler(workflow));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const client = new Everstep({ baseUrl: service.env.get('EVERSTEP_URL') ?? '', token: service.env.get('EVERSTEP_TOKEN') ?? '' });
  const { workflowRunId } = await client.trigger(`http://127.0.0.1:${address.port}/`, { retries: 0 });
  assert.equal((await endOf(service, workflowRunId)).workflowState, 'RUN_FAILED');
  ran.length = 0;
  for (const [version, outcome, stepName] of [
    ['first', 'fits', null],
    ['renamed', 'differs', 'reserve'],
    ['shorter', 'differs', 'charge'],
    ['fixed', 'fits', null],
  ] as const) {
    deployed = version;
    const found = await check(workflowRunId);
    assert.deepEqual([found.outcome, found.stepName], [outcome, stepName], `${version}: ${found.message}`);
  }
  assert.deepEqual(ran, [], 'no step was executed');
  const forked = await fork(workflowRunId, { fromStep: 2 });
  assert.deepEqual(await resultOf(service, forked), ['reserve', 'paid']);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  assert.equal((await check(workflowRunId)).outcome, 'cannot-tell', 'the endpoint is unreachable');
});
