/** Repairs of runs with long journals, whose copies take several slices of work each. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StepReply } from '@everstep/sdk/protocol';
import { PART_LIMITS } from '../../config/limits.js';
import type { WorkSlices } from '../../fairness/work-slices.js';
import type { StepCall } from '../../ports/step-caller.js';
import { ONE_OWNER } from '../../ports/stores/instance-owners.js';
import type { Store } from '../../ports/stores/store.js';
import {
  aloneInCluster,
  type Bench,
  noMessages,
  progress,
  publicUrl,
  quiet,
  random,
  ScriptedCaller,
  settle,
  withRuntime,
} from '../runtime.fixture.js';
import { createRuntime, type Runtime } from '../runtime.js';
import { change, currentRepair, FAST_START, failRuns, INSTANCE, passTime, plan, start, withLeases } from './repairs.fixture.js';

const LONG = 'http://app/long';
const SHORT = 'http://app/short';
const SLICES = 8;
const OUT = JSON.stringify('x'.repeat(PART_LIMITS.maxBytes));

/** An endpoint whose runs fail until it is repaired: those of LONG after `SLICES` large steps. */
class Endpoint {
  isBroken = true;
  readonly finished: string[] = [];
  readonly respond = ({ request, workflowUrl }: StepCall): StepReply => {
    if (!this.isBroken) {
      this.finished.push(workflowUrl);
      return progress(request, { end: { kind: 'finished', result: '1' } });
    }
    return {
      protocol: 1,
      kind: 'failed',
      base: 0,
      done: Array.from({ length: workflowUrl === LONG ? SLICES : 0 }, (_, index) => ({
        stepId: index + 1,
        name: `s${index + 1}`,
        type: 'Run',
        out: OUT,
      })),
      error: { name: 'Error', message: 'broken' },
      retry: { kind: 'never' },
    };
  };
}

/** Slices that wait until the test releases them. */
class BlockedSlices implements Pick<WorkSlices, 'run'> {
  started = 0;
  private open = (): void => {};
  private readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });
  readonly release = (): void => this.open();
  async run<Result>(_instanceId: string, work: () => Promise<Result>): Promise<Result> {
    this.started++;
    await this.opened;
    return work();
  }
}

/** Runs the test with blocked slices, which are released at its end. */
async function withBlockedSlices(
  work: (bench: Bench, slices: BlockedSlices, endpoint: Endpoint) => Promise<void>,
  options: Parameters<typeof withRuntime>[2] = {},
): Promise<void> {
  const endpoint = new Endpoint();
  const slices = new BlockedSlices();
  await withRuntime(
    new ScriptedCaller(endpoint.respond),
    async (bench) => {
      try {
        await work(bench, slices, endpoint);
      } finally {
        slices.release();
      }
    },
    { ...options, slices },
  );
}

/** Advances the clock in short steps, without waiting until the runtime is idle. */
async function pass({ clock }: Bench, ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 50) {
    await settle();
    clock.move(50);
  }
  await settle();
}

test('a node that copies long journals for longer than its lease keeps the repair', async () => {
  const endpoint = new Endpoint();
  const caller = new ScriptedCaller(endpoint.respond);
  await withRuntime(caller, async (bench) => {
    const { clock } = bench;
    await failRuns(bench, { [LONG]: 2 });
    endpoint.isBroken = false;
    const stopping = bench.runtime.stop({ graceMs: 10 });
    clock.move(1_000);
    await stopping;
    const store = withLeases(bench.store);
    // Each slice takes a second, so that a copy takes longer than a lease.
    const slices: Pick<WorkSlices, 'run'> = {
      async run(_instanceId, work) {
        await new Promise<void>((resolve) => clock.setTimer(clock.now() + 1_000, resolve));
        return work();
      },
    };
    const open = async (nodeId: string): Promise<Runtime> => {
      const runtime = createRuntime({
        ...{ store, clock, random, log: quiet, publicUrl, stepCaller: caller, messageSender: noMessages, slices },
        cluster: { ...aloneInCluster(() => []), nodeId },
      });
      await runtime.start();
      return runtime;
    };
    const nodes = [await open('n_1'), await open('n_2')];
    const [runtime] = nodes;
    assert.ok(runtime);
    const first = { ...bench, runtime };
    const planned = await plan(first, 'resume');
    await start(first, planned, FAST_START);
    for (let passedMs = 0; passedMs < 40_000; passedMs += 250) {
      await settle();
      clock.move(250);
    }
    await settle();
    const { phase, counts } = await currentRepair(bench, planned);
    assert.deepEqual([phase, counts.succeeded], ['done', 2]);
    const ends = nodes.map((node) => node.stop({ graceMs: 10 }));
    await settle();
    clock.move(1_000);
    await Promise.all(ends);
  });
});

test('copies of long journals delay neither other repairs nor commands, and a pause prevents their starts', async () => {
  await withBlockedSlices(async (bench, slices, endpoint) => {
    await failRuns(bench, { [LONG]: 2, [SHORT]: 3 });
    endpoint.isBroken = false;
    const long = await plan(bench, 'resume', { workflowUrls: [LONG] });
    await start(bench, long, FAST_START);
    await pass(bench, 500);
    assert.equal(slices.started, 1);

    const short = await plan(bench, 'resume', { workflowUrls: [SHORT] });
    await start(bench, short, FAST_START);
    await pass(bench, 1_000);
    assert.deepEqual([(await currentRepair(bench, short)).phase, endpoint.finished], ['done', [SHORT, SHORT, SHORT]]);

    assert.equal((await change(bench, long, { kind: 'pause' })).repair.phase, 'paused');
    slices.release();
    await passTime(bench, 2_000);
    assert.equal((await currentRepair(bench, long)).counts.pending, 2);
    assert.equal(slices.started, 1, 'the copy ends at the next slice');

    await change(bench, long, { kind: 'continue', ratePerSecond: undefined });
    await passTime(bench, 2_000);
    const { phase, counts } = await currentRepair(bench, long);
    assert.deepEqual([phase, counts.succeeded], ['done', 2]);
  });
});

test('a repair that is being driven does not delay the next step of another one', async () => {
  await withBlockedSlices(async (bench, slices, endpoint) => {
    await failRuns(bench, { [LONG]: 1, [SHORT]: 1 });
    endpoint.isBroken = false;
    await start(bench, await plan(bench, 'resume', { workflowUrls: [LONG] }), FAST_START);
    await pass(bench, 500);
    assert.equal(slices.started, 1);
    const deletion = await plan(bench, 'delete', { workflowUrls: [SHORT] });
    await start(bench, deletion, { ratePerSecond: null, canary: null, undoMs: 1_100 });
    await pass(bench, 1_050);
    assert.notEqual((await currentRepair(bench, deletion)).phase, 'done');
    await pass(bench, 50);
    assert.equal((await currentRepair(bench, deletion)).phase, 'done');
  });
});

test('many due repairs of an account neither end the leases of those that are driven nor delay other accounts', async () => {
  const stores: Store[] = [];
  const wrap = (store: Store): Store => {
    const leased = withLeases(store);
    stores.push(leased);
    return leased;
  };
  const owners = { ...ONE_OWNER, accountOf: (instanceId: string) => instanceId };
  const cluster = aloneInCluster(() => []);
  await withBlockedSlices(
    async (bench, slices, endpoint) => {
      await failRuns(bench, { [LONG]: 1 });
      endpoint.isBroken = false;
      const driven: string[] = [];
      for (let n = 0; n < 5; n++) {
        const planned = await plan(bench, 'resume');
        await start(bench, planned, FAST_START);
        driven.push(planned.repair.repairId);
      }
      await pass(bench, 500);
      assert.equal(slices.started, driven.length);
      const record = await bench.store.repairs.find({ ...INSTANCE, repairId: driven[0] ?? '' });
      assert.ok(record);
      for (let n = 0; n < 110; n++)
        await bench.store.repairs.create({
          record: { ...record, repair: { ...record.repair, repairId: `rep_${n}` }, wakeAt: 0 },
          driver: null,
        });
      await pass(bench, 6_000);
      const claimed = await stores[0]?.repairs.claimDue({
        ...{ before: bench.clock.now(), limit: 1_000, limitPerInstance: 1_000, except: [] },
        driver: { nodeId: 'n_2', until: bench.clock.now() + 1 },
      });
      assert.ok(claimed && claimed.length > 0);
      assert.deepEqual(
        claimed.filter(({ repair }) => driven.includes(repair.repairId)),
        [],
      );
      const planning = bench.runtime.repairs.plan({
        ...{ instanceId: 'qi_2', action: 'resume', filter: { kind: 'workflow' }, overrides: {}, createdBy: 'a@b.c' },
      });
      await pass(bench, 1_000);
      const { items } = await bench.store.repairs.list({ instanceId: 'qi_2', after: null, limit: 1 });
      assert.equal(items[0]?.repair.phase, 'planned');
      await planning;
    },
    { wrap, owners, cluster },
  );
});

test('a runtime that stops does not wait for the rest of long copies, and the next one starts each entry once', async () => {
  await withBlockedSlices(async (bench, slices, endpoint) => {
    await failRuns(bench, { [LONG]: 2 });
    endpoint.isBroken = false;
    const planned = await plan(bench, 'resume');
    await start(bench, planned, FAST_START);
    await settle();
    bench.clock.move(100);
    await settle();
    assert.equal(slices.started, 1);
    const restarting = bench.restart();
    await settle();
    slices.release();
    await restarting;
    assert.equal(slices.started, 1);
    await passTime(bench, 2_000);
    const { phase, counts } = await currentRepair(bench, planned);
    assert.deepEqual([phase, counts.succeeded, endpoint.finished], ['done', 2, [LONG, LONG]]);
    const { items } = await bench.store.listRuns({
      ...{ ...INSTANCE, filter: {}, order: 'oldest-first', after: null, horizon: null, limit: 10 },
    });
    assert.equal(items.length, 4);
  });
});
