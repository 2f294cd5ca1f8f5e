/** Repairs on the real runtime and a real store, with a clock that the test moves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditedRequest, runAudited } from '../../audit/audited-request.js';
import { decideRepair } from '../../engine/dead-letters/repair.js';
import { NO_LIMITS } from '../../ports/stores/instance-limits.js';
import type { RepairStore } from '../../ports/stores/repair-store.js';
import type { Store } from '../../ports/stores/store.js';
import { type Bench, noMessages, publicUrl, quiet, random, ScriptedCaller, settle, withRuntime } from '../runtime.fixture.js';
import { createRuntime } from '../runtime.js';
import { RepairWrites } from './repair-writes.js';
import {
  change,
  currentRepair,
  deadLetterIdsOf,
  Endpoints,
  FAST_START,
  failRuns,
  INSTANCE,
  itemsOf,
  passTime,
  plan,
  start,
} from './repairs.fixture.js';

const A = 'http://app/a';
const B = 'http://app/b';
const C = 'http://app/c';

async function withFailed(
  counts: Readonly<Record<string, number>>,
  work: (bench: Bench, endpoints: Endpoints, caller: ScriptedCaller) => Promise<void>,
  options: Parameters<typeof withRuntime>[2] = {},
): Promise<void> {
  const endpoints = new Endpoints();
  const caller = new ScriptedCaller(endpoints.respond);
  await withRuntime(
    caller,
    async (bench) => {
      await failRuns(bench, counts);
      await work(bench, endpoints, caller);
    },
    options,
  );
}

/** How often each failed run was recovered. */
async function recoveries(bench: Bench): Promise<readonly number[]> {
  const made = new Map<string, number>();
  const page = { ...INSTANCE, filter: {}, order: 'oldest-first', horizon: null, limit: 1_000 } as const;
  const { items } = await bench.store.listRuns({ ...page, after: null });
  for (const { origin } of items)
    if (origin?.kind === 'resume') made.set(origin.workflowRunId, (made.get(origin.workflowRunId) ?? 0) + 1);
  return [...made.values()];
}

test('a plan freezes the matching entries and describes them', async () => {
  await withFailed({ [A]: 3, [B]: 5 }, async (bench) => {
    const all = await plan(bench, 'resume');
    assert.deepEqual(
      [all.repair.phase, all.repair.counts.pending, all.repair.plan.workflows, all.repair.plan.recordedSteps],
      [
        'planned',
        8,
        [
          { workflowUrl: B, count: 5 },
          { workflowUrl: A, count: 3 },
        ],
        8,
      ],
    );
    const { groups } = all.repair.plan;
    assert.deepEqual([groups.length, groups[0]?.count, groups[0]?.message], [1, 8, 'Error: broken']);
    const fingerprints = [groups[0]?.fingerprint ?? ''];
    assert.equal((await plan(bench, 'resume', { fingerprints })).repair.counts.pending, 8);
    assert.equal((await plan(bench, 'resume', { fingerprints: ['another'] })).repair.counts.pending, 0);
    assert.equal((await plan(bench, 'resume', { workflowUrls: [A] })).repair.counts.pending, 3);
    await failRuns(bench, { [A]: 1 });
    assert.equal((await currentRepair(bench, all)).counts.pending, 8);
    assert.equal((await deadLetterIdsOf(bench)).length, 9);
  });
});

test('a plan names each error by its newest message, with the ids that the group masks', async () => {
  const endpoints = new Endpoints();
  let failures = 0;
  endpoints.message = () => `order ${4_700 + ++failures} is missing`;
  await withRuntime(new ScriptedCaller(endpoints.respond), async (bench) => {
    await failRuns(bench, { [A]: 3 });
    const { groups } = (await plan(bench, 'resume')).repair.plan;
    assert.deepEqual(
      groups.map(({ count, message }) => [count, message]),
      [[3, 'Error: order 4703 is missing']],
    );
  });
});

test('a canary covers all workflows, and the repair waits for continue when it has passed', async () => {
  await withFailed({ [A]: 20, [B]: 2, [C]: 2 }, async (bench, endpoints) => {
    const planned = await plan(bench, 'resume');
    endpoints.isBroken = () => false;
    const canary = { count: 6, maxFailurePercent: 0, thenContinue: false };
    await start(bench, planned, { ...FAST_START, canary });
    await passTime(bench, 500);
    const tried = (await itemsOf(bench, planned)).filter((item) => item.canary);
    assert.deepEqual(
      [A, B, C].map((url) => tried.filter(({ workflowUrl }) => workflowUrl === url).length),
      [2, 2, 2],
    );
    const passed = await currentRepair(bench, planned);
    assert.deepEqual([passed.phase, passed.counts.succeeded, passed.counts.pending], ['canary-passed', 6, 18]);
    await passTime(bench, 5_000, 500);
    assert.equal((await currentRepair(bench, planned)).counts.pending, 18);
    await change(bench, planned, { kind: 'continue', ratePerSecond: undefined });
    await passTime(bench, 1_000);
    const done = await currentRepair(bench, planned);
    assert.deepEqual([done.phase, done.counts.succeeded], ['done', 24]);
    assert.deepEqual(await deadLetterIdsOf(bench), []);
    assert.ok((await recoveries(bench)).every((count) => count === 1));
  });
});

test('a failed canary stops the repair, and the entries that failed again name their new dead letters', async () => {
  await withFailed({ [A]: 10, [B]: 10 }, async (bench, endpoints) => {
    const planned = await plan(bench, 'resume');
    endpoints.isBroken = (url) => url === A;
    await start(bench, planned, { ...FAST_START, canary: { count: 4, maxFailurePercent: 25, thenContinue: true } });
    await passTime(bench, 500);
    const stopped = await currentRepair(bench, planned);
    assert.deepEqual([stopped.phase, stopped.stopReason, stopped.counts.pending], ['stopped', 'canary-failed', 16]);
    const failed = (await itemsOf(bench, planned)).filter(({ state }) => state === 'failed');
    assert.equal(failed.length, 2);
    const letters = new Set(await deadLetterIdsOf(bench));
    for (const item of failed) {
      assert.ok(item.newDlqId !== null && letters.has(item.newDlqId) && !letters.has(item.dlqId));
      assert.match(item.error ?? '', /broken/);
    }
  });
});

test('continues at the configured rate, and not faster after a pause or a restart', async () => {
  await withFailed({ [A]: 40 }, async (bench, endpoints, caller) => {
    const planned = await plan(bench, 'resume');
    endpoints.isBroken = () => false;
    const startedCount = async () => 40 - (await currentRepair(bench, planned)).counts.pending;
    await start(bench, planned, { ...FAST_START, ratePerSecond: 4 });
    await passTime(bench, 2_000);
    assert.ok([8, 9].includes(await startedCount()), String(await startedCount()));
    await change(bench, planned, { kind: 'pause' });
    await passTime(bench, 5_000);
    const before = await startedCount();
    await change(bench, planned, { kind: 'continue', ratePerSecond: 2 });
    await passTime(bench, 2_000);
    assert.ok([4, 5].includes((await startedCount()) - before), String((await startedCount()) - before));

    const stopping = bench.runtime.stop({ graceMs: 10 });
    bench.clock.move(60_000);
    await stopping;
    const [atStop, at] = [await startedCount(), bench.clock.now()];
    const runtime = createRuntime({
      ...{ store: bench.store, clock: bench.clock, random, log: quiet, publicUrl },
      ...{ stepCaller: caller, messageSender: noMessages },
    });
    await runtime.start();
    const again = { ...bench, runtime };
    await passTime(again, 3_000);
    const max = Math.floor(((bench.clock.now() - at) / 1_000) * 2) + 1;
    const since = (await startedCount()) - atStop;
    assert.ok(since <= max && since >= max - 2, `${since} of ${max}`);
    await passTime(again, 15_000);
    assert.deepEqual([(await currentRepair(bench, planned)).phase, new Set(await recoveries(bench))], ['done', new Set([1])]);
    assert.equal(endpoints.finished.length, 40);
    const end = runtime.stop({ graceMs: 10 });
    bench.clock.move(1_000);
    await end;
  });
});

test('entries that were handled in the meantime are gone, which is not an error', async () => {
  await withFailed({ [A]: 4 }, async (bench, endpoints) => {
    const planned = await plan(bench, 'restart');
    endpoints.isBroken = () => false;
    const [first = ''] = await deadLetterIdsOf(bench);
    await bench.runtime.deadLetters.delete({ ...INSTANCE, dlqIds: [first], onMissing: 'fail' });
    await start(bench, planned, FAST_START);
    await passTime(bench, 1_000);
    const { phase, counts } = await currentRepair(bench, planned);
    assert.deepEqual([phase, counts.gone, counts.succeeded], ['done', 1, 3]);
  });
});

test('an aborted repair starts no more entries, and started runs are still tracked', async () => {
  await withFailed({ [A]: 10 }, async (bench, endpoints) => {
    const planned = await plan(bench, 'resume');
    endpoints.isBroken = () => false;
    await start(bench, planned, { ...FAST_START, ratePerSecond: 1 });
    await passTime(bench, 2_100);
    await change(bench, planned, { kind: 'abort' });
    await passTime(bench, 30_000, 1_000);
    const { phase, counts, stopReason } = await currentRepair(bench, planned);
    assert.deepEqual([phase, stopReason, counts.started], ['aborted', 'aborted-by-hand', 0]);
    assert.ok(counts.pending >= 7 && counts.pending + counts.succeeded === 10);
    assert.equal((await deadLetterIdsOf(bench)).length, counts.pending);
  });
});

test('a deletion waits for the end of its undo window, in which an abort undoes it', async () => {
  await withFailed({ [A]: 3 }, async (bench) => {
    const undone = await start(bench, await plan(bench, 'delete'), { ratePerSecond: null, canary: null, undoMs: 60_000 });
    await passTime(bench, 59_000, 1_000);
    assert.equal((await change(bench, undone, { kind: 'abort' })).repair.stopReason, 'undone');
    await passTime(bench, 10_000, 1_000);
    assert.equal((await deadLetterIdsOf(bench)).length, 3);
    const kept = await start(bench, await plan(bench, 'delete'), { ratePerSecond: null, canary: null, undoMs: 60_000 });
    await passTime(bench, 59_000, 1_000);
    assert.equal((await deadLetterIdsOf(bench)).length, 3);
    await passTime(bench, 2_000, 500);
    assert.deepEqual(await deadLetterIdsOf(bench), []);
    assert.deepEqual(
      [(await currentRepair(bench, kept)).phase, (await currentRepair(bench, kept)).counts.succeeded],
      ['done', 3],
    );
    const none = await start(bench, await plan(bench, 'delete'), { ratePerSecond: null, canary: null, undoMs: 0 });
    await passTime(bench, 100);
    assert.equal((await currentRepair(bench, none)).phase, 'done');
  });
});

test('a repair pauses with a reason when the budget admits nothing, and can be continued', async () => {
  let left = 2;
  const limits = {
    ...NO_LIMITS,
    async admitRuns(_instanceId: string, runs: number) {
      if (runs > left) return { kind: 'budget-exceeded' as const, message: 'the budget is spent' };
      left -= runs;
      return { kind: 'admitted' as const, at: null };
    },
  };
  await withFailed(
    { [A]: 5 },
    async (bench, endpoints) => {
      const planned = await plan(bench, 'resume');
      endpoints.isBroken = () => false;
      await start(bench, planned, FAST_START);
      await passTime(bench, 1_000);
      const held = await currentRepair(bench, planned);
      assert.deepEqual(
        [held.phase, held.stopReason, held.stopMessage, held.counts.succeeded, held.counts.pending],
        ['paused', 'budget-exceeded', 'the budget is spent', 2, 3],
      );
      left = 10;
      await change(bench, planned, { kind: 'continue', ratePerSecond: undefined });
      await passTime(bench, 1_000);
      const done = await currentRepair(bench, planned);
      assert.deepEqual([done.phase, done.stopReason, done.counts.succeeded], ['done', null, 5]);
    },
    { limits },
  );
});

test('flow control limits for a run without a key leave its entry unchanged, with an error', async () => {
  await withFailed({ [A]: 1 }, async (bench) => {
    const planned = await plan(bench, 'resume', {}, { flowControlLimits: { parallelism: 1 } });
    await start(bench, planned, FAST_START);
    await passTime(bench, 500);
    const [item] = await itemsOf(bench, planned);
    assert.equal(item?.state, 'failed');
    assert.match(item?.error ?? '', /the run has no key/);
    assert.deepEqual(await deadLetterIdsOf(bench), [item?.dlqId]);
  });
});

test('a plan continues after a fault and freezes each entry once', async () => {
  let puts = 0;
  const wrap = (store: Store): Store => {
    const repairs: RepairStore = new Proxy(store.repairs, {
      get(target, name) {
        if (name === 'put' && ++puts === 2) return () => Promise.reject(new Error('the disk is full'));
        const member: unknown = Reflect.get(target, name);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
    return { ...store, repairs };
  };
  await withFailed(
    { [A]: 1_100, [B]: 1_000 },
    async (bench) => {
      const planning = plan(bench, 'resume');
      for (let i = 0; i < 50; i++) await settle();
      bench.clock.move(1_000);
      const planned = await planning;
      assert.ok(puts >= 4);
      const { phase, counts, plan: made } = planned.repair;
      assert.deepEqual([phase, counts.pending], ['planned', 2_100]);
      assert.deepEqual(
        made.workflows.map(({ count }) => count),
        [1_100, 1_000],
      );
      assert.equal(made.recordedSteps, 2_100);
    },
    { wrap },
  );
});

test('two processes that drive one repair at the same time start nothing twice', async () => {
  await withFailed({ [A]: 60 }, async (bench, endpoints, caller) => {
    const planned = await plan(bench, 'resume');
    endpoints.isBroken = () => false;
    const other = createRuntime({
      ...{ store: bench.store, clock: bench.clock, random, log: quiet, publicUrl },
      ...{ stepCaller: caller, messageSender: noMessages },
    });
    await other.start();
    await start(bench, planned, { ...FAST_START, ratePerSecond: 50 });
    for (let i = 0; i < 60; i++) {
      bench.clock.move(50);
      await Promise.all([bench.runtime.idle(), other.idle()]);
    }
    await passTime(bench, 20_000, 1_000);
    await other.idle();
    assert.deepEqual(new Set(await recoveries(bench)), new Set([1]));
    const { phase, counts } = await currentRepair(bench, planned);
    assert.deepEqual([phase, counts.succeeded], ['done', 60]);
    const end = other.stop({ graceMs: 10 });
    bench.clock.move(1_000);
    await end;
  });
});

test('a command on a repair takes effect immediately after a check of its runs that was in progress', async () => {
  let isBroken = true;
  const { respond } = new Endpoints();
  // A run that the repair starts does not end.
  const caller = new ScriptedCaller((call) =>
    isBroken || call.workflowUrl === B ? respond(call) : new Promise<never>(() => {}),
  );
  let checking: Promise<void> | null = null;
  const wrap = (store: Store): Store => ({
    ...store,
    repairs: {
      ...store.repairs,
      async endedItems(query) {
        await checking;
        return store.repairs.endedItems(query);
      },
    },
  });
  await withRuntime(
    caller,
    async (bench) => {
      const pass = async (ms: number): Promise<void> => {
        for (let passedMs = 0; passedMs < ms; passedMs += 50) {
          await settle();
          bench.clock.move(50);
        }
        await settle();
      };
      await failRuns(bench, { [A]: 2 });
      isBroken = false;
      const planned = await plan(bench, 'resume', { workflowUrls: [A] });
      await start(bench, planned, { ...FAST_START, ratePerSecond: 0.01 });
      await pass(2_000);
      await change(bench, planned, { kind: 'pause' });
      await pass(2_000);
      assert.equal((await currentRepair(bench, planned)).counts.started, 1);
      let finishCheck = (): void => {};
      checking = new Promise((resolve) => {
        finishCheck = resolve;
      });
      await failRuns(bench, { [B]: 1 });
      await pass(200);
      await change(bench, planned, { kind: 'continue', ratePerSecond: 1_000 });
      await pass(100);
      checking = null;
      finishCheck();
      await pass(200);
      assert.equal((await currentRepair(bench, planned)).counts.started, 2);
    },
    { wrap },
  );
});

test('what a repair starts does not contain the audit entry of the request that started it', async () => {
  await withFailed({ [A]: 3 }, async (bench, endpoints) => {
    const planned = await plan(bench, 'resume');
    endpoints.isBroken = () => false;
    const base = { auditId: 'aud_1', at: 0, actor: 'a', address: '', action: 'repair.plan', subject: '', details: {} };
    const entry = { ...base, accountIds: [] };
    const request = { operation: 'planRepair', credential: '', userAgent: '', instanceId: 'qi_1', outcome: 'done' } as const;
    const audited = new AuditedRequest({ entry, request, isWrittenWithChange: true });
    await runAudited(audited, () => start(bench, planned, FAST_START));
    await passTime(bench, 500);
    assert.equal((await currentRepair(bench, planned)).phase, 'done');
    assert.equal(audited.close(), entry);
  });
});

test('the entries of a plan that is aborted before its start are removed, and its summary stays', async () => {
  await withFailed({ [A]: 600 }, async (bench) => {
    const planned = await plan(bench, 'restart');
    assert.equal((await itemsOf(bench, planned)).length, 600);
    await change(bench, planned, { kind: 'abort' });
    await bench.runtime.idle();
    assert.deepEqual(await itemsOf(bench, planned), []);
    const { phase, counts, stopReason } = await currentRepair(bench, planned);
    assert.deepEqual([phase, counts.pending, stopReason], ['aborted', 600, 'aborted-by-hand']);
    assert.equal((await deadLetterIdsOf(bench)).length, 600);
    assert.equal(await bench.store.repairs.nextAt({ nodeId: null, after: 0 }), null);
  });
});

test('each change of a scheduled deletion is reported to clients that watch dead letters', async () => {
  await withFailed({ [A]: 1 }, async (bench) => {
    const topics: string[] = [];
    const writes = new RepairWrites(bench.store.repairs, (_instanceId, topic) => void (topic === 'dlq' && topics.push(topic)));
    const planned = await plan(bench, 'delete');
    const { repair } = await start(bench, planned, { ratePerSecond: null, canary: null, undoMs: 60_000 });
    for (const [index, kind] of (['paused', 'aborted'] as const).entries()) {
      const record = await bench.store.repairs.find(repair);
      assert.ok(record);
      const decided = decideRepair(record.repair, { kind }, bench.clock.now());
      assert.ok(decided.kind === 'decided');
      assert.equal(await writes.put({ record: { ...record, repair: decided.repair }, driver: null }), true);
      assert.equal(topics.length, index + 1, kind);
    }
  });
});
