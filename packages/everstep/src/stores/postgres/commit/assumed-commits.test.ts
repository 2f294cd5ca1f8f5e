/** Commits that take for granted what this process committed last: they do what those do that read first. */
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
import { decidedStore } from '../testing/decided-store.js';
import { openTestSchemas } from '../testing/schemas.js';
import { READING_AFTER_MISTAKE } from './assumptions.js';

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
  describe('commits that read nothing', { skip: schemas }, () => {});
} else {
  const [shared, own] = [await schemas.make(), await schemas.make()];
  const [here, there] = await Promise.all([1, 2].map(() => openPostgresStore({ url: shared.url, log })));
  assert.ok(here && there);
  after(async () => {
    await here.close();
    await there.close();
  });

  describe('a process that takes for granted what it committed last', () => {
    let runs = 0;
    const begin = async (...writes: readonly StoreWrite[]): Promise<string> => {
      const run = sampleRun(++runs);
      await apply(here, [creation(run), ...putTasks(run.key, [advanceTask(T0)]), ...writes]);
      return run.key;
    };

    // What the test before was mistaken in must not make this one read.
    beforeEach(async () => {
      for (let n = 0; n < READING_AFTER_MISTAKE; n++) await begin();
    });

    test('is refused where another has decided since, with all of that unit and nothing of the others', async () => {
      const [moved, going, ending] = [await begin(), await begin(), await begin()];
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

    test('hears that a run has ended when another has ended it, also where it would end it itself', async () => {
      const runKey = await begin();
      await there.commit([decided(runKey, 0, 11, { kind: 'delete-tasks', runKey }, end(runKey))]);
      assert.deepEqual(kinds(await here.commit([decided(runKey, 0, 12, end(runKey))])), ['run-not-active']);
      assert.deepEqual(kinds(await here.commit([decided(runKey, 0, 12, record(runKey, 0))])), ['run-not-active']);
      assert.deepEqual(await journalOf(here, runKey), []);
    });

    test('hears of the run that has the id which it takes to be free', async () => {
      const going = await begin();
      const taken = sampleRun(++runs, { workflowRunId: `taken-${runs}` });
      // Not as the only one of its id, so that no index keeps two of them apart.
      await apply(there, [creation(taken)]);
      const free = { kind: 'run-id-free', instanceId: INSTANCE, workflowRunId: taken.workflowRunId } as const;
      const late = sampleRun(++runs, { workflowRunId: taken.workflowRunId });
      const [first, second] = await here.commit([unit([creation(late)], [free]), decided(going, 0, 11, record(going, 0))]);
      const { key: runKey, workflowRunId, createdAt } = taken;
      assert.deepEqual([first, second?.kind], [{ kind: 'run-id-taken', run: { runKey, workflowRunId, createdAt } }, 'applied']);
    });

    test('leaves a run where it was when the decision on it is refused for something else', async () => {
      const [going, other] = [await begin(), await begin()];
      const { workflowRunId } = sampleRun(runs);
      const free = { kind: 'run-id-free', instanceId: INSTANCE, workflowRunId } as const;
      const { guards, writes } = decided(going, 0, 11, record(going, 0));
      const results = await here.commit([unit(writes, [...guards, free]), decided(other, 0, 21, record(other, 0))]);
      assert.deepEqual(kinds(results), ['run-id-taken', 'applied']);
      assert.equal((await here.loadRun({ runKey: going }))?.version, 0);
      assert.deepEqual(await journalOf(here, going), []);
    });

    test('goes on with what it decided in the same batch, and with what it begins there', async () => {
      const runKey = await begin();
      const [begun, going] = [sampleRun(++runs), sampleRun(++runs)];
      const units = [
        unit([creation(begun)]),
        unit([creation(going)]),
        decided(going.key, 0, 51, record(going.key, 0)),
        decided(runKey, 0, 11, record(runKey, 0)),
        decided(begun.key, 0, 41, record(begun.key, 0)),
        decided(runKey, 11, 12, record(runKey, 1)),
        decided(begun.key, 41, 42, end(begun.key)),
      ];
      assert.deepEqual(new Set(kinds(await here.commit(units))), new Set(['applied']));
      assert.equal((await here.loadRun({ runKey }))?.version, 12);
      assert.equal((await here.loadRun({ runKey: going.key }))?.version, 51);
      assert.deepEqual(kinds(await here.commit([decided(runKey, 12, 13, record(runKey, 2), end(runKey))])), ['applied']);
      assert.deepEqual(await journalOf(there, runKey), [0, 1, 2]);
      assert.deepEqual(kinds(await there.commit([decided(begun.key, 42, 43)])), ['run-not-active']);
    });

    test('refuses the second of two units of a batch that were decided on the same version', async () => {
      const runKey = await begin();
      const results = await here.commit([decided(runKey, 0, 11, record(runKey, 0)), decided(runKey, 0, 12, record(runKey, 1))]);
      assert.deepEqual(kinds(results), ['applied', 'run-moved']);
      assert.deepEqual(await journalOf(there, runKey), [0]);
    });

    test('ends waits that another has begun, and those that it began itself', async () => {
      const waiting = (runKey: string, slot: number) => putTasks(runKey, [waitTask(slot, T0 + 9, [`event of ${runKey}`])]);
      const waiters = (runKey: string) =>
        here.listWaiters({ instanceId: INSTANCE, eventId: `event of ${runKey}`, after: null, limit: 9 });
      for (const [first, second] of [
        [here, here],
        [there, here],
        [here, there],
      ] as const) {
        const runKey = await begin();
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

    test('of two that decide on a version at once one does, whoever is first, and in whatever order they name the runs', async () => {
      for (let round = 0; round < 30; round++) {
        const keys = await Promise.all([1, 2, 3, 4, 5, 6].map(() => begin()));
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

    test('is not misled by a batch that failed', async () => {
      const runKey = await begin();
      await assert.rejects(here.commit([decided(runKey, 0, 11, record(runKey, 0), record(runKey, 0))]), /duplicate key/);
      assert.deepEqual(kinds(await here.commit([decided(runKey, 0, 12, record(runKey, 0))])), ['applied']);
      assert.deepEqual(await journalOf(there, runKey), [0]);
    });
  });

  describe('PostgreSQL, where each write is a decision on the one before', () => {
    after(() => opened?.close());
    let opened: Store | null = null;
    const { url } = own;
    const underTest = async () => {
      opened ??= await openPostgresStore({ url, log });
      const versions = new Map<string, number>();
      return {
        store: decidedStore(opened, versions),
        hasVersions: true,
        async reopen() {
          await opened?.close();
          opened = await openPostgresStore({ url, log });
          return decidedStore(opened, versions);
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
