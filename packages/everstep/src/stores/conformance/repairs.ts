import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NO_COUNTS, newRepair, type Repair } from '../../engine/dead-letters/repair.js';
import type { Run } from '../../engine/runs/run.js';
import type { NewRepairItem, RepairDriver, RepairRecord } from '../../ports/stores/repair-store.js';
import type { Store, StoreWrite } from '../../ports/stores/store.js';
import { sampleAudit } from './accounts/account-samples.js';
import { type OpenStore, withStore } from './harness.js';
import {
  apply,
  creation,
  failure,
  INSTANCE,
  OTHER_INSTANCE,
  sampleDeadLetter,
  sampleRun,
  sampleStep,
  T0,
  unit,
} from './samples.js';

const ID = { instanceId: INSTANCE, repairId: 'rep_00000000000000000000000001' };
/** Claims all repairs that are due. */
const ANY_DUE = { limit: 5, limitPerInstance: 5, except: [] };
const node = (nodeId: string, until: number): RepairDriver => ({ nodeId, until });

const record = (changes: Partial<Repair> = {}, overrides: Partial<RepairRecord> = {}): RepairRecord => ({
  repair: { ...newRepair({ ...ID, action: 'resume', createdAt: T0, createdBy: 'a@b.example' }), ...changes },
  filter: { kind: 'workflow', workflowUrls: ['http://app.example/order'], fromDate: T0 },
  overrides: { maxRetries: 2, flowControlLimits: { parallelism: 3 } },
  freezing: { after: null, horizon: '7' },
  wakeAt: T0,
  version: 0,
  ...overrides,
});

const item = (n: number, overrides: Partial<NewRepairItem> = {}): NewRepairItem => ({
  n,
  rank: n,
  dlqId: `dlq_${n}`,
  runKey: `KEY${n}`,
  workflowRunId: `wfr_${n}`,
  workflowUrl: 'http://app.example/order',
  fingerprint: n === 3 ? 'f3' : null,
  ...overrides,
});

async function createWithItems(store: Store, items: readonly NewRepairItem[], canary = 0): Promise<RepairRecord> {
  await store.repairs.create({ record: record(), driver: null });
  assert.equal(await store.repairs.put({ record: record(), driver: null, items, canary }), true);
  return { ...record(), version: 1 };
}

const setItem = (n: number, state: 'started' | 'gone', newRun: Run | null = null): StoreWrite => ({
  kind: 'set-repair-item',
  ...ID,
  n,
  state,
  newRun: newRun && { runKey: newRun.key, workflowRunId: newRun.workflowRunId },
  error: null,
  at: T0 + 5,
});

export function repairConformance(open: OpenStore): void {
  describe('repairs', () => {
    test(
      'are read as they were written, even after a restart',
      withStore(open, async (store, underTest) => {
        await store.repairs.create({ record: record(), driver: null });
        assert.deepEqual(await store.repairs.find(ID), record());
        assert.equal(await store.repairs.find({ ...ID, instanceId: OTHER_INSTANCE }), null);
        const pausedRecord = record(
          { phase: 'paused', paused: 'running', stopMessage: 'é "x"' },
          { freezing: null, wakeAt: null },
        );
        assert.equal(await store.repairs.put({ record: pausedRecord, driver: null }), true);
        const reopened = await underTest.reopen();
        assert.deepEqual(await reopened.repairs.find(ID), { ...pausedRecord, version: 1 });
      }),
    );

    test(
      'a repair that has changed since it was read is not overwritten, nor are its items',
      withStore(open, async (store) => {
        await createWithItems(store, [item(0)]);
        assert.equal(await store.repairs.put({ record: record(), driver: null, items: [item(1)] }), false);
        assert.equal((await store.repairs.counts(ID)).all.pending, 1);
      }),
    );

    test(
      'a limited number of repairs that have not ended can be created in an instance',
      withStore(open, async (store) => {
        const create = (repairId: string, changes: Partial<Repair> = {}) =>
          store.repairs.create({ record: record({ repairId, ...changes }), driver: null, maxOpen: 2 });
        assert.equal(await create('rep_ended', { phase: 'aborted' }), true);
        assert.deepEqual([await create('rep_1'), await create('rep_2', { phase: 'paused' })], [true, true]);
        assert.equal(await create('rep_3'), false);
        assert.equal(await store.repairs.find({ ...ID, repairId: 'rep_3' }), null);
        assert.equal(await create('rep_other', { instanceId: OTHER_INSTANCE }), true);
        const done = record({ repairId: 'rep_1', phase: 'done' });
        assert.equal(await store.repairs.put({ record: done, driver: null }), true);
        assert.equal(await create('rep_3'), true);
      }),
    );

    test(
      'the items of a repair are removed in parts, without the repair',
      withStore(open, async (store) => {
        await createWithItems(
          store,
          [0, 1, 2].map((n) => item(n)),
        );
        const remove = () => store.repairs.removeItems({ ...ID, limit: 2 });
        assert.deepEqual([await remove(), await remove(), await remove()], [2, 1, 0]);
        assert.ok(await store.repairs.find(ID));
      }),
    );

    test(
      'a change and its audit log entry are written together, or neither',
      withStore(open, async (store) => {
        const audit = sampleAudit(1, ['usr_owner']);
        await store.repairs.create({ record: record(), driver: null });
        assert.equal(await store.repairs.put({ record: record({}, { version: 7 }), driver: null, audit }), false);
        const auditEntries = () => store.accounts.listAudit({ accountIds: audit.accountIds, after: null, limit: 5 });
        assert.deepEqual(await auditEntries(), []);
        assert.equal(await store.repairs.put({ record: record(), driver: null, audit }), true);
        assert.deepEqual(await auditEntries(), [audit]);
      }),
    );

    test(
      'entries that a delete will remove at the end of its undo window are reported, with the earliest of several deletes',
      withStore(open, async (store) => {
        const plans = [
          ['rep_late', 'undo-window', T0 + 900, [0, 1]],
          ['rep_soon', 'undo-window', T0 + 500, [1]],
          ['rep_undone', 'aborted', T0 + 100, [0, 2]],
        ] as const;
        for (const [repairId, phase, undoUntil, itemNumbers] of plans) {
          const repairRecord = record({ repairId, action: 'delete', phase, undoUntil });
          await store.repairs.create({ record: repairRecord, driver: null });
          await store.repairs.put({ record: repairRecord, driver: null, items: itemNumbers.map((n) => item(n)) });
        }
        const deletions = await store.repairs.scheduledDeletions({
          instanceId: INSTANCE,
          dlqIds: ['dlq_0', 'dlq_1', 'dlq_2', 'dlq_3'],
        });
        assert.deepEqual(
          [...deletions].sort((a, b) => (a.dlqId < b.dlqId ? -1 : 1)),
          [
            { dlqId: 'dlq_0', repairId: 'rep_late', at: T0 + 900 },
            { dlqId: 'dlq_1', repairId: 'rep_soon', at: T0 + 500 },
          ],
        );
        assert.deepEqual(await store.repairs.scheduledDeletions({ instanceId: OTHER_INSTANCE, dlqIds: ['dlq_0'] }), []);
      }),
    );

    test(
      'are listed newest first, by phase, page by page, separately for each instance',
      withStore(open, async (store) => {
        const ids = [1, 2, 3].map((n) => `rep_${String(n).padStart(26, '0')}`);
        for (const [n, repairId] of ids.entries())
          await store.repairs.create({ record: record({ repairId, phase: n === 1 ? 'done' : 'planned' }), driver: null });
        await store.repairs.create({ record: record({ instanceId: OTHER_INSTANCE, repairId: 'rep_other' }), driver: null });
        const firstPage = await store.repairs.list({ instanceId: INSTANCE, after: null, limit: 2 });
        assert.deepEqual(
          firstPage.items.map(({ repair }) => repair.repairId),
          [ids[2], ids[1]],
        );
        const secondPage = await store.repairs.list({ instanceId: INSTANCE, after: firstPage.next, limit: 2 });
        assert.deepEqual([secondPage.items.map(({ repair }) => repair.repairId), secondPage.next], [[ids[0]], null]);
        const donePage = await store.repairs.list({ instanceId: INSTANCE, phases: ['done', 'stopped'], after: null, limit: 2 });
        assert.deepEqual(
          donePage.items.map(({ repair }) => repair.repairId),
          [ids[1]],
        );
      }),
    );

    test(
      'due repairs are returned with the next due time',
      withStore(open, async (store) => {
        const ids = ['rep_a', 'rep_b', 'rep_c'];
        for (const [n, repairId] of ids.entries())
          await store.repairs.create({ record: record({ repairId }, { wakeAt: n === 2 ? null : T0 + 10 - n }), driver: null });
        const dueRepairs = await store.repairs.claimDue({ ...ANY_DUE, before: T0 + 10, driver: null });
        assert.deepEqual(
          dueRepairs.map(({ repair }) => repair.repairId),
          ['rep_b', 'rep_a'],
        );
        assert.deepEqual(await store.repairs.claimDue({ ...ANY_DUE, before: T0 + 8, driver: null }), []);
        const nextTimes = [8, 9, 10].map((after) => store.repairs.nextAt({ nodeId: null, after: T0 + after }));
        assert.deepEqual(await Promise.all(nextTimes), [T0 + 9, T0 + 10, null]);
      }),
    );

    test(
      'many due repairs of an instance do not hide those of others, and excluded ones are not counted',
      withStore(open, async (store) => {
        const ids = ['rep_a', 'rep_b', 'rep_c', 'rep_d'];
        for (const [n, repairId] of ids.entries())
          await store.repairs.create({ record: record({ repairId }, { wakeAt: T0 + n }), driver: null });
        const otherRepair = record({ repairId: 'rep_e', instanceId: OTHER_INSTANCE }, { wakeAt: T0 + 9 });
        await store.repairs.create({ record: otherRepair, driver: null });
        const claimDue = async (limit: number, limitPerInstance: number, exceptIds: readonly string[] = []) => {
          const except = exceptIds.map((repairId) => ({ instanceId: INSTANCE, repairId }));
          const dueRepairs = await store.repairs.claimDue({ before: T0 + 9, limit, limitPerInstance, except, driver: null });
          return dueRepairs.map(({ repair }) => repair.repairId).join();
        };
        assert.equal(await claimDue(5, 2), 'rep_a,rep_e,rep_b');
        assert.equal(await claimDue(2, 2), 'rep_a,rep_e');
        assert.equal(await claimDue(5, 2, ['rep_a', 'rep_c']), 'rep_b,rep_e,rep_d');
      }),
    );

    test(
      'an entry is described by its run and the length of its journal; a missing one is omitted',
      withStore(open, async (store) => {
        const run = sampleRun(1);
        const steps = [0, 1].map((index): StoreWrite => ({ kind: 'record-step', runKey: run.key, step: sampleStep(index) }));
        const entry = sampleDeadLetter(run);
        await apply(store, [creation(run), ...steps, ...failure(run, entry)]);
        const { dlqId } = entry;
        const deadLetter = await store.findDeadLetter({ instanceId: INSTANCE, dlqId });
        assert.deepEqual(await store.repairs.describe({ instanceId: INSTANCE, dlqIds: ['dlq_no', dlqId] }), [
          {
            dlqId,
            runKey: run.key,
            workflowRunId: run.workflowRunId,
            workflowUrl: run.workflowUrl,
            failedAt: entry.createdAt,
            steps: 2,
            fingerprint: deadLetter?.fingerprint ?? null,
          },
        ]);
        assert.deepEqual(await store.repairs.describe({ instanceId: OTHER_INSTANCE, dlqIds: [dlqId] }), []);
      }),
    );

    test(
      'the canary takes the first of each workflow before the second of any',
      withStore(open, async (store) => {
        const otherUrl = 'http://app.example/other';
        const items = [item(0), item(1), item(2), item(3, { workflowUrl: otherUrl, rank: 0 }), item(4, { rank: null })];
        await createWithItems(store, items, 3);
        const canaryItems = await store.repairs.pending({ ...ID, canaryOnly: true, limit: 10 });
        assert.deepEqual(
          canaryItems.map(({ n, canary }) => [n, canary]),
          [
            [0, true],
            [3, true],
            [1, true],
          ],
          'the canary is started in the order in which it was chosen',
        );
        const groups = await store.repairs.canaryGroups(ID);
        assert.deepEqual(
          groups.map(({ fingerprint, counts }) => [fingerprint, counts.pending]),
          [
            [null, 2],
            ['f3', 1],
          ],
        );
        assert.equal((await store.repairs.pending({ ...ID, canaryOnly: false, limit: 10 })).length, 5);
        const { all, canary } = await store.repairs.counts(ID);
        assert.deepEqual([all.pending, canary.pending], [5, 3]);
        const cohorts = await store.repairs.cohorts(ID);
        assert.deepEqual(cohorts.map(({ workflowUrl, fingerprint, count }) => [workflowUrl, fingerprint, count]).toSorted(), [
          ['http://app.example/order', null, 4],
          [otherUrl, 'f3', 1],
        ]);
      }),
    );

    test(
      'the outcome of an item is written in the unit that produces it, only on the version of the repair',
      withStore(open, async (store) => {
        const { version } = await createWithItems(store, [item(0), item(1)]);
        const at = (expectedVersion: number) => ({ kind: 'repair-at', ...ID, version: expectedVersion }) as const;
        const run = sampleRun(7);
        const [rejectedResult, appliedResult] = await store.commit([
          unit([creation(sampleRun(8)), setItem(1, 'started', sampleRun(8))], [at(version - 1)]),
          unit([creation(run), setItem(0, 'started', run)], [at(version)]),
        ]);
        assert.deepEqual([rejectedResult?.kind, appliedResult?.kind], ['repair-moved', 'applied']);
        assert.equal(await store.loadRun({ runKey: sampleRun(8).key }), null);
        // An item that is no longer pending stays unchanged.
        await apply(store, [setItem(0, 'gone')]);
        const { items, next } = await store.repairs.items({ ...ID, after: -1, limit: 1 });
        assert.deepEqual(items, [
          {
            ...{ n: 0, dlqId: 'dlq_0', runKey: 'KEY0', workflowRunId: 'wfr_0', workflowUrl: 'http://app.example/order' },
            fingerprint: null,
            ...{ state: 'started', canary: false, newRunKey: run.key, newWorkflowRunId: run.workflowRunId },
            ...{ newDlqId: null, error: null, at: T0 + 5 },
          },
        ]);
        assert.equal(next, 0);
        const startedItems = await store.repairs.items({ ...ID, states: ['started', 'gone'], after: -1, limit: 5 });
        assert.deepEqual(
          startedItems.items.map(({ n }) => n),
          [0],
        );
        assert.deepEqual((await store.repairs.counts(ID)).all, { ...NO_COUNTS, pending: 1, started: 1 });
      }),
    );

    test(
      'started items whose new runs have ended are found, with the new dead letter, and settled once',
      withStore(open, async (store) => {
        await createWithItems(
          store,
          [0, 1, 2, 3, 4].map((n) => item(n)),
        );
        const runs = [1, 2, 3, 4].map((n) => sampleRun(n));
        const [activeRun, succeededRun, failedRun, canceledRun] = runs;
        assert.ok(activeRun && succeededRun && failedRun && canceledRun);
        await apply(store, [
          ...runs.map((run) => creation(run)),
          ...runs.map((run, n) => setItem(n, 'started', run)),
          setItem(4, 'started', sampleRun(9)),
        ]);
        const entry = sampleDeadLetter(failedRun);
        await apply(store, [
          ...failure(failedRun, entry),
          { kind: 'end-run', runKey: succeededRun.key, outcome: { status: 'succeeded', result: '1' }, completedAt: T0 + 50 },
          { kind: 'end-run', runKey: canceledRun.key, outcome: { status: 'canceled' }, completedAt: T0 + 50 },
        ]);
        const { ended, examined, next } = await store.repairs.endedItems({ ...ID, after: -1, limit: 10 });
        assert.deepEqual([examined, next], [5, null]);
        assert.deepEqual(
          ended.map(({ n, state, newDlqId }) => [n, state, newDlqId]),
          [
            [1, 'succeeded', null],
            [2, 'failed', entry.dlqId],
            [3, 'canceled', null],
            [4, 'gone', null],
          ],
        );
        assert.deepEqual(await store.repairs.settle({ ...ID, items: ended, at: T0 + 60 }), [1, 2, 3, 4]);
        assert.deepEqual(await store.repairs.settle({ ...ID, items: ended, at: T0 + 70 }), []);
        const { items } = await store.repairs.items({ ...ID, states: ['failed'], after: -1, limit: 5 });
        assert.deepEqual([items[0]?.newDlqId, items[0]?.at, items[0]?.error !== null], [entry.dlqId, T0 + 60, true]);
        const firstItemPage = await store.repairs.endedItems({ ...ID, after: -1, limit: 1 });
        assert.deepEqual([firstItemPage.ended, firstItemPage.next], [[], 0]);
      }),
    );

    test(
      'old completed repairs are removed with their items, and others stay',
      withStore(open, async (store) => {
        await createWithItems(
          store,
          [0, 1, 2].map((n) => item(n)),
        );
        const doneRepair = record({ phase: 'done', endedAt: T0 + 100 }, { wakeAt: null, version: 1 });
        await store.repairs.put({ record: doneRepair, driver: null });
        await store.repairs.create({ record: record({ repairId: 'rep_z' }), driver: null });
        const plannedId = { instanceId: INSTANCE, repairId: 'rep_planned' };
        const plannedRepair = record({ repairId: plannedId.repairId, phase: 'planned' }, { wakeAt: null });
        await store.repairs.create({ record: plannedRepair, driver: null });
        const remove = (before: number | null, plannedBefore = T0) =>
          store.repairs.removeBefore({ instanceId: INSTANCE, before, plannedBefore, limit: 2 });
        assert.equal(await remove(null), false);
        assert.equal(await remove(T0 + 100), false);
        assert.deepEqual([await remove(T0 + 101), await remove(T0 + 101), await remove(T0 + 101)], [true, true, false]);
        assert.equal(await store.repairs.find(ID), null);
        assert.ok(await store.repairs.find(plannedId));
        assert.deepEqual([await remove(null, T0 + 1), await remove(null, T0 + 1)], [true, false]);
        assert.equal(await store.repairs.find(plannedId), null);
        assert.ok(await store.repairs.find({ instanceId: INSTANCE, repairId: 'rep_z' }));
        assert.deepEqual((await store.repairs.counts(ID)).all, NO_COUNTS);
      }),
    );
  });
}

/** Requirements for the repairs of a store that several processes share. */
export function sharedRepairConformance(open: OpenStore): void {
  test(
    'a repair is driven by one process at a time, until its lease ends or it is handed to another one',
    withStore(open, async (store) => {
      await store.repairs.create({ record: record(), driver: node('a', T0 + 50) });
      const claimDue = (nodeId: string, before: number) =>
        store.repairs.claimDue({ ...ANY_DUE, before, driver: node(nodeId, before + 50) });
      assert.equal((await claimDue('b', T0 + 10)).length, 0);
      assert.equal(await store.repairs.nextAt({ nodeId: 'b', after: T0 + 10 }), T0 + 50);
      assert.equal(await store.repairs.nextAt({ nodeId: 'a', after: T0 - 1 }), T0);
      assert.equal((await claimDue('a', T0 + 30)).length, 1);
      assert.equal((await claimDue('b', T0 + 79)).length, 0);
      assert.equal((await claimDue('b', T0 + 80)).length, 1);
      assert.equal((await claimDue('a', T0 + 81)).length, 0);
      assert.equal(await store.repairs.put({ record: record(), driver: node('a', T0 + 140) }), true);
      assert.equal((await claimDue('a', T0 + 90)).length, 1);
    }),
  );

  test(
    'a lease is renewed when less than half of it remains, and only for its process',
    withStore(open, async (store) => {
      await store.repairs.create({ record: record(), driver: node('a', T0 + 50) });
      const leaseEnd = () => store.repairs.nextAt({ nodeId: null, after: T0 });
      const renew = (nodeId: string, now: number, id = ID) =>
        store.repairs.renewLeases({ repairIds: [id], now, driver: node(nodeId, now + 50) });
      const [early, late] = [T0 + 25, T0 + 26];
      assert.equal((await store.repairs.claimDue({ ...ANY_DUE, before: early, driver: node('a', early + 50) })).length, 1);
      await renew('a', early);
      await renew('b', late);
      await renew('a', late, { ...ID, repairId: 'rep_other' });
      assert.equal(await leaseEnd(), T0 + 50);
      await renew('a', late);
      assert.equal(await leaseEnd(), late + 50);
    }),
  );

  test(
    'simultaneous plans of an instance do not exceed its limit',
    withStore(open, async (store) => {
      const created = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          store.repairs.create({ record: record({ repairId: `rep_${n}` }), driver: null, maxOpen: 3 }),
        ),
      );
      assert.equal(created.filter((isCreated) => isCreated).length, 3);
    }),
  );
}
