import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CommitUnit, Store, StoreWrite } from '../../ports/stores/store.js';
import { type OpenStore, withStore } from './harness.js';
import {
  advanceTask,
  apply,
  creation,
  failure,
  fullHistory,
  INSTANCE,
  keptEvent,
  OTHER_INSTANCE,
  PAYLOAD,
  sampleAttempt,
  sampleDeadLetter,
  sampleRun,
  sampleStep,
  stepTask,
  T0,
  unit,
  waitTask,
} from './samples.js';

const stepIds = async (store: Store, runKey: string) => (await store.loadJournal({ runKey, from: 0 })).map((step) => step.stepId);

export function commitConformance(open: OpenStore): void {
  describe('commits', () => {
    test(
      'an empty batch changes nothing',
      withStore(open, async (store) => {
        assert.deepEqual(await store.commit([]), []);
        assert.equal(await store.latestTime(), 0);
      }),
    );

    test(
      'results are in the order of the units, and a rejected unit does not affect the others',
      withStore(open, async (store) => {
        const [endedRun, activeRun] = [sampleRun(1), sampleRun(2)];
        await apply(store, [creation(endedRun), creation(activeRun), ...failure(endedRun)]);
        const record = (runKey: string): CommitUnit =>
          unit([{ kind: 'record-step', runKey, step: sampleStep(0) }], [{ kind: 'run-active', runKey }]);
        const results = await store.commit([record(endedRun.key), record(activeRun.key), record('no such run')]);
        assert.deepEqual(
          results.map((result) => result.kind),
          ['run-not-active', 'applied', 'run-not-active'],
        );
        assert.deepEqual(await stepIds(store, endedRun.key), []);
        assert.deepEqual(await stepIds(store, activeRun.key), [1]);
      }),
    );

    test(
      'no write of a unit takes effect if its last guard fails',
      withStore(open, async (store) => {
        const run = sampleRun(1);
        await apply(store, [creation(run)]);
        const [result] = await store.commit([
          unit(
            [creation(sampleRun(2))],
            [
              { kind: 'run-active', runKey: run.key },
              { kind: 'run-id-free', instanceId: INSTANCE, workflowRunId: run.workflowRunId },
            ],
          ),
        ]);
        assert.equal(result?.kind, 'run-id-taken');
        assert.equal(await store.loadRun({ runKey: sampleRun(2).key }), null);
      }),
    );

    test(
      'guards see what earlier units of the batch wrote',
      withStore(open, async (store) => {
        const [first, second] = [sampleRun(1, { workflowRunId: 'mine' }), sampleRun(2, { workflowRunId: 'mine' })];
        const free = { kind: 'run-id-free', instanceId: INSTANCE, workflowRunId: 'mine' } as const;
        const active = { kind: 'run-active', runKey: first.key } as const;
        const results = await store.commit([
          unit([creation(first)], [free]),
          unit([creation(second)], [free]),
          unit(failure(first), [active]),
          unit([{ kind: 'put-task', runKey: first.key, task: advanceTask(T0) }], [active]),
          unit([creation(second)], [free]),
        ]);
        assert.deepEqual(results, [
          { kind: 'applied' },
          { kind: 'run-id-taken', run: { runKey: first.key, workflowRunId: 'mine', createdAt: first.createdAt } },
          { kind: 'applied' },
          { kind: 'run-not-active' },
          { kind: 'applied' },
        ]);
      }),
    );

    test(
      'a run id is free again when its run has ended, and is never taken by another instance',
      withStore(open, async (store) => {
        const free = (instanceId: string) => ({ kind: 'run-id-free', instanceId, workflowRunId: 'mine' }) as const;
        const [first, second, foreignRun] = [
          sampleRun(1, { workflowRunId: 'mine' }),
          sampleRun(2, { workflowRunId: 'mine' }),
          sampleRun(3, { workflowRunId: 'mine', instanceId: OTHER_INSTANCE }),
        ];
        await apply(store, [creation(first)], [free(INSTANCE)]);
        await apply(store, [creation(foreignRun)], [free(OTHER_INSTANCE)]);
        const [result] = await store.commit([unit([creation(second)], [free(INSTANCE)])]);
        assert.deepEqual(result, {
          kind: 'run-id-taken',
          run: { runKey: first.key, workflowRunId: 'mine', createdAt: first.createdAt },
        });
        await apply(store, [{ kind: 'end-run', runKey: first.key, outcome: { status: 'canceled' }, completedAt: T0 }]);
        await apply(store, [creation(second)], [free(INSTANCE)]);
      }),
    );

    test(
      'missing dead letters are named, including those of another instance',
      withStore(open, async (store) => {
        const [ownRun, foreignRun] = [sampleRun(1), sampleRun(2, { instanceId: OTHER_INSTANCE })];
        await apply(store, [creation(ownRun), creation(foreignRun), ...failure(ownRun), ...failure(foreignRun)]);
        const dlqIds = ['dlq_nothing', `dlq_${ownRun.key}`, `dlq_${foreignRun.key}`];
        const [result] = await store.commit([
          unit([creation(sampleRun(3))], [{ kind: 'dead-letters-present', instanceId: INSTANCE, dlqIds }]),
        ]);
        assert.deepEqual(result, { kind: 'dead-letters-missing', dlqIds: ['dlq_nothing', `dlq_${foreignRun.key}`] });
      }),
    );

    const run = sampleRun(1);
    const otherRun = sampleRun(2, { instanceId: OTHER_INSTANCE });
    const runKey = run.key;
    const record = (...args: Parameters<typeof sampleStep>): StoreWrite => ({
      kind: 'record-step',
      runKey,
      step: sampleStep(...args),
    });
    const faults: readonly (readonly [string, readonly StoreWrite[]])[] = [
      ['an index that the journal has', [record(0, { stepId: 9 })]],
      ['a step id that the journal has', [record(9, { stepId: 1 })]],
      ['a step id that was recorded out of order', [record(1, { stepId: 3 }), record(2)]],
      ['a step id that was recorded out of order twice', [record(1, { stepId: 4 }), record(2, { stepId: 4 })]],
      ['a run key that exists', [creation(sampleRun(1, { workflowRunId: 'another' }))]],
      ['a payload of an unknown run', [creation(sampleRun(3), { copyOf: 'no such run' })]],
      ['a step of an unknown run', [{ kind: 'record-step', runKey: 'no such run', step: sampleStep(0) }]],
      ['a task of an unknown run', [{ kind: 'put-task', runKey: 'no such run', task: stepTask(1, T0) }]],
      ['a wait of an unknown run', [{ kind: 'put-task', runKey: 'no such run', task: waitTask(1, T0, ['a']) }]],
      ['an event for an unknown run', [{ kind: 'keep-event', runKey: 'no such run', event: keptEvent(1) }]],
      ['a failure function of an unknown run', [{ kind: 'note-failure-function', runKey: 'no such run' }]],
      [
        'an introduction of the endpoint of an unknown run',
        [{ kind: 'note-introduction', runKey: 'no such run', settings: otherRun.settings }],
      ],
      [
        'the state of a dead letter that does not exist',
        [{ kind: 'set-failure-function-state', instanceId: INSTANCE, dlqId: 'no', state: 'CALLBACK_FAIL' }],
      ],
      [
        'the state of a dead letter of another instance',
        [
          ...failure(otherRun),
          { kind: 'set-failure-function-state', instanceId: INSTANCE, dlqId: `dlq_${otherRun.key}`, state: 'CALLBACK_FAIL' },
        ],
      ],
      ['an attempt of an unknown run', [{ kind: 'record-attempt', runKey: 'no such run', attempt: sampleAttempt(0) }]],
      ['a journal of an unknown run', [{ kind: 'copy-journal', fromRunKey: 'no such run', toRunKey: runKey }]],
      [
        'the end of an unknown run',
        [{ kind: 'end-run', runKey: 'no such run', outcome: { status: 'canceled' }, completedAt: T0 }],
      ],
      [
        'the end of a run that has ended',
        [...failure(run), { kind: 'end-run', runKey, outcome: { status: 'succeeded', result: null }, completedAt: T0 }],
      ],
      [
        'a second dead letter of a run',
        [...failure(run), { kind: 'add-dead-letter', entry: sampleDeadLetter(run, { dlqId: 'b' }), group: null }],
      ],
      [
        'a dead letter in another instance than its run',
        [{ kind: 'add-dead-letter', entry: sampleDeadLetter(run, { instanceId: OTHER_INSTANCE }), group: null }],
      ],
      [
        'taking a dead letter that does not exist',
        [{ kind: 'take-dead-letter', instanceId: INSTANCE, dlqId: 'no', recoveredAs: null }],
      ],
      [
        'taking a dead letter of another instance',
        [
          ...failure(otherRun),
          { kind: 'take-dead-letter', instanceId: INSTANCE, dlqId: `dlq_${otherRun.key}`, recoveredAs: null },
        ],
      ],
    ];
    for (const [fault, writes] of faults) {
      test(
        `${fault} is a fault: the whole batch is rejected and rolled back`,
        withStore(open, async (store, { commitsByInstance = false }) => {
          await apply(store, [creation(run), creation(otherRun), { kind: 'record-step', runKey, step: sampleStep(0) }]);
          const before = await store.loadRun({ runKey });
          const latestTime = await store.latestTime();
          const bystander = sampleRun(50, { createdAt: T0 + 99_999, workflowRunId: 'bystander' });
          // If a batch is one transaction for each instance, units of other instances can be durable.
          const otherUnits = commitsByInstance ? [] : [unit([creation(bystander)])];
          await assert.rejects(store.commit([...otherUnits, unit(writes), unit([])]));

          assert.deepEqual(await store.loadRun({ runKey }), before);
          assert.equal(await store.loadRun({ runKey: bystander.key }), null);
          assert.equal(await store.findRun({ instanceId: INSTANCE, workflowRunId: 'bystander' }), null);
          assert.equal(await store.latestTime(), latestTime);
          const page = {
            instanceId: INSTANCE,
            filter: {},
            order: 'newest-first',
            after: null,
            horizon: null,
            limit: 10,
          } as const;
          assert.deepEqual(
            (await store.listRuns(page)).items.map((item) => item.key),
            [runKey],
          );
          assert.deepEqual((await store.listDeadLetterIds(page)).items, []);

          // The next batch works as if the faulty one had not existed.
          await apply(store, [creation(bystander), { kind: 'record-step', runKey, step: sampleStep(1) }]);
          assert.deepEqual(
            (await store.listRuns(page)).items.map((item) => item.key),
            [bystander.key, runKey],
          );
          assert.deepEqual(await stepIds(store, runKey), [1, 2]);
        }),
      );
    }

    test(
      'committed data is still there when the store is opened again',
      withStore(open, async (store, underTest) => {
        const [keptRun, failedRun] = [sampleRun(1), sampleRun(2)];
        await apply(store, [
          creation(keptRun),
          creation(failedRun),
          { kind: 'record-step', runKey: keptRun.key, step: sampleStep(0) },
          { kind: 'put-task', runKey: keptRun.key, task: stepTask(2, T0 + 5) },
          ...failure(failedRun),
        ]);
        const before = [await store.loadRun({ runKey: keptRun.key }), await fullHistory(store, { runKey: failedRun.key })];
        const reopened = await underTest.reopen();
        assert.deepEqual(
          [await reopened.loadRun({ runKey: keptRun.key }), await fullHistory(reopened, { runKey: failedRun.key })],
          before,
        );
        assert.deepEqual(await reopened.loadPayload({ runKey: keptRun.key }), PAYLOAD);
        assert.equal(await reopened.latestTime(), failedRun.createdAt + 1000);
        await apply(reopened, [creation(sampleRun(3))]);
      }),
    );

    test(
      'the latest time is that of the latest write of any kind, and never decreases',
      withStore(open, async (store) => {
        const cases: readonly (readonly [number, StoreWrite])[] = [
          [T0 + 10, creation(sampleRun(10))],
          [T0 + 20, { kind: 'record-step', runKey: sampleRun(10).key, step: sampleStep(0, { completedAt: T0 + 20 }) }],
          [T0 + 30, { kind: 'put-task', runKey: sampleRun(10).key, task: { ...advanceTask(T0 + 90_000), createdAt: T0 + 30 } }],
          [T0 + 40, { kind: 'record-attempt', runKey: sampleRun(10).key, attempt: { ...sampleAttempt(1), at: T0 + 40 } }],
          [T0 + 50, { kind: 'end-run', runKey: sampleRun(10).key, outcome: { status: 'canceled' }, completedAt: T0 + 50 }],
          [T0 + 50, creation(sampleRun(1))],
          [T0 + 60, { kind: 'keep-event', runKey: sampleRun(1).key, event: keptEvent(60) }],
          [T0 + 70, { kind: 'wake-invoker', childRunKey: sampleRun(10).key, at: T0 + 70 }],
        ];
        for (const [expected, write] of cases) {
          await apply(store, [write]);
          assert.equal(await store.latestTime(), expected, write.kind);
        }
      }),
    );
  });
}
