import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { WorkflowContext } from '../context.js';
import { createEndpoint } from '../endpoint.js';
import { NonRetryableError } from '../errors.js';
import { FakeServer } from '../executor/fake-server.fixture.js';
import { performWork } from '../worker/perform-work.js';
import { HookCaller, type HookName, type WorkflowHooks } from './workflow-hooks.js';

const NAMES: readonly HookName[] = [
  ...(['runStarted', 'runFinished', 'runFailed', 'stepStarted', 'stepFinished', 'stepFailed', 'stepReplayed'] as const),
];
interface Seen {
  readonly runId: string;
  readonly attempt: number;
  readonly step?: { readonly name: string; readonly index: number; readonly type: string };
  readonly willRetry?: boolean;
  readonly durationMs?: number;
  readonly error?: unknown;
}

/** Hooks that record each call as `stepFailed charge#1 attempt 1 will retry`. */
function recording() {
  const calls: string[] = [];
  const contexts: Seen[] = [];
  const note = (name: HookName) => (seen: Seen) => {
    contexts.push(seen);
    const { step, attempt, willRetry } = seen;
    const retry = willRetry === undefined ? '' : willRetry ? ' will retry' : ' permanently';
    calls.push(
      `${name}${step ? ` ${step.name}#${step.index}` : ''}${attempt > 1 || willRetry !== undefined ? ` attempt ${attempt}` : ''}${retry}`,
    );
  };
  const hooks: WorkflowHooks = Object.fromEntries(NAMES.map((name) => [name, note(name)]));
  return { calls, contexts, hooks };
}

type Code = (context: WorkflowContext<unknown>) => unknown;
async function drive(code: Code, hooks: readonly WorkflowHooks[], holdRuns = true): Promise<FakeServer> {
  const server = new FakeServer('k');
  await server.drive(createEndpoint(code, { hooks, holdRuns }));
  return server;
}

const twoSteps: Code = async (context) => {
  await context.run('one', () => 1);
  await context.sleep('pause', '1s');
  await context.run('two', () => 2);
};

describe('hooks are called', () => {
  test('when a run and its steps start and end, and for results that the server completed', async () => {
    const { calls, contexts, hooks } = recording();
    await drive(twoSteps, [hooks]);
    assert.deepEqual(calls, [
      ...['runStarted', 'stepStarted one#1', 'stepFinished one#1', 'stepReplayed pause#2'],
      ...['stepStarted two#3', 'stepFinished two#3', 'runFinished'],
    ]);
    assert.ok(contexts.every(({ runId, durationMs = 0 }) => runId !== '' && durationMs >= 0));
  });

  test('for each recorded step when the run is replayed', async () => {
    const { calls, hooks } = recording();
    await drive(twoSteps, [hooks], false);
    assert.equal(calls.filter((call) => call === 'runStarted').length, 1);
    assert.ok(calls.includes('stepReplayed one#1'));
    assert.equal(calls.filter((call) => call.startsWith('stepFinished')).length, 2);
  });

  test('when a step fails, with the error, and when the run fails with it', async () => {
    const { calls, contexts, hooks } = recording();
    const error = new NonRetryableError('no stock');
    let failures = 0;
    await drive(
      async (context) => {
        await context.run('charge', () => {
          throw failures++ === 0 ? new Error('later') : error;
        });
      },
      [hooks],
    );
    assert.deepEqual(calls, [
      ...['runStarted', 'stepStarted charge#1', 'stepFailed charge#1 attempt 1 will retry'],
      ...[
        'stepStarted charge#1 attempt 2',
        'stepFailed charge#1 attempt 2 permanently',
        'runFailed charge#1 attempt 2 permanently',
      ],
    ]);
    assert.equal(contexts.at(-1)?.error, error);
  });

  test('when the code between steps fails', async () => {
    const { calls, hooks } = recording();
    await drive(() => {
      throw new NonRetryableError('bad input');
    }, [hooks]);
    assert.deepEqual(calls, ['runStarted', 'runFailed attempt 1 permanently']);
  });

  test('of a connection before those of the workflow', async () => {
    const order: string[] = [];
    const { workflow } = createEndpoint(() => 'ok', { hooks: [{ runStarted: () => order.push('workflow') }] });
    const server = new FakeServer('k');
    const [open] = server.tasks.values();
    assert.ok(open);
    const caller = new HookCaller([{ runStarted: () => order.push('first') }, { runStarted: () => order.push('second') }]);
    const work = { kind: 'step', id: '1', workflow: 'flow', request: server.request(open) } as const;
    await performWork(new Map([['flow', workflow]]), work as never, { hooks: caller });
    assert.deepEqual(order, ['first', 'second', 'workflow']);
  });
});

test('a hook that throws or rejects changes nothing, and is logged once', async (t) => {
  const warn = t.mock.method(console, 'warn', () => {});
  const { calls, hooks } = recording();
  const broken: WorkflowHooks = {
    stepStarted: () => {
      throw new Error('broken');
    },
    stepFinished: () => Promise.reject(new Error('broken too')),
  };
  const server = await drive(twoSteps, [broken, hooks]);
  assert.equal(server.journal.length, 3);
  assert.ok(calls.includes('runFinished'));
  assert.equal(warn.mock.callCount(), 2);
});
