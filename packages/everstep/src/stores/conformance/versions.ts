/** Versions of runs: decisions on an outdated state are rejected if several processes may decide. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CommitResult, CommitUnit, Store, StoreWrite } from '../../ports/stores/store.js';
import { type OpenStore, withStore } from './harness.js';
import { advanceTask, apply, creation, putTasks, sampleRun, sampleStep, T0, unit } from './samples.js';

const run = sampleRun(1);
const runKey = run.key;
const record = (n: number): StoreWrite => ({ kind: 'record-step', runKey, step: sampleStep(n) });
const decide = (version: number, next: number, ...writes: readonly StoreWrite[]): CommitUnit =>
  unit(writes, [{ kind: 'run-active', runKey, version, next }]);
const decideOn = (version: number, ...writes: readonly StoreWrite[]): CommitUnit => decide(version, version + 1, ...writes);
const versionOf = async (store: Store) => (await store.loadRun({ runKey }))?.version;
const kindsOf = (results: readonly CommitResult[]) => results.map(({ kind }) => kind);
const recordedIndexes = async (store: Store) => (await store.loadJournal({ runKey, from: 0 })).map(({ index }) => index);

export function versionConformance(open: OpenStore): void {
  describe('versions of runs', () => {
    test(
      'a unit that was decided on an older version is rejected as a whole, if there are versions',
      withStore(open, async (store, { hasVersions }) => {
        await apply(store, [creation(run), ...putTasks(runKey, [advanceTask(T0)])]);
        assert.equal(await versionOf(store), 0);
        assert.deepEqual(kindsOf(await store.commit([decideOn(0, record(0))])), ['applied']);
        assert.equal(await versionOf(store), hasVersions ? 1 : 0);
        const otherRun = sampleRun(2);
        const lateUnit = decideOn(0, record(1), creation(otherRun));
        assert.deepEqual(kindsOf(await store.commit([lateUnit])), [hasVersions ? 'run-moved' : 'applied']);
        assert.deepEqual(await recordedIndexes(store), hasVersions ? [0] : [0, 1]);
        assert.equal((await store.findRun({ runKey: otherRun.key }))?.key, hasVersions ? undefined : otherRun.key);
      }),
    );

    test(
      'units of one batch that were decided one on the other are all accepted, even after a restart',
      withStore(open, async (store, underTest) => {
        await apply(store, [creation(run), ...putTasks(runKey, [advanceTask(T0)])]);
        const units = [0, 1, 2].map((n) => decideOn(n, record(n)));
        assert.deepEqual(kindsOf(await store.commit(units)), ['applied', 'applied', 'applied']);
        const reopenedStore = await underTest.reopen();
        assert.equal(await versionOf(reopenedStore), underTest.hasVersions ? 3 : 0);
        assert.deepEqual(kindsOf(await reopenedStore.commit([decideOn(3, record(3))])), ['applied']);
      }),
    );

    test(
      'a rejected unit does not advance the run, and the next one in the batch is checked against the current state',
      withStore(open, async (store, { hasVersions }) => {
        await apply(store, [creation(run)]);
        const nextUnit = decideOn(0, { kind: 'put-task', runKey, task: advanceTask(T0 + 9) });
        const results = await store.commit([decideOn(7, record(0)), nextUnit, nextUnit]);
        const [firstKind, secondKind] = hasVersions ? ['run-moved', 'run-moved'] : ['applied', 'applied'];
        assert.deepEqual(kindsOf(results), [firstKind, 'applied', secondKind]);
        assert.equal(await versionOf(store), hasVersions ? 1 : 0);
      }),
    );

    test(
      'what follows from a rejected unit is rejected too, in the same batch and later',
      withStore(open, async (store, { hasVersions }) => {
        await apply(store, [creation(run)]);
        assert.deepEqual(kindsOf(await store.commit([decide(0, 11, record(0))])), ['applied']);
        const result = hasVersions ? 'run-moved' : 'applied';
        assert.deepEqual(kindsOf(await store.commit([decide(0, 12, record(1)), decide(12, 21, record(2))])), [result, result]);
        assert.deepEqual(kindsOf(await store.commit([decide(21, 31, record(3))])), [result]);
        assert.equal(await versionOf(store), hasVersions ? 11 : 0);
      }),
    );

    test(
      'a unit that only requires a version does not advance it',
      withStore(open, async (store, { hasVersions }) => {
        await apply(store, [creation(run)]);
        const guardUnit = unit([], [{ kind: 'run-active', runKey, version: 0 }]);
        assert.deepEqual(kindsOf(await store.commit([guardUnit, decide(0, 11, record(0)), guardUnit])), [
          'applied',
          'applied',
          hasVersions ? 'run-moved' : 'applied',
        ]);
        assert.equal(await versionOf(store), hasVersions ? 11 : 0);
      }),
    );

    test(
      'a guard without a version requires none, and does not advance it',
      withStore(open, async (store) => {
        await apply(store, [creation(run)]);
        const before = await versionOf(store);
        await apply(store, [record(0)], [{ kind: 'run-active', runKey }]);
        assert.equal(await versionOf(store), before);
      }),
    );

    test(
      'a run that has ended is reported as ended, whatever the version, and its end is a decision like any other',
      withStore(open, async (store) => {
        await apply(store, [creation(run)]);
        const end: StoreWrite = { kind: 'end-run', runKey, outcome: { status: 'succeeded', result: null }, completedAt: T0 };
        assert.deepEqual(kindsOf(await store.commit([decideOn(0, end), decideOn(1, record(0))])), ['applied', 'run-not-active']);
        for (const version of [0, 1]) {
          assert.deepEqual(kindsOf(await store.commit([decideOn(version, record(0))])), ['run-not-active']);
        }
        assert.equal((await store.loadRun({ runKey }))?.status, 'succeeded');
      }),
    );
  });
}
