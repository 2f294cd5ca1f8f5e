/** Runs of an app with a checkpoint, whose process or whose server fails. At most the steps of one group are repeated. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEndpoint, type Endpoint } from '@everstep/sdk';
import { PART_LIMITS } from '../../config/limits.js';
import type { StepCall, StepCaller, StepOutcome } from '../../ports/step-caller.js';
import type { Store } from '../../ports/stores/store.js';
import { type Bench, endOf, SETTINGS, settle, withRuntime } from '../runtime.fixture.js';

const STEPS = 10;
const GROUP = 4;
const RETRYING = { ...SETTINGS, maxRetries: 3, retryDelay: '0' };
const numbers = Array.from({ length: STEPS }, (_, index) => index + 1);

/** The process of an app. The next ones start when it has been killed. Each result is the number of executions of its step. */
class App implements StepCaller {
  readonly executions = new Map<number, number>();
  readonly calls: StepCall[] = [];
  /** Called when a step starts, with the number of its executions. */
  onStep: (step: number, times: number) => void | Promise<void> = () => {};
  private endpoint: Endpoint = this.start();
  private die: () => void = () => {};
  private death = this.nextDeath();

  private start(): Endpoint {
    return createEndpoint(
      async (context) => {
        const results: number[] = [];
        for (const step of numbers) {
          const result = await context.run(`s${step}`, async () => {
            const times = (this.executions.get(step) ?? 0) + 1;
            this.executions.set(step, times);
            await this.onStep(step, times);
            return times;
          });
          results.push(result);
        }
        return results;
      },
      { checkpoint: { maxSteps: GROUP, maxMs: 600_000 }, allowUnsigned: true },
    );
  }

  private nextDeath(): Promise<void> {
    return new Promise((resolve) => {
      this.die = resolve;
    });
  }

  /** Loses everything in memory, and the requests in progress. */
  kill(): void {
    this.endpoint = this.start();
    this.die();
    this.death = this.nextDeath();
  }

  async call(call: StepCall, _signal: AbortSignal, onSent?: () => void): Promise<StepOutcome> {
    this.calls.push(call);
    onSent?.();
    const body = JSON.stringify(call.request);
    const headers = { 'svc-workflow-protocol': '1' };
    const answered = this.endpoint.handle({ method: 'POST', url: call.workflowUrl, headers, body });
    const response = await Promise.race([answered, this.death]);
    const envelope = { responseHeaders: {}, responseBody: new Uint8Array() };
    if (!response) {
      const failure = { cause: 'network', message: 'killed', status: null, retry: { kind: 'backoff' }, ...envelope } as const;
      return { kind: 'failure', failure };
    }
    return { kind: 'reply', reply: JSON.parse(response.body), status: response.status, ...envelope };
  }

  async close(): Promise<void> {}

  get repeated(): readonly number[] {
    return numbers.filter((step) => (this.executions.get(step) ?? 0) > 1);
  }
}

/** Checks that the run has succeeded with what is recorded. */
async function assertSucceeded(bench: Bench, run: Parameters<typeof endOf>[1], app: App): Promise<void> {
  const record = await endOf(bench, run);
  assert.equal(record?.status, 'succeeded', record?.error ?? '');
  const journal = await bench.store.loadJournal({ runKey: run.runKey, from: 0 });
  assert.deepEqual(
    journal.map(({ index, stepId, name }) => [index, stepId, name]),
    numbers.map((step) => [step - 1, step, `s${step}`]),
  );
  assert.deepEqual(
    JSON.parse(record?.result ?? ''),
    journal.map(({ out }) => Number(out)),
  );
  for (const times of app.executions.values()) assert.ok(times <= 2);
}

const groupOf = (step: number): number => Math.ceil(step / GROUP);

test('without a failure, each group takes one request', async () => {
  const app = new App();
  await withRuntime(app, async (bench) => {
    const { run } = await bench.trigger();
    await assertSucceeded(bench, run, app);
    assert.deepEqual([app.calls.length, app.repeated], [3, []]);
    assert.deepEqual(
      app.calls.map(({ request }) => [request.journal.from, request.journal.length]),
      [
        [0, 0],
        [4, 4],
        [8, 8],
      ],
    );
  });
});

for (const killedAt of numbers) {
  test(`an app that is killed during step ${killedAt} repeats only steps of that group`, async () => {
    const app = new App();
    app.onStep = (step, times) => {
      if (step === killedAt && times === 1) {
        app.kill();
        return new Promise<void>(() => {});
      }
    };
    await withRuntime(app, async (bench) => {
      const { run } = await bench.trigger({ settings: RETRYING });
      await assertSucceeded(bench, run, app);
      const expected = numbers.filter((step) => groupOf(step) === groupOf(killedAt) && step <= killedAt);
      assert.deepEqual(app.repeated, expected);
      const attempts = (await bench.store.runHistory({ runKey: run.runKey, bounds: PART_LIMITS, maxOutBytes: 0 }))?.attempts;
      assert.deepEqual(
        attempts?.map(({ retried }) => retried),
        [0],
      );
    });
  });
}

test('a group whose commit is lost is repeated as a whole, by the process that holds its results', async () => {
  const app = new App();
  let lost = 0;
  const losing = (store: Store): Store => ({
    ...store,
    commit: async (units) => {
      const group = units.some(({ writes }) => writes.filter(({ kind }) => kind === 'record-step').length === GROUP);
      if (group && app.executions.has(8) && lost++ === 0) throw new Error('the batch is lost');
      return store.commit(units);
    },
  });
  await withRuntime(
    app,
    async (bench) => {
      const { run } = await bench.trigger({ settings: RETRYING });
      await settle();
      bench.clock.move(5_000);
      await assertSucceeded(bench, run, app);
      assert.deepEqual([lost > 0, app.repeated], [true, [5, 6, 7, 8]]);
    },
    { wrap: losing },
  );
});

test('a run that is canceled during a group records none of its steps', async () => {
  const app = new App();
  await withRuntime(app, async (bench) => {
    const { run } = await bench.trigger();
    app.onStep = async (step) => {
      if (step === 7) await bench.runtime.runs.cancel({ instanceId: 'qi_1', workflowRunId: run.workflowRunId });
    };
    assert.equal((await endOf(bench, run))?.status, 'canceled');
    await settle();
    assert.equal((await bench.store.loadJournal({ runKey: run.runKey, from: 0 })).length, 4);
  });
});

test('a fork continues from a step in the middle of a group', async () => {
  const app = new App();
  await withRuntime(app, async (bench) => {
    const { run } = await bench.trigger();
    await assertSucceeded(bench, run, app);
    const fork = { input: null, results: [], workflowRunId: null, note: null, by: { actor: 'a client', address: '' } };
    const forked = await bench.runtime.runs.fork({ runKey: run.runKey, fromStep: 7, ...fork });
    assert.ok(forked.kind === 'forked', forked.kind);
    await assertSucceeded(bench, forked.run, app);
    assert.deepEqual(app.repeated, [7, 8, 9, 10]);
  });
});
