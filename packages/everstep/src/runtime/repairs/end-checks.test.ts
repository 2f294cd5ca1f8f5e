/** Checks whether the runs of a repair have ended, when the store cannot be read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RepairRecord } from '../../ports/stores/repair-store.js';
import type { Store } from '../../ports/stores/store.js';
import { type Bench, ScriptedCaller, settle, withRuntime } from '../runtime.fixture.js';
import { currentRepair, Endpoints, FAST_START, failRuns, plan, start } from './repairs.fixture.js';

const A = 'http://app/a';
const B = 'http://app/b';

/** Endpoints that fail while they are broken, and then respond when `finishRun` is called with their URL. */
function heldEndpoints() {
  const endpoints = new Endpoints();
  const finishers = new Map<string, () => void>();
  const caller = new ScriptedCaller(async (call) => {
    if (!endpoints.isBroken(call.workflowUrl)) {
      await new Promise<void>((resolve) => {
        finishers.set(call.workflowUrl, resolve);
      });
    }
    return endpoints.respond(call);
  });
  return { endpoints, caller, finishRun: (url: string) => finishers.get(url)?.() };
}

/** A store in which the checks of one repair fail while `damagedId` is set. Records the checks by repair. */
function damagedChecks() {
  const bench = { damagedId: '', checks: [] as string[] };
  const wrap = (store: Store): Store => ({
    ...store,
    repairs: {
      ...store.repairs,
      async endedItems(query) {
        bench.checks.push(query.repairId);
        if (query.repairId === bench.damagedId) throw new Error('the disk is full');
        return store.repairs.endedItems(query);
      },
    },
  });
  return { bench, wrap };
}

/** Advances the clock in short steps, while runs are in flight. */
const passTime = async ({ clock }: Pick<Bench, 'clock'>, ms: number): Promise<void> => {
  for (let passedMs = 0; passedMs < ms; passedMs += 50) {
    await settle();
    clock.move(50);
  }
  await settle();
};

test('a check for ended runs that fails is repeated after a second', async () => {
  const { endpoints, caller, finishRun } = heldEndpoints();
  const { bench: damaged, wrap } = damagedChecks();
  await withRuntime(
    caller,
    async (bench) => {
      await failRuns(bench, { [A]: 1 });
      endpoints.isBroken = () => false;
      const planned = await plan(bench, 'resume');
      await start(bench, planned, FAST_START);
      await passTime(bench, 2_000);
      damaged.damagedId = planned.repair.repairId;
      damaged.checks.length = 0;
      finishRun(A);
      await passTime(bench, 200);
      assert.equal(damaged.checks.length, 1);
      damaged.damagedId = '';
      await passTime(bench, 1_000);
      const { phase, counts } = await currentRepair(bench, planned);
      assert.deepEqual([phase, counts.succeeded], ['done', 1]);
    },
    { wrap },
  );
});

test('a repair whose check for ended runs fails does not cause checks of other repairs', async () => {
  const { endpoints, caller, finishRun } = heldEndpoints();
  const { bench: damaged, wrap } = damagedChecks();
  await withRuntime(
    caller,
    async (bench) => {
      await failRuns(bench, { [A]: 1, [B]: 1 });
      endpoints.isBroken = () => false;
      const [a, b] = [await plan(bench, 'resume', { workflowUrls: [A] }), await plan(bench, 'resume', { workflowUrls: [B] })];
      for (const planned of [a, b]) await start(bench, planned, FAST_START);
      await passTime(bench, 2_000);
      damaged.damagedId = a.repair.repairId;
      damaged.checks.length = 0;
      finishRun(A);
      await passTime(bench, 3_500);
      const checksOf = ({ repair }: RepairRecord) => damaged.checks.filter((repairId) => repairId === repair.repairId).length;
      assert.deepEqual([checksOf(a), checksOf(b)], [4, 1]);
      damaged.damagedId = '';
      finishRun(B);
      await passTime(bench, 1_000);
      assert.deepEqual([(await currentRepair(bench, a)).phase, (await currentRepair(bench, b)).phase], ['done', 'done']);
    },
    { wrap },
  );
});
