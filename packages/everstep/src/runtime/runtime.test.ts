import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EMPTY_JOURNAL_DIGEST, type StepReply } from '@everstep/sdk/protocol';
import type { CommitUnit } from '../engine/writes.js';
import type { Store } from '../ports/stores/store.js';
import { fullHistory } from '../stores/conformance/samples.js';
import { openSqliteStore } from '../stores/sqlite/index.js';
import {
  endOf,
  inARow,
  ManualClock,
  noMessages,
  progress,
  publicUrl,
  quiet,
  random,
  ScriptedCaller,
  SETTINGS,
  settle,
  withRuntime,
} from './runtime.fixture.js';
import { createRuntime } from './runtime.js';

test('a run goes from trigger to result, with its headers and its payload', async () => {
  const caller = new ScriptedCaller(inARow(3));
  await withRuntime(caller, async (bench) => {
    const { run } = await bench.trigger();
    const record = await endOf(bench, run);
    assert.equal(record?.status, 'succeeded');
    assert.equal(record?.result, '3');
    assert.equal(caller.calls.length, 3, 'one request per step');
    assert.deepEqual(caller.calls[0]?.forwardHeaders, { 'x-a': 'b' });
    assert.deepEqual(caller.calls[0]?.request.input?.body, { encoding: 'utf8', data: '{"n":1}' });
  });
});

test('sends bytes that are not text as Base64', async () => {
  const caller = new ScriptedCaller(inARow(1));
  await withRuntime(caller, async (bench) => {
    const body = Uint8Array.from([0xff, 0, 1]);
    await endOf(bench, (await bench.trigger({ payload: { body, contentType: null, forwardHeaders: {} } })).run);
    assert.deepEqual(caller.calls[0]?.request.input, { body: { encoding: 'base64', data: '/wAB' }, headers: {} });
  });
});

test('a worker that holds the run receives only the missing entries', async () => {
  const caller = new ScriptedCaller(inARow(4, 'w1'));
  await withRuntime(caller, async (bench) => {
    await endOf(bench, (await bench.trigger()).run);
    assert.deepEqual(
      caller.calls.map(({ request }) => [request.journal.from, request.journal.entries.length, request.input !== undefined]),
      [
        [0, 0, true],
        [1, 0, false],
        [2, 0, false],
        [3, 0, false],
      ],
    );
  });
});

test('a worker that lost the run receives the whole journal immediately, and no attempt is counted', async () => {
  let lost = 0;
  const step = inARow(3, 'w1');
  const caller = new ScriptedCaller((call) => {
    if (call.request.journal.from === 2 && lost++ === 0) return { protocol: 1, kind: 'journal-needed' };
    return step(call);
  });
  await withRuntime(caller, async (bench) => {
    const record = await endOf(bench, (await bench.trigger()).run);
    assert.equal(record?.status, 'succeeded');
    const last = caller.calls.at(-1)?.request;
    assert.equal(last?.retried, 0);
    assert.deepEqual(last?.journal, {
      from: 0,
      digest: EMPTY_JOURNAL_DIGEST,
      length: 2,
      entries: [
        { stepId: 1, name: 's1', type: 'Run', out: '1' },
        { stepId: 2, name: 's2', type: 'Run', out: '2' },
      ],
    });
    assert.ok(last?.input);
  });
});

test('decisions of one turn share a commit', async () => {
  const batches: number[] = [];
  const counting = (store: Store): Store =>
    new Proxy(store, {
      get(target, property, receiver) {
        if (property !== 'commit') return Reflect.get(target, property, receiver);
        return (units: readonly CommitUnit[]) => {
          batches.push(units.length);
          return target.commit(units);
        };
      },
    });
  await withRuntime(
    new ScriptedCaller(inARow(1)),
    async (bench) => {
      const outcomes = await Promise.all(Array.from({ length: 50 }, () => bench.trigger()));
      assert.equal(outcomes.length, 50);
      assert.equal(batches[0], 50);
    },
    { wrap: counting },
  );
});

test('a host that hangs does not block others', async () => {
  const row = inARow(1);
  const caller = new ScriptedCaller((call) =>
    call.workflowUrl.startsWith('http://slow') ? new Promise<StepReply>(() => {}) : row(call),
  );
  await withRuntime(caller, async (bench) => {
    await Promise.all(Array.from({ length: 300 }, () => bench.trigger({ workflowUrl: 'http://slow/flow' })));
    await settle();
    assert.ok(caller.inFlight < 256, 'a burst is acknowledged first');
    for (let i = 0; i < 4; i++) {
      bench.clock.move(50);
      await settle();
    }
    assert.equal(caller.inFlight, 256, 'the slots of one host are limited');
    assert.equal((await endOf(bench, (await bench.trigger()).run))?.status, 'succeeded');
  });
});

test('a run with a not-before time waits for it', async () => {
  const caller = new ScriptedCaller(inARow(1));
  await withRuntime(caller, async (bench) => {
    const { run } = await bench.trigger({ notBefore: bench.clock.now() + 5000 });
    await settle();
    assert.equal(caller.calls.length, 0);
    bench.clock.move(5000);
    assert.equal((await endOf(bench, run))?.status, 'succeeded');
  });
});

test('cancel aborts the delivery in flight, and a late response has no effect', async () => {
  const caller = new ScriptedCaller(() => new Promise<StepReply>(() => {}));
  await withRuntime(caller, async (bench) => {
    const { run } = await bench.trigger({ workflowRunId: 'mine' });
    await settle();
    assert.equal(caller.inFlight, 1);
    assert.deepEqual(await bench.runtime.runs.cancel({ instanceId: 'qi_1', workflowRunId: 'mine' }), { kind: 'canceled' });
    await settle();
    assert.equal(caller.inFlight, 0);
    assert.equal((await endOf(bench, run))?.status, 'canceled');
    assert.deepEqual(await bench.runtime.runs.cancel({ instanceId: 'qi_1', workflowRunId: 'mine' }), { kind: 'not-active' });
    assert.deepEqual(await bench.runtime.runs.cancel({ instanceId: 'qi_2', workflowRunId: 'mine' }), { kind: 'not-found' });
  });
});

test('an id is taken while its run is active, and free again when it has ended', async () => {
  const caller = new ScriptedCaller(() => new Promise<StepReply>(() => {}));
  await withRuntime(caller, async (bench) => {
    const first = await bench.trigger({ workflowRunId: 'order-1' });
    const second = await bench.trigger({ workflowRunId: 'order-1' });
    assert.deepEqual([first.kind, second.kind], ['started', 'deduplicated']);
    assert.deepEqual(second.run, first.run);
    await bench.runtime.runs.cancel({ instanceId: 'qi_1', workflowRunId: 'order-1' });
    bench.clock.move(1);
    assert.equal((await bench.trigger({ workflowRunId: 'order-1' })).kind, 'started');
  });
});

test('waiting for a result ends with the timeout, with the run, or with the server', async () => {
  const caller = new ScriptedCaller(() => new Promise<StepReply>(() => {}));
  await withRuntime(caller, async (bench) => {
    const { run } = await bench.trigger();
    const waiting = endOf(bench, run);
    await settle();
    bench.clock.move(1000);
    assert.equal(await waiting, null);
    assert.equal(await endOf(bench, { ...run, runKey: 'unknown', workflowRunId: 'unknown' }), null);
  });
});

test('continues pending work at the next start', async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  const clock = new ManualClock();
  const hanging = new ScriptedCaller(() => new Promise<StepReply>(() => {}));
  const first = createRuntime({ store, clock, random, stepCaller: hanging, messageSender: noMessages, log: quiet, publicUrl });
  await first.start();
  const { run } = await first.runs.trigger({
    instanceId: 'qi_1',
    dialect: 'native',
    workflowUrl: 'http://app/flow',
    payload: { body: new Uint8Array(), contentType: null, forwardHeaders: {} },
    settings: SETTINGS,
    callerIp: '',
    workflowRunId: null,
    notBefore: null,
    deduplicationId: null,
  });
  await settle();
  assert.equal(hanging.inFlight, 1);
  // No stop: the first process is abandoned, as after kill -9.
  const second = createRuntime({
    store,
    clock,
    random,
    stepCaller: new ScriptedCaller(inARow(2)),
    messageSender: noMessages,
    log: quiet,
    publicUrl,
  });
  await second.start();
  const record = await second.runs.awaitEnd({ instanceId: 'qi_1', run, timeoutMs: 1000 });
  assert.equal(record?.status, 'succeeded');
  await second.stop({ graceMs: 0 });
  await store.close();
});

test('a batch that cannot be written leaves the run unchanged, and it continues later', async () => {
  let failing = false;
  const breaking = (store: Store): Store =>
    new Proxy(store, {
      get(target, property, receiver) {
        if (property !== 'commit') return Reflect.get(target, property, receiver);
        return (units: readonly CommitUnit[]) => (failing ? Promise.reject(new Error('disk full')) : target.commit(units));
      },
    });
  const caller = new ScriptedCaller(inARow(2));
  await withRuntime(
    caller,
    async (bench) => {
      const { run } = await bench.trigger();
      failing = true;
      await settle();
      await assert.rejects(bench.trigger(), /disk full/);
      failing = false;
      bench.clock.move(1000);
      assert.equal((await endOf(bench, run))?.status, 'succeeded');
      const history = await fullHistory(bench.store, { runKey: run.runKey });
      assert.deepEqual(
        history?.steps.map((step) => step.stepId),
        [1, 2],
      );
    },
    { wrap: breaking },
  );
});

/** Blocks work from `close` to `open`. */
class Gate {
  private waiting: Promise<void> | null = null;
  open: () => void = () => {};
  close(): void {
    this.waiting = new Promise((resolve) => {
      this.open = resolve;
    });
  }
  async pass(): Promise<void> {
    await this.waiting;
  }
}

test('does not deliver a task again if it is found due while its successor is written, and delivers the successor', async () => {
  const written = new Gate();
  const slow = (store: Store): Store =>
    new Proxy(store, {
      get(target, property, receiver) {
        if (property !== 'commit') return Reflect.get(target, property, receiver);
        return async (units: readonly CommitUnit[]) => {
          const results = await target.commit(units);
          await written.pass();
          return results;
        };
      },
    });
  const [second, advance] = [new Gate(), new Gate()];
  const caller = new ScriptedCaller(async ({ request }) => {
    const { target, journal } = request;
    const step = (stepId: number) => ({ stepId, name: `s${stepId}`, type: 'Run' as const });
    if (target !== null) {
      if (target === 2) await second.pass();
      return progress(request, { done: [step(target)], advanced: false });
    }
    if (journal.length === 0) return progress(request, { planned: [step(1), step(2)] });
    if (journal.length === 2) return progress(request, { end: { kind: 'finished' } });
    await advance.pass();
    return progress(request, {});
  });
  await withRuntime(
    caller,
    async (bench) => {
      second.close();
      advance.close();
      const { run } = await bench.trigger();
      // Another run is due slightly later, so that due tasks are read then.
      await bench.trigger({ workflowUrl: 'http://other/flow', notBefore: bench.clock.now() + 30 });
      await settle();
      bench.clock.move(20);
      await settle();
      second.open();
      await settle();
      bench.clock.move(1);
      written.close();
      advance.open();
      await settle();
      bench.clock.move(9);
      await settle();
      written.open();
      await settle();
      assert.equal((await endOf(bench, run))?.status, 'succeeded');
      const messages = caller.calls.filter((call) => call.request.run.key === run.runKey).map((call) => call.request.messageId);
      assert.equal(new Set(messages).size, messages.length, 'each message was delivered once');
    },
    { wrap: slow },
  );
});

test('drives a run only once if a scan finds it before the response to its trigger', async () => {
  let open = (): void => {};
  let gate: Promise<void> = Promise.resolve();
  // Commits are visible in the store before the response, as during a sync of the disk.
  const slow = (store: Store): Store =>
    new Proxy(store, {
      get(target, property, receiver) {
        if (property !== 'commit') return Reflect.get(target, property, receiver);
        return async (units: readonly CommitUnit[]) => {
          const results = await target.commit(units);
          await gate;
          return results;
        };
      },
    });
  const caller = new ScriptedCaller(inARow(3));
  await withRuntime(
    caller,
    async (bench) => {
      const waiting = await bench.trigger({ notBefore: bench.clock.now() + 10 });
      gate = new Promise((resolve) => {
        open = resolve;
      });
      bench.clock.move(1);
      const triggered = bench.trigger();
      await settle();
      bench.clock.move(9);
      await settle();
      open();
      for (const { run } of [waiting, await triggered]) {
        assert.equal((await endOf(bench, run))?.status, 'succeeded');
        const history = await fullHistory(bench.store, { runKey: run.runKey });
        assert.deepEqual(
          history?.steps.map((step) => step.stepId),
          [1, 2, 3],
        );
      }
      assert.equal(caller.calls.length, 6, 'each step is delivered once');
    },
    { wrap: slow },
  );
});
