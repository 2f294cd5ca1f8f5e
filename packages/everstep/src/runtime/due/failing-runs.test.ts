/** Runs whose due deliveries and steps fail each time, while the store is available. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store } from '../../ports/stores/store.js';
import { StoreRefusesWritesError } from '../../ports/stores/store-unavailable.js';
import { type Bench, endOf, inARow, progress, ScriptedCaller, settle, withRuntime } from '../runtime.fixture.js';

/**
 * A store that cannot read the rows of one kind until it is repaired. Counts these reads, and scans of all due tasks. The next
 * commit fails with `commitError`.
 */
function damagedStore(kind: 'loadRun' | 'listWaiters') {
  const bench = { isDamaged: false, attempts: 0, scansOfAll: 0, commitError: null as Error | null };
  const read = <Result>(ofKind: typeof kind, rows: () => Promise<Result>): Promise<Result> => {
    if (!bench.isDamaged || ofKind !== kind) return rows();
    bench.attempts++;
    return Promise.reject(new Error('the row is damaged'));
  };
  const wrap = (store: Store): Store => ({
    ...store,
    loadRun: (query) => read('loadRun', () => store.loadRun(query)),
    listWaiters: (query) => read('listWaiters', () => store.listWaiters(query)),
    dueTasks: (query) => {
      if (query.after === null && query.instanceId === undefined) bench.scansOfAll++;
      return store.dueTasks(query);
    },
    commit: (units) => {
      const { commitError } = bench;
      bench.commitError = null;
      return commitError ? Promise.reject(commitError) : store.commit(units);
    },
  });
  return { bench, wrap };
}

type TriggeredRun = Awaited<ReturnType<Bench['trigger']>>['run'];

/** Checks that one task was attempted once, and is attempted again alone with increasing delays. */
async function checkRetries({ clock }: Bench, damaged: ReturnType<typeof damagedStore>['bench']): Promise<void> {
  const { scansOfAll } = damaged;
  for (const [ms, attempts] of [
    [0, 1],
    [999, 1],
    [1, 2],
    [1_999, 2],
    [1, 3],
  ] as const) {
    clock.move(ms);
    await settle();
    assert.deepEqual([damaged.attempts, damaged.scansOfAll], [attempts, scansOfAll]);
  }
  damaged.isDamaged = false;
  clock.move(4_000);
  await settle();
}

/** Runs the test with a run whose first delivery has just failed, because the run cannot be read. */
async function withFailingDelivery(
  work: (
    bench: Bench,
    damaged: ReturnType<typeof damagedStore>['bench'],
    run: TriggeredRun,
    caller: ScriptedCaller,
  ) => Promise<void>,
): Promise<void> {
  const { bench: damaged, wrap } = damagedStore('loadRun');
  const caller = new ScriptedCaller(inARow(1));
  await withRuntime(
    caller,
    async (bench) => {
      const { run } = await bench.trigger({ notBefore: bench.clock.now() + 2_000 });
      // The run is no longer in memory.
      await bench.restart();
      damaged.isDamaged = true;
      bench.clock.move(1_000);
      await settle();
      await work(bench, damaged, run, caller);
    },
    { wrap },
  );
}

test('a delivery whose run cannot be read is made again alone, with increasing delays', () =>
  withFailingDelivery(async (bench, damaged, run, caller) => {
    await checkRetries(bench, damaged);
    assert.deepEqual([(await endOf(bench, run))?.status, caller.calls.length], ['succeeded', 1]);
  }));

test('a delivery that waits for its retry is not made earlier by a scan of all due tasks', () =>
  withFailingDelivery(async ({ clock, trigger }, damaged) => {
    const pass = async (ms: number) => {
      clock.move(ms);
      await settle();
      return damaged.attempts;
    };
    const { scansOfAll } = damaged;
    assert.equal(await pass(1_000), 2);
    damaged.commitError = new Error('the response was lost');
    await assert.rejects(trigger(), /the response was lost/);
    assert.deepEqual([await pass(1_000), damaged.scansOfAll], [2, scansOfAll + 1]);
    assert.equal(await pass(999), 2);
    assert.equal(await pass(1), 3);
    assert.equal(await pass(3_999), 3, 'the delay is that of a single retry');
    assert.equal(await pass(1), 4);
  }));

test('a delivery that waits for its retry is made when the store accepts writes again', () =>
  withFailingDelivery(async ({ clock, trigger }, damaged) => {
    const pass = async (ms: number) => {
      clock.move(ms);
      await settle();
      return damaged.attempts;
    };
    assert.equal(await pass(1_000), 2);
    damaged.commitError = new StoreRefusesWritesError('disk full');
    await assert.rejects(trigger(), /disk full/);
    assert.equal(await pass(100), 3);
    assert.equal(await pass(999), 3);
    assert.equal(await pass(1), 4);
    assert.equal(await pass(1_999), 4);
  }));

test('a notify step that fails is executed again alone, with increasing delays', async () => {
  const { bench: damaged, wrap } = damagedStore('listWaiters');
  const content = { kind: 'data', body: { encoding: 'utf8', data: '' } } as const;
  const caller = new ScriptedCaller(({ request }) =>
    request.journal.length === 0
      ? progress(request, { planned: [{ stepId: 1, name: 'notify', type: 'Notify', eventId: 'tick', content }] })
      : progress(request, { end: { kind: 'finished' } }),
  );
  await withRuntime(
    caller,
    async (bench) => {
      damaged.isDamaged = true;
      const { run } = await bench.trigger();
      await settle();
      await checkRetries(bench, damaged);
      assert.equal((await endOf(bench, run))?.status, 'succeeded');
    },
    { wrap },
  );
});
