import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Run, RunOrigin } from '../../engine/runs/run.js';
import type { StoreWrite } from '../../ports/stores/store.js';
import { sampleAudit } from './accounts/account-samples.js';
import { type OpenStore, withStore } from './harness.js';
import {
  advanceTask,
  apply,
  creation,
  failure,
  INSTANCE,
  putTasks,
  sampleDeadLetter,
  sampleRun,
  sampleStep,
  T0,
  unit,
} from './samples.js';

const originalRun = sampleRun(1);
const runKey = originalRun.key;
const originOf = (n: number, kind: 'fork' | 'invoke'): RunOrigin => {
  const from = { runKey, workflowRunId: originalRun.workflowRunId, workflowCreatedAt: originalRun.createdAt };
  return kind === 'fork'
    ? { ...from, kind, stepId: n, note: `note ${n}` }
    : { ...from, kind, stepId: n, stepName: `child ${n}`, depth: 1 };
};
const fork = sampleRun(2, { origin: originOf(2, 'fork') });
const record = (key: string, ...steps: readonly ReturnType<typeof sampleStep>[]): readonly StoreWrite[] =>
  steps.map((step) => ({ kind: 'record-step', runKey: key, step }));

/** Stages the journal of the original run, which has two steps, for the fork. */
const stageJournalOf = ({ key, createdAt }: Run): readonly StoreWrite[] => [
  { kind: 'stage-journal', fromRunKey: runKey, toRunKey: key, from: 0, below: 2, without: [], at: createdAt },
];
const adoptionOf = (run: Run): readonly StoreWrite[] => [
  creation(run, { copyOf: runKey }),
  { kind: 'adopt-journal', runKey: run.key, instanceId: INSTANCE, steps: 2 },
];

export function forkConformance(open: OpenStore): void {
  describe('forks', () => {
    test(
      'keep the start of a journal, with edited results at their positions, and the original stays',
      withStore(open, async (store) => {
        const journal = [0, 1, 2, 3].map((index) => sampleStep(index));
        const editedStep = { ...sampleStep(1), out: '"edited"', edited: true } as const;
        const suppliedStep = { ...sampleStep(3), out: null, edited: true } as const;
        await apply(store, [creation(originalRun), ...record(runKey, ...journal)]);
        await apply(store, [
          creation(fork, { copyOf: runKey }),
          { kind: 'copy-journal', fromRunKey: runKey, toRunKey: fork.key, length: 3, without: [1] },
          ...record(fork.key, editedStep, suppliedStep),
          ...putTasks(fork.key, [advanceTask(T0)]),
        ]);
        assert.deepEqual(await store.loadJournal({ runKey: fork.key, from: 0 }), [
          sampleStep(0),
          editedStep,
          sampleStep(2),
          suppliedStep,
        ]);
        assert.deepEqual(await store.loadJournal({ runKey, from: 0 }), journal);
        const copyOfFork = sampleRun(3);
        await apply(store, [
          creation(copyOfFork),
          { kind: 'copy-journal', fromRunKey: fork.key, toRunKey: copyOfFork.key, length: 2 },
        ]);
        assert.deepEqual(
          await store.loadJournal({ runKey: copyOfFork.key, from: 0 }),
          [sampleStep(0), editedStep],
          'the mark is copied too',
        );
      }),
    );

    test(
      'know which steps after the first free position are recorded, until the next step is planned',
      withStore(open, async (store) => {
        await apply(store, [
          creation(fork),
          ...record(fork.key, sampleStep(0, { stepId: 2 }), sampleStep(1, { stepId: 1 }), sampleStep(2, { stepId: 5 })),
          ...putTasks(fork.key, [advanceTask(T0)]),
        ]);
        const loadedFork = await store.loadRun({ runKey: fork.key });
        assert.deepEqual([loadedFork?.nextStepId, loadedFork?.ahead, loadedFork?.origin], [3, [5], fork.origin]);
      }),
    );

    test(
      'are not created from a run that is gone',
      withStore(open, async (store) => {
        const guards = [{ kind: 'run-present', runKey }] as const;
        assert.deepEqual(await store.commit([unit([creation(fork)], guards)]), [{ kind: 'run-gone' }]);
        assert.equal(await store.findRun({ runKey: fork.key }), null);
        await apply(store, [creation(originalRun)]);
        await apply(store, [creation(fork)], guards);
      }),
    );

    test(
      'whose journal was staged while another run used their id are its only active run, and found by it',
      withStore(open, async (store, underTest) => {
        const workflowRunId = 'order-7';
        const guards = [{ kind: 'run-id-free', instanceId: INSTANCE, workflowRunId }] as const;
        const longFork = sampleRun(2, { workflowRunId, origin: originOf(2, 'fork') });
        const [interim, duplicate, successor] = [3, 4, 5].map((n) => sampleRun(n, { workflowRunId }));
        assert.ok(interim && duplicate && successor);
        const ending = (key: string): StoreWrite => ({
          kind: 'end-run',
          runKey: key,
          outcome: { status: 'succeeded', result: null },
          completedAt: T0 + 9,
        });
        await apply(store, [creation(originalRun), ...record(runKey, sampleStep(0), sampleStep(1))]);
        await apply(store, stageJournalOf(longFork));
        await apply(store, [creation(interim), ...putTasks(interim.key, [advanceTask(T0)])], guards);
        await apply(store, [{ kind: 'delete-task', runKey: interim.key, slot: 0 }, ending(interim.key)]);
        await apply(store, [...adoptionOf(longFork), ...putTasks(longFork.key, [advanceTask(T0)])], guards);

        const reopened = await underTest.reopen();
        const { key, createdAt } = longFork;
        const conflict = { kind: 'run-id-taken', run: { runKey: key, workflowRunId, createdAt } } as const;
        assert.deepEqual(await reopened.commit([unit([creation(duplicate)], guards)]), [conflict]);
        assert.equal((await reopened.findRun({ instanceId: INSTANCE, workflowRunId }))?.key, key);
        const foundInterim = await reopened.findRun({ instanceId: INSTANCE, workflowRunId, createdAt: interim.createdAt });
        assert.equal(foundInterim?.key, interim.key);
        assert.deepEqual(
          await reopened.commit([
            unit([{ kind: 'delete-task', runKey: key, slot: 0 }, ending(key)]),
            unit([creation(successor), ...putTasks(successor.key, [advanceTask(T0)])], guards),
            unit([creation(duplicate)], guards),
          ]),
          [
            { kind: 'applied' },
            { kind: 'applied' },
            { kind: 'run-id-taken', run: { runKey: successor.key, workflowRunId, createdAt: successor.createdAt } },
          ],
        );
        assert.equal((await reopened.findRun({ instanceId: INSTANCE, workflowRunId }))?.key, successor.key);
      }),
    );

    test(
      'whose journal was staged before the horizon of a listing, but that were created after it, are not in the listing',
      withStore(open, async (store) => {
        await apply(store, [creation(originalRun), ...record(runKey, sampleStep(0), sampleStep(1))]);
        const [longFork, laterRun] = [fork, sampleRun(3)];
        await apply(store, stageJournalOf(longFork));
        const firstHorizon = await store.runHorizon({ instanceId: INSTANCE });
        await apply(store, [creation(laterRun)]);
        const secondHorizon = await store.runHorizon({ instanceId: INSTANCE });
        await apply(store, adoptionOf(longFork));
        const keysUpTo = async (horizon: string | null) => {
          const page = { instanceId: INSTANCE, filter: {}, order: 'oldest-first', after: null, horizon, limit: 5 } as const;
          return (await store.listRuns(page)).items.map(({ key }) => key);
        };
        assert.deepEqual(await keysUpTo(firstHorizon), [runKey]);
        assert.deepEqual(await keysUpTo(secondHorizon), [runKey, laterRun.key]);
        assert.deepEqual([...(await keysUpTo(null))].sort(), [runKey, longFork.key, laterRun.key]);
      }),
    );

    test(
      'are in the audit log with their unit, or not at all',
      withStore(open, async (store) => {
        const guards = [{ kind: 'run-present', runKey }] as const;
        const auditWrite = (n: number) => ({ kind: 'add-audit', entry: sampleAudit(n, ['usr_ann']) }) as const;
        await store.commit([unit([creation(fork), auditWrite(1)], guards)]);
        await apply(store, [creation(originalRun), auditWrite(2)]);
        const entries = await store.accounts.listAudit({ accountIds: ['usr_ann'], after: null, limit: 9 });
        assert.deepEqual(entries, [sampleAudit(2, ['usr_ann'])]);
      }),
    );

    test(
      'and other derived runs are found from their source, in the order of creation, up to the requested number',
      withStore(open, async (store) => {
        const child = sampleRun(3, { origin: originOf(3, 'invoke') });
        const laterFork = sampleRun(4, { origin: originOf(4, 'fork') });
        const dlqId = `dlq_${runKey}`;
        const resumedRun = sampleRun(5, {
          origin: { kind: 'resume', runKey, workflowRunId: 'a', workflowCreatedAt: T0, dlqId },
        });
        const unrelatedRun = sampleRun(6);
        for (const run of [originalRun, fork, child, laterFork, resumedRun, unrelatedRun]) await apply(store, [creation(run)]);
        await apply(store, failure(originalRun, sampleDeadLetter(originalRun)));
        await apply(store, [
          {
            kind: 'take-dead-letter',
            instanceId: INSTANCE,
            dlqId,
            recoveredAs: { kind: 'resume', runKey: resumedRun.key, at: T0 },
          },
        ]);
        const descendants = await store.listDescendants({ runKey, limit: 10 });
        assert.deepEqual(
          descendants.map(({ key, origin }) => [key, origin?.kind]),
          [fork, child, laterFork, resumedRun].map(({ key, origin }) => [key, origin?.kind]),
        );
        assert.deepEqual(
          (await store.listDescendants({ runKey, limit: 2 })).map(({ key }) => key),
          [fork.key, child.key],
        );
        assert.deepEqual(await store.listDescendants({ runKey: unrelatedRun.key, limit: 2 }), []);
        assert.deepEqual(await store.listDescendants({ runKey: 'none', limit: 2 }), []);
      }),
    );
  });
}
