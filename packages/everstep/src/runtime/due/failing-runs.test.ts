/** Runs whose due deliveries and steps fail each time, while the store is available. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store } from '../../ports/stores/store.js';
import { type Bench, endOf, inARow, progress, ScriptedCaller, settle, withRuntime } from '../runtime.fixture.js';

/** A store that cannot read the rows of one kind until it is repaired. Counts these reads, and scans of all due tasks. */
function damagedStore(kind: 'loadRun' | 'listWaiters') {
  const bench = { isDamaged: false, attempts: 0, scansOfAll: 0 };
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
  });
  return { bench, wrap };
}

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

test('a delivery whose run cannot be read is made again alone, with increasing delays', async () => {
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
      await checkRetries(bench, damaged);
      assert.deepEqual([(await endOf(bench, run))?.status, caller.calls.length], ['succeeded', 1]);
    },
    { wrap },
  );
});

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
