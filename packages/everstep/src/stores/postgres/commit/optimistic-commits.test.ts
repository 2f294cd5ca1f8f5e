/** Optimistic commits have the same effects as commits that read first. */
import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import type { CommitResult, CommitUnit, Store, StoreWrite } from '../../../ports/stores/store.js';
import { instanceConformance } from '../../conformance/accounts/instances.js';
import { commitConformance } from '../../conformance/commits.js';
import { deadLetterConformance } from '../../conformance/dead-letters.js';
import { eventConformance } from '../../conformance/events.js';
import { flowControlConformance } from '../../conformance/flow-control.js';
import { forkConformance } from '../../conformance/forks.js';
import { messageConformance } from '../../conformance/messages.js';
import { progressConformance } from '../../conformance/progress.js';
import { retentionConformance } from '../../conformance/retention.js';
import { runLogConformance } from '../../conformance/run-log.js';
import {
  advanceTask,
  apply,
  creation,
  INSTANCE,
  putTasks,
  sampleRun,
  sampleStep,
  stepTask,
  T0,
  unit,
  waitTask,
} from '../../conformance/samples.js';
import { taskKindConformance } from '../../conformance/task-kinds.js';
import { triggerConformance } from '../../conformance/triggers.js';
import { openPostgresStore } from '../index.js';
import { IS_ON_CLUSTER } from '../testing/citus.js';
import { storeWithDecisions } from '../testing/decided-store.js';
import { openTestSchemas } from '../testing/schemas.js';
import { READS_AFTER_CONFLICT } from './run-versions.js';

const schemas = await openTestSchemas();
const log = { debug() {}, info() {}, warn() {}, error() {} };

const kinds = (results: readonly CommitResult[]) => results.map(({ kind }) => kind);
const decided = (runKey: string, version: number, next: number, ...writes: readonly StoreWrite[]): CommitUnit =>
  unit(writes, [{ kind: 'run-active', runKey, version, next }]);
const record = (runKey: string, n: number): StoreWrite => ({ kind: 'record-step', runKey, step: sampleStep(n) });
const end = (runKey: string): StoreWrite => ({
  kind: 'end-run',
  runKey,
  outcome: { status: 'succeeded', result: null },
  completedAt: T0 + 1,
});
const journalOf = async (store: Store, runKey: string) =>
  (await store.loadJournal({ runKey, from: 0 })).map(({ index }) => index);

if (typeof schemas === 'string') {
  describe('optimistic commits', { skip: schemas }, () => {});
} else {
  const [shared, own] = [await schemas.make(), await schemas.make()];
  const [here, there] = await Promise.all([1, 2].map(() => openPostgresStore({ url: shared.url, log })));
  assert.ok(here && there);
  after(async () => {
    await here.close();
    await there.close();
  });

  describe('a process that commits optimistically', () => {
    let runs = 0;
    const createRun = async (...writes: readonly StoreWrite[]): Promise<string> => {
      const run = sampleRun(++runs);
      await apply(here, [creation(run), ...putTasks(run.key, [advanceTask(T0)]), ...writes]);
      return run.key;
    };

    // A version conflict in the previous test must not make this one read.
    beforeEach(async () => {
      for (let n = 0; n < READS_AFTER_CONFLICT; n++) await createRun();
    });

    test('a unit is refused if another process has already decided, and the other units are applied', async () => {
      const [moved, going, ending] = [await createRun(), await createRun(), await createRun()];
      await there.commit([decided(moved, 0, 11, record(moved, 0))]);
      const next = sampleRun(++runs);
      const results = await here.commit([
        decided(moved, 0, 12, record(moved, 1), creation(sampleRun(++runs))),
        decided(going, 0, 21, record(going, 0)),
        decided(ending, 0, 31, { kind: 'delete-tasks', runKey: ending }, end(ending)),
        unit([creation(next)]),
      ]);
      assert.deepEqual(kinds(results), ['run-moved', 'applied', 'applied', 'applied']);
      assert.deepEqual(await journalOf(here, moved), [0]);
      assert.deepEqual(await journalOf(here, going), [0]);
      assert.equal((await here.loadRun({ runKey: moved }))?.version, 11);
      assert.equal((await here.loadRun({ runKey: ending }))?.status, 'succeeded');
      assert.equal((await here.loadRun({ runKey: next.key }))?.status, 'active');
      assert.equal(await here.loadRun({ runKey: sampleRun(runs).key }), null);
    });

    test('a unit is refused if another process has ended the run, even if the unit would end it too', async () => {
      const runKey = await createRun();
      await there.commit([decided(runKey, 0, 11, { kind: 'delete-tasks', runKey }, end(runKey))]);
      assert.deepEqual(kinds(await here.commit([decided(runKey, 0, 12, end(runKey))])), ['run-not-active']);
      assert.deepEqual(kinds(await here.commit([decided(runKey, 0, 12, record(runKey, 0))])), ['run-not-active']);
      assert.deepEqual(await journalOf(here, runKey), []);
    });

    test('a unit is refused if another process has taken the run id', async () => {
      const going = await createRun();
      const taken = sampleRun(++runs, { workflowRunId: `taken-${runs}` });
      // The unit has no guard on the id, so that no index prevents a second run.
      await apply(there, [creation(taken)]);
      const free = { kind: 'run-id-free', instanceId: INSTANCE, workflowRunId: taken.workflowRunId } as const;
      const late = sampleRun(++runs, { workflowRunId: taken.workflowRunId });
      const [first, second] = await here.commit([unit([creation(late)], [free]), decided(going, 0, 11, record(going, 0))]);
      const { key: runKey, workflowRunId, createdAt } = taken;
      assert.deepEqual([first, second?.kind], [{ kind: 'run-id-taken', run: { runKey, workflowRunId, createdAt } }, 'applied']);
    });

    test('a run keeps its version if the decision on it is refused for another reason', async () => {
      const [going, other] = [await createRun(), await createRun()];
      const { workflowRunId } = sampleRun(runs);
      const free = { kind: 'run-id-free', instanceId: INSTANCE, workflowRunId } as const;
      const { guards, writes } = decided(going, 0, 11, record(going, 0));
      const results = await here.commit([unit(writes, [...guards, free]), decided(other, 0, 21, record(other, 0))]);
      assert.deepEqual(kinds(results), ['run-id-taken', 'applied']);
      assert.equal((await here.loadRun({ runKey: going }))?.version, 0);
      assert.deepEqual(await journalOf(here, going), []);
    });

    test('a unit can build on decisions and runs of the same batch', async () => {
      const runKey = await createRun();
      const [created, going] = [sampleRun(++runs), sampleRun(++runs)];
      const units = [
        unit([creation(created)]),
        unit([creation(going)]),
        decided(going.key, 0, 51, record(going.key, 0)),
        decided(runKey, 0, 11, record(runKey, 0)),
        decided(created.key, 0, 41, record(created.key, 0)),
        decided(runKey, 11, 12, record(runKey, 1)),
        decided(created.key, 41, 42, end(created.key)),
      ];
      assert.deepEqual(new Set(kinds(await here.commit(units))), new Set(['applied']));
      assert.equal((await here.loadRun({ runKey }))?.version, 12);
      assert.equal((await here.loadRun({ runKey: going.key }))?.version, 51);
      assert.deepEqual(kinds(await here.commit([decided(runKey, 12, 13, record(runKey, 2), end(runKey))])), ['applied']);
      assert.deepEqual(await journalOf(there, runKey), [0, 1, 2]);
      assert.deepEqual(kinds(await there.commit([decided(created.key, 42, 43)])), ['run-not-active']);
    });

    test('the second of two units on the same version in a batch is refused', async () => {
      const runKey = await createRun();
      const results = await here.commit([decided(runKey, 0, 11, record(runKey, 0)), decided(runKey, 0, 12, record(runKey, 1))]);
      assert.deepEqual(kinds(results), ['applied', 'run-moved']);
      assert.deepEqual(await journalOf(there, runKey), [0]);
    });

    test('waits that this or another process has started end', async () => {
      const waiting = (runKey: string, slot: number) => putTasks(runKey, [waitTask(slot, T0 + 9, [`event of ${runKey}`])]);
      const waiters = (runKey: string) =>
        here.listWaiters({ instanceId: INSTANCE, eventId: `event of ${runKey}`, after: null, limit: 9 });
      for (const [first, second] of [
        [here, here],
        [there, here],
        [here, there],
      ] as const) {
        const runKey = await createRun();
        await first.commit([decided(runKey, 0, 11, ...waiting(runKey, 2))]);
        assert.equal((await waiters(runKey)).length, 1);
        await second.commit([decided(runKey, 11, 12, { kind: 'delete-task', runKey, slot: 2 }, ...waiting(runKey, 3))]);
        assert.deepEqual(
          (await waiters(runKey)).map(({ slot }) => slot),
          [3],
        );
        await first.commit([decided(runKey, 12, 13, { kind: 'delete-task', runKey, slot: 3 }, record(runKey, 0))]);
        assert.deepEqual(await waiters(runKey), []);
      }
    });

    test('exactly one of two concurrent decisions on a version is applied, whatever the order of the runs', async () => {
      for (let round = 0; round < 30; round++) {
        const keys = await Promise.all([1, 2, 3, 4, 5, 6].map(() => createRun()));
        const mine = [...keys]
          .reverse()
          .map((runKey) => decided(runKey, 0, 11, record(runKey, 0), ...putTasks(runKey, [stepTask(1, T0)])));
        const theirs = keys.map((runKey) => decided(runKey, 0, 12, record(runKey, 0)));
        const results: readonly (readonly CommitResult[])[] = await Promise.all([here.commit(mine), there.commit(theirs)]);
        for (const [index, runKey] of keys.entries()) {
          const pair: readonly unknown[] = [results[0]?.[keys.length - 1 - index]?.kind, results[1]?.[index]?.kind];
          assert.deepEqual([...pair].sort(), ['applied', 'run-moved']);
          assert.equal((await here.loadRun({ runKey }))?.version, pair[0] === 'applied' ? 11 : 12);
        }
      }
    });

    test('a failed batch does not change the expected versions', async () => {
      const runKey = await createRun();
      await assert.rejects(here.commit([decided(runKey, 0, 11, record(runKey, 0), record(runKey, 0))]), /duplicate key/);
      assert.deepEqual(kinds(await here.commit([decided(runKey, 0, 12, record(runKey, 0))])), ['applied']);
      assert.deepEqual(await journalOf(there, runKey), [0]);
    });
  });

  describe('PostgreSQL with each write as a decision on the previous version', () => {
    after(() => opened?.close());
    let opened: Store | null = null;
    const { url } = own;
    const underTest = async () => {
      opened ??= await openPostgresStore({ url, log });
      const versions = new Map<string, number>();
      return {
        store: storeWithDecisions(opened, versions),
        hasVersions: true,
        commitsByInstance: IS_ON_CLUSTER,
        async reopen() {
          await opened?.close();
          opened = await openPostgresStore({ url, log });
          return storeWithDecisions(opened, versions);
        },
        dispose: () => own.clear(),
      };
    };
    commitConformance(underTest);
    progressConformance(underTest);
    taskKindConformance(underTest);
    eventConformance(underTest);
    runLogConformance(underTest);
    deadLetterConformance(underTest);
    triggerConformance(underTest);
    flowControlConformance(underTest);
    forkConformance(underTest);
    messageConformance(underTest);
    instanceConformance(underTest);
    retentionConformance(underTest);
  });
}
