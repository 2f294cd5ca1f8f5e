/** The active span of OpenTelemetry, and the fields for logs, while the functions of steps run. */
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { type Context, type ContextManager, context, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import type { WorkflowContext } from './context.js';
import { createEndpoint } from './endpoint.js';
import { stepScopeOf } from './executor/step-scope.js';
import { traceSteps } from './opentelemetry.js';
import type { StepRequest } from './protocol.js';
import { performWork } from './worker/perform-work.js';

/** The context manager that the SDK of OpenTelemetry installs in Node, without its other functions. */
class Contexts implements ContextManager {
  private readonly storage = new AsyncLocalStorage<Context>();
  active = () => this.storage.getStore() ?? ROOT_CONTEXT;
  with: ContextManager['with'] = (active, work, self, ...args) => this.storage.run(active, () => work.apply(self as never, args));
  bind: ContextManager['bind'] = (_active, target) => target;
  enable = () => this;
  disable = () => this;
}

before(() => context.setGlobalContextManager(new Contexts()));
after(() => context.disable());
let stop = () => {};
beforeEach(() => {
  stop = traceSteps();
});
afterEach(() => stop());

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanIdOf = (attempt: number): string => String(attempt).padStart(16, '0');
const turn = () => new Promise((resolve) => setImmediate(resolve));

function request(attempt: number, changes: Partial<StepRequest> = {}): StepRequest {
  return {
    protocol: 1,
    run: { key: 'K', id: 'order-7', createdAt: 0, workflowUrl: 'http://app/flow', labels: [] },
    messageId: `msg_${attempt}`,
    retried: 0,
    maxRetries: 0,
    target: null,
    known: 1,
    journal: { from: 0, length: 0, entries: [] },
    input: { body: { encoding: 'utf8', data: '' }, headers: {} },
    trace: { traceparent: `00-${TRACE_ID}-${spanIdOf(attempt)}-01`, tracestate: 'a=1' },
    ...changes,
  };
}

/** Two steps, which record their active span before and after an await. */
function traced() {
  const seen: (string | undefined)[] = [];
  const note = () => seen.push(trace.getSpanContext(context.active())?.spanId);
  const endpoint = createEndpoint(
    async (run: WorkflowContext<unknown>) => {
      for (const name of ['a', 'b'])
        await run.run(name, async () => {
          note();
          await turn();
          note();
        });
    },
    { allowUnsigned: true },
  );
  const send = (frame: StepRequest) =>
    endpoint.handle({
      method: 'POST',
      url: 'http://app/flow',
      headers: { 'svc-workflow-protocol': '1' },
      body: JSON.stringify(frame),
    });
  return { seen, endpoint, send };
}
const AFTER_FIRST = {
  target: 2,
  known: 3,
  journal: { from: 0, length: 1, entries: [{ stepId: 1, name: 'a', type: 'Run' }] },
} as const;

test('each step has the attempt of its own request as the active span, although the run is held', async () => {
  const { seen, send } = traced();
  await send(request(1));
  await send(request(2, AFTER_FIRST));
  assert.deepEqual(seen, [spanIdOf(1), spanIdOf(1), spanIdOf(2), spanIdOf(2)]);
  assert.equal(trace.getSpanContext(context.active()), undefined);
});

test('over a connection, each step also has its own attempt as the active span', async () => {
  const { seen, endpoint } = traced();
  const workflows = new Map([['flow', endpoint.workflow]]);
  await performWork(workflows, { id: 1, kind: 'step', workflow: 'flow', request: request(1) } as never);
  assert.deepEqual(seen, [spanIdOf(1), spanIdOf(1)]);
});

test('steps are traced if the app contains several copies of the SDK, as with Next.js', async () => {
  const copyOf = async (path: string) => import(new URL(`${path}?copy`, import.meta.url).href);
  const copy: typeof import('./executor/step-scope.js') = await copyOf('./executor/step-scope.js');
  assert.notEqual(copy.stepScopeOf, stepScopeOf);
  const scope = copy.stepScopeOf(request(1));
  assert.equal(
    scope?.(() => trace.getSpanContext(context.active())?.spanId),
    spanIdOf(1),
  );
});

test('the span of an instrumented server stays active, because it is a child of the attempt', async () => {
  const { seen, send } = traced();
  const server = trace.setSpanContext(ROOT_CONTEXT, { traceId: TRACE_ID, spanId: 'f'.repeat(16), traceFlags: 1 });
  await context.with(server, () => send(request(1)));
  const elsewhere = trace.setSpanContext(ROOT_CONTEXT, { traceId: 'e'.repeat(32), spanId: 'e'.repeat(16), traceFlags: 1 });
  await context.with(elsewhere, () => send(request(2, AFTER_FIRST)));
  assert.deepEqual(seen, ['f'.repeat(16), 'f'.repeat(16), spanIdOf(2), spanIdOf(2)]);
});

test('without a trace context, or with an invalid one, steps run as before', async () => {
  const { seen, send } = traced();
  const { trace: _, ...untraced } = request(1);
  await send(untraced);
  await send(request(2, { ...AFTER_FIRST, trace: { traceparent: 'invalid' } }));
  assert.deepEqual(seen, [undefined, undefined, undefined, undefined]);
});

test('fields for logs name the run, and the step in which they are read', async () => {
  const seen: object[] = [];
  const endpoint = createEndpoint(
    async (run: WorkflowContext<unknown>) => {
      seen.push(run.logFields());
      await run.run('charge', async () => {
        seen.push(run.logFields());
        await turn();
        seen.push(run.logFields());
      });
      seen.push(run.logFields());
    },
    { allowUnsigned: true },
  );
  await endpoint.workflow.answer(request(1));
  const step = { runId: 'order-7', stepId: 1, stepName: 'charge' };
  assert.deepEqual(seen, [{ runId: 'order-7' }, step, step, { runId: 'order-7' }]);
});

test('while several steps run, fields for logs name the step until its first await', async () => {
  const seen: object[] = [];
  const endpoint = createEndpoint(
    async (run: WorkflowContext<unknown>) => {
      const step = (name: string) =>
        run.run(name, async () => {
          seen.push(run.logFields());
          await turn();
          await turn();
          seen.push(run.logFields());
        });
      await Promise.all([step('a'), step('b')]);
    },
    { allowUnsigned: true },
  );
  await endpoint.workflow.answer(request(1));
  const both = [1, 2].map((target) => endpoint.workflow.answer(request(1 + target, { target, known: 3 })));
  await Promise.all(both);
  const run = { runId: 'order-7' };
  assert.deepEqual(seen.slice(0, 3), [{ ...run, stepId: 1, stepName: 'a' }, { ...run, stepId: 2, stepName: 'b' }, run]);
});
