import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WorkflowContext } from '../context.js';
import { createEndpoint, type ServeOptions } from '../endpoint.js';
import type { CheckReply, CheckRequest } from '../protocol.js';
import { FakeServer } from './fake-server.fixture.js';
import { readStepRequest } from './step-request.js';

type Code = (context: WorkflowContext<unknown>) => unknown;

const input = { body: { encoding: 'utf8', data: '{"n":1}' }, contentType: 'application/json', headers: {} } as const;
const steps = (...names: string[]): CheckRequest['journal'] =>
  names.map((name, index) => ({ stepId: index + 1, name, type: 'Run', out: String(index) }));

const frame = (request: Partial<CheckRequest>): CheckRequest => ({
  protocol: 1,
  kind: 'check',
  run: { key: 'k', id: 'r', createdAt: 1, workflowUrl: 'http://app/flow', labels: [] },
  journal: [],
  open: [],
  input,
  limitMs: 5_000,
  ...request,
});

async function check(code: Code, request: Partial<CheckRequest>, options: ServeOptions<unknown> = {}): Promise<CheckReply> {
  const response = await createEndpoint(code, options).handle({
    method: 'POST',
    url: 'http://app/flow',
    headers: { 'svc-workflow-protocol': '1' },
    body: JSON.stringify(frame(request)),
  });
  assert.equal(response.status, 200, response.body);
  return JSON.parse(response.body);
}

const never = (): never => {
  throw new Error('a step was executed');
};
/** Requests steps with these names, one after the other. */
const row =
  (...names: string[]): Code =>
  async (context) => {
    for (const name of names) await context.run(name, never);
  };

describe('checking a journal', () => {
  it('fits if the code requests the recorded steps, and executes nothing, not even the next step', async () => {
    const { outcome } = await check(row('a', 'b', 'c'), { journal: steps('a', 'b') });
    assert.equal(outcome, 'fits');
    assert.equal((await check(row('a'), {})).outcome, 'fits', 'nothing is recorded yet');
    assert.equal((await check(row('a', 'b'), { journal: steps('a', 'b') })).outcome, 'fits', 'the code has ended');
  });

  it('finds the first renamed step', async () => {
    const { outcome, stepId, message } = await check(row('a', 'b2', 'c'), { journal: steps('a', 'b', 'c') });
    assert.deepEqual([outcome, stepId], ['differs', 2]);
    assert.match(message, /Step 2 is recorded as Run "b", but the workflow now requests Run "b2" at this position/);
  });

  it('finds a removed step, an inserted step and a step of another type', async () => {
    const journal = steps('a', 'b', 'c');
    assert.deepEqual((await check(row('a', 'c'), { journal })).stepId, 2);
    assert.deepEqual((await check(row('a', 'new', 'b', 'c'), { journal })).stepId, 2);
    const sleeping: Code = async (context) => {
      await context.run('a', never);
      await context.sleep('b', 1);
    };
    assert.match((await check(sleeping, { journal })).message, /recorded as Run "b", but .* requests SleepFor "b"/);
  });

  it('finds code that returns or cancels the run before it requests a recorded step', async () => {
    const journal = steps('a', 'b');
    const ended = await check(row('a'), { journal });
    assert.deepEqual([ended.outcome, ended.stepId], ['differs', 2]);
    assert.match(ended.message, /returns before it requests it/);
    const canceling: Code = async (context) => {
      await context.run('a', never);
      await context.cancel();
    };
    assert.match((await check(canceling, { journal })).message, /cancels the run/);
  });

  it('finds code that throws before it requests a recorded step, and reports the error', async () => {
    const throwing: Code = async (context) => {
      await context.run('a', never);
      throw new TypeError('no such field');
    };
    const { outcome, stepId, message } = await check(throwing, { journal: steps('a', 'b') });
    assert.deepEqual([outcome, stepId], ['differs', 2]);
    assert.match(message, /fails before it requests it: TypeError: no such field/);
    const behind = await check(throwing, { journal: steps('a') });
    assert.equal(behind.outcome, 'fits');
    assert.match(behind.message, /fails after them.*no such field/);
  });

  it('finds an input that the code no longer accepts', async () => {
    const parsePayload = () => {
      throw new Error('n must be a string');
    };
    const { outcome, stepId } = await check(row('a'), { journal: steps('a') }, { parsePayload });
    assert.deepEqual([outcome, stepId], ['differs', 1]);
  });

  it('finds parallel steps in another order, and accepts the order in which they were recorded', async () => {
    const parallel =
      (...names: string[]): Code =>
      (context) =>
        Promise.all(names.map((name) => context.run(name, never)));
    const [a, b, c] = steps('a', 'b', 'c');
    assert.ok(a && b && c);
    assert.equal((await check(parallel('a', 'b', 'c'), { journal: [c, a], open: [b] })).outcome, 'fits');
    const reordered = await check(parallel('b', 'a', 'c'), { journal: [c, a], open: [b] });
    assert.deepEqual([reordered.outcome, reordered.stepId], ['differs', 1]);
    const open = await check(parallel('a', 'x', 'c'), { journal: [c, a], open: [b] });
    assert.deepEqual([open.outcome, open.stepId], ['differs', 2]);
    assert.match(open.message, /planned as Run "b", but the workflow now requests Run "x"/);
  });

  it('finds a planned step that is no longer requested', async () => {
    const [, b] = steps('a', 'b');
    assert.ok(b);
    const { outcome, stepId } = await check(row('a'), { journal: steps('a'), open: [b] });
    assert.deepEqual([outcome, stepId], ['differs', 2]);
  });

  it('gives up on code that waits forever for something other than a step', async () => {
    const { outcome, message } = await check(() => new Promise(() => {}), { journal: steps('a'), limitMs: 20 });
    assert.equal(outcome, 'cannot-tell');
    assert.match(message, /awaits something other than a step/);
  });

  it('leaves a held run unchanged, logs nothing and calls no failure function', async () => {
    const executed: string[] = [];
    const lines: string[] = [];
    const code: Code = async (context) => {
      for (const name of ['a', 'b', 'c']) await context.run(name, () => executed.push(name));
    };
    const endpoint = createEndpoint(code, { verbose: (line) => lines.push(line), failureFunction: never });
    const server = new FakeServer('k');
    const [first] = server.tasks.values();
    assert.ok(first);
    await server.deliver(endpoint, first);
    const before = lines.length;
    const received = await endpoint.handle({
      method: 'POST',
      url: 'http://app/flow',
      headers: { 'svc-workflow-protocol': '1' },
      body: JSON.stringify(frame({ journal: steps('other') })),
    });
    assert.equal(JSON.parse(received.body).outcome, 'differs');
    assert.equal(lines.length, before);
    await server.drive(endpoint);
    assert.deepEqual([executed, server.misses], [['a', 'b', 'c'], 0]);
  });

  it('rejects a request without a valid signature', async () => {
    const result = await createEndpoint(row('a'), { signingKeys: { current: 'sig_a' } }).handle({
      method: 'POST',
      url: 'http://app/flow',
      headers: { 'svc-workflow-protocol': '1' },
      body: JSON.stringify(frame({})),
    });
    assert.equal(result.status, 401);
  });

  it('is not a valid step request, so that an endpoint without support for it rejects it before it runs any code', () => {
    const read = readStepRequest(frame({ journal: steps('a') }));
    assert.deepEqual([read.ok, !read.ok && read.code], [false, 'bad-request']);
  });
});
