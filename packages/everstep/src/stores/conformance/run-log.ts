import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FailedAttempt, RecordedStep, RunOutcome } from '../../engine/runs/run.js';
import { type OpenStore, withStore } from './harness.js';
import {
  advanceTask,
  apply,
  creation,
  failure,
  fullHistory,
  INSTANCE,
  OTHER_INSTANCE,
  sampleAttempt,
  sampleExchange,
  sampleRun,
  sampleStep,
  sleepTask,
  T0,
} from './samples.js';

export function runLogConformance(open: OpenStore): void {
  describe('the log of a run', () => {
    const outcomes: readonly (readonly [RunOutcome, { readonly result: string | null; readonly error: string | null }])[] = [
      [
        { status: 'succeeded', result: '{"total":12.5}' },
        { result: '{"total":12.5}', error: null },
      ],
      [
        { status: 'succeeded', result: null },
        { result: null, error: null },
      ],
      [
        { status: 'failed', error: 'no stock' },
        { result: null, error: 'no stock' },
      ],
      [{ status: 'canceled' }, { result: null, error: null }],
    ];
    for (const [outcome, { result, error }] of outcomes) {
      test(
        `shows that the run ${outcome.status} with result ${result} and error ${error}`,
        withStore(open, async (store) => {
          const run = sampleRun(1);
          await apply(store, [creation(run), { kind: 'end-run', runKey: run.key, outcome, completedAt: T0 + 77 }]);
          const record = await store.findRun({ instanceId: INSTANCE, workflowRunId: run.workflowRunId });
          const {
            nextStepId,
            journalLength,
            journalBytes,
            replayedLength,
            version,
            tasks,
            keptEvents,
            hasFailureFunction,
            ...identity
          } = run;
          assert.deepEqual(record, {
            ...identity,
            status: outcome.status,
            completedAt: T0 + 77,
            result,
            error,
            dlqId: null,
            recoveredAs: null,
          });
          assert.equal((await store.loadRun({ runKey: run.key }))?.status, outcome.status);
        }),
      );
    }

    test(
      'contains the steps in recorded order, the open tasks and the failed attempts, oldest first',
      withStore(open, async (store) => {
        const run = sampleRun(1);
        const steps = [sampleStep(0, { stepId: 2 }), sampleStep(1, { stepId: 1 })];
        const attempts = [sampleAttempt(1), sampleAttempt(0)];
        await apply(store, [
          creation(run),
          ...steps.map((step) => ({ kind: 'record-step', runKey: run.key, step }) as const),
          ...attempts.map((attempt) => ({ kind: 'record-attempt', runKey: run.key, attempt }) as const),
          { kind: 'put-task', runKey: run.key, task: sleepTask(3, T0 + 9, T0 + 9) },
          { kind: 'put-task', runKey: run.key, task: advanceTask(T0) },
        ]);
        const history = await fullHistory(store, { runKey: run.key });
        assert.deepEqual(history?.steps, steps);
        assert.deepEqual(history?.attempts, attempts);
        assert.deepEqual(history?.tasks, [advanceTask(T0), sleepTask(3, T0 + 9, T0 + 9)]);
        assert.deepEqual(history?.run, await store.findRun({ instanceId: INSTANCE, workflowRunId: run.workflowRunId }));
        assert.deepEqual(await store.findRun({ runKey: run.key }), history?.run);
        assert.equal(await store.findRun({ runKey: 'unknown' }), null);
      }),
    );

    test(
      'contains the requests of calls on demand, even in a run with a copy of the journal',
      withStore(open, async (store, underTest) => {
        const [{ key: runKey }, { key: copyKey }] = [sampleRun(1), sampleRun(2)];
        const { response: _none, ...sent } = sampleExchange(0);
        const steps: readonly RecordedStep[] = [{ ...sampleStep(0), type: 'Call', sent }, sampleStep(1)];
        await apply(store, [creation(sampleRun(1)), ...steps.map((step) => ({ kind: 'record-step', runKey, step }) as const)]);
        await apply(store, [
          creation(sampleRun(2), { copyOf: runKey }),
          { kind: 'copy-journal', fromRunKey: runKey, toRunKey: copyKey },
        ]);
        const reopened = await underTest.reopen();
        const stepsWithoutRequests = steps.map(({ sent: _sent, ...step }) => step);
        for (const key of [runKey, copyKey]) {
          assert.deepEqual((await fullHistory(reopened, { runKey: key, exchanges: true }))?.steps, steps);
          assert.deepEqual((await fullHistory(reopened, { runKey: key }))?.steps, stepsWithoutRequests);
          assert.deepEqual(await reopened.loadJournal({ runKey: key, from: 0 }), stepsWithoutRequests);
        }
      }),
    );

    test(
      'contains the requests and responses of failed attempts on demand',
      withStore(open, async (store, underTest) => {
        const { key: runKey } = sampleRun(1);
        const attempts: readonly FailedAttempt[] = [
          sampleAttempt(0),
          { ...sampleAttempt(1), exchange: sampleExchange(0) },
          { ...sampleAttempt(2), exchange: sampleExchange(1) },
        ];
        await apply(store, [
          creation(sampleRun(1)),
          ...attempts.map((attempt) => ({ kind: 'record-attempt', runKey, attempt }) as const),
        ]);
        const reopened = await underTest.reopen();
        assert.deepEqual((await fullHistory(reopened, { runKey, exchanges: true }))?.attempts, attempts);
        const attemptsWithoutExchanges = attempts.map(({ exchange: _exchange, ...attempt }) => attempt);
        assert.deepEqual((await fullHistory(reopened, { runKey }))?.attempts, attemptsWithoutExchanges);
      }),
    );

    test(
      'an id finds its latest run, or that of a given time, in its own instance',
      withStore(open, async (store) => {
        const first = sampleRun(1, { workflowRunId: 'daily', createdAt: T0 });
        const second = sampleRun(2, { workflowRunId: 'daily', createdAt: T0 + 5 });
        const foreignRun = sampleRun(3, { workflowRunId: 'daily', createdAt: T0 + 9, instanceId: OTHER_INSTANCE });
        for (const run of [first, second, foreignRun]) await apply(store, [creation(run), ...failure(run)]);
        const key = async (createdAt?: number) =>
          (await store.findRun({ instanceId: INSTANCE, workflowRunId: 'daily', ...(createdAt !== undefined && { createdAt }) }))
            ?.key;
        assert.equal(await key(), second.key);
        assert.equal(await key(T0), first.key);
        assert.equal(await key(T0 + 5), second.key);
        assert.equal(await key(T0 + 9), undefined);
        assert.equal(await store.findRun({ instanceId: INSTANCE, workflowRunId: 'dail' }), null);
        assert.equal(await store.findRun({ instanceId: 'qi_unknown', workflowRunId: 'daily' }), null);
      }),
    );

    test(
      'contains the dead letter of the run, and its outcome',
      withStore(open, async (store) => {
        const [oldRun, newRun] = [sampleRun(1), sampleRun(2, { workflowRunId: 'again' })];
        const find = () => store.findRun({ instanceId: INSTANCE, workflowRunId: oldRun.workflowRunId });
        await apply(store, [creation(oldRun), ...failure(oldRun)]);
        assert.equal((await find())?.dlqId, `dlq_${oldRun.key}`);
        const take = { kind: 'take-dead-letter', instanceId: INSTANCE, dlqId: `dlq_${oldRun.key}` } as const;
        await apply(store, [creation(newRun), { ...take, recoveredAs: { kind: 'restart', runKey: newRun.key, at: T0 } }]);
        const record = await find();
        assert.equal(record?.dlqId, null);
        assert.deepEqual(record?.recoveredAs, {
          kind: 'restart',
          runKey: newRun.key,
          workflowRunId: 'again',
          createdAt: newRun.createdAt,
        });
      }),
    );
  });
}
