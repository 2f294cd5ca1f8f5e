import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FailureFunctionState } from '../../engine/runs/run.js';
import { type OpenStore, withStore } from './harness.js';
import {
  apply,
  creation,
  failure,
  INSTANCE,
  OTHER_INSTANCE,
  PAYLOAD,
  sampleAttempt,
  sampleDeadLetter,
  sampleRun,
  T0,
  unit,
} from './samples.js';

const page = { instanceId: INSTANCE, filter: {}, order: 'newest-first', after: null, horizon: null, limit: 10 } as const;

export function deadLetterConformance(open: OpenStore): void {
  describe('dead letters', () => {
    const states: readonly (FailureFunctionState | null)[] = [
      null,
      'CALLBACK_INPROGRESS',
      'CALLBACK_SUCCESS',
      'CALLBACK_FAIL',
      'CALLBACK_CANCELED',
    ];
    for (const failureFunctionState of states) {
      test(
        `an entry with the state ${failureFunctionState} is read as it was added, with its run and the headers of its payload`,
        withStore(open, async (store) => {
          const run = sampleRun(1, { settings: { labels: ['x'] } });
          const responseStatus = failureFunctionState === null ? null : 500;
          const entry = sampleDeadLetter(run, { failureFunctionState, responseStatus });
          await apply(store, [creation(run), ...failure(run, entry)]);
          const record = await store.findDeadLetter({ instanceId: INSTANCE, dlqId: entry.dlqId });
          const runRecord = await store.findRun({ instanceId: INSTANCE, workflowRunId: run.workflowRunId });
          const { responseBody, failedBy, ...shownEntry } = entry;
          const { body, ...payload } = PAYLOAD;
          const bytes = {
            bodyBytes: body.length,
            responseBytes: responseBody.length + Buffer.byteLength(JSON.stringify(failedBy)),
          };
          const position = record?.position;
          assert.deepEqual(record, { ...shownEntry, fingerprint: null, run: runRecord, payload, ...bytes, position });
          assert.deepEqual((await store.listDeadLetters(page)).items, [record]);
          assert.deepEqual((await store.listDeadLetterIds(page)).items, [entry.dlqId]);
        }),
      );
    }

    test(
      'a failed run records how often its failed delivery was retried',
      withStore(open, async (store) => {
        const [run, otherRun] = [sampleRun(1), sampleRun(2)];
        const at = T0 + 50;
        const attempts = [
          { ...sampleAttempt(7), slot: 1, at: T0 + 1, retryAt: null },
          { ...sampleAttempt(4), slot: 2, at, retryAt: at + 1 },
          { ...sampleAttempt(3), slot: 0, at, retryAt: null },
          { ...sampleAttempt(9), slot: -1, at, retryAt: null },
        ];
        const writes = attempts.map((attempt) => ({ kind: 'record-attempt', runKey: run.key, attempt }) as const);
        await apply(store, [creation(run), creation(otherRun), ...writes, ...failure(run)]);
        assert.equal(await store.countRetriesBeforeFailure({ runKey: run.key, at }), 3);
        assert.equal(await store.countRetriesBeforeFailure({ runKey: run.key, at: at + 1 }), 0);
        assert.equal(await store.countRetriesBeforeFailure({ runKey: otherRun.key, at }), 0);
      }),
    );

    test(
      'an entry of another instance is not found',
      withStore(open, async (store) => {
        const run = sampleRun(1, { instanceId: OTHER_INSTANCE });
        await apply(store, [creation(run), creation(sampleRun(2)), ...failure(run)]);
        assert.equal(await store.findDeadLetter({ instanceId: INSTANCE, dlqId: `dlq_${run.key}` }), null);
        const filter = { dlqIds: [`dlq_${run.key}`] };
        assert.deepEqual(await store.listDeadLetterIds({ ...page, filter }), { items: [], next: null });
      }),
    );

    test(
      'an entry that was taken is gone from every listing',
      withStore(open, async (store) => {
        const settings = { labels: ['a', 'b'], flowControl: { key: 'k' } };
        const [takenRun, keptRun] = [sampleRun(1, { settings }), sampleRun(2, { settings })];
        await apply(store, [creation(takenRun), creation(keptRun), ...failure(takenRun), ...failure(keptRun)]);
        const dlqId = `dlq_${takenRun.key}`;
        await apply(
          store,
          [{ kind: 'take-dead-letter', instanceId: INSTANCE, dlqId, recoveredAs: null }],
          [{ kind: 'dead-letters-present', instanceId: INSTANCE, dlqIds: [dlqId] }],
        );
        assert.equal(await store.findDeadLetter({ instanceId: INSTANCE, dlqId }), null);
        const run = await store.findRun({ instanceId: INSTANCE, workflowRunId: takenRun.workflowRunId });
        assert.equal(run?.dlqId, null);
        assert.equal(run?.recoveredAs, null);
        const filters = [
          {},
          { labels: ['a', 'b'] },
          { flowControlKeys: ['k'] },
          { workflowUrls: [takenRun.workflowUrl] },
          { callerIps: [takenRun.callerIp] },
          { workflowRunIdPrefix: 'wfr_' },
          { dlqIds: [dlqId, `dlq_${keptRun.key}`] },
        ];
        for (const filter of filters) {
          const result = await store.listDeadLetterIds({ ...page, filter });
          assert.deepEqual(result.items, [`dlq_${keptRun.key}`], JSON.stringify(filter));
        }
        assert.deepEqual(
          (await store.listDeadLetterIds({ ...page, filter: { workflowRunId: takenRun.workflowRunId } })).items,
          [],
        );
      }),
    );

    test(
      'an entry whose state changes is found only under the new state, and is gone from it when it was taken',
      withStore(open, async (store, underTest) => {
        const [changedRun, otherRun] = [sampleRun(1), sampleRun(2)];
        const inProgress = { failureFunctionState: 'CALLBACK_INPROGRESS' } as const;
        for (const run of [changedRun, otherRun]) {
          await apply(store, [creation(run), ...failure(run, sampleDeadLetter(run, inProgress))]);
        }
        const dlqId = `dlq_${changedRun.key}`;
        const idsInState = async (from: typeof store, state: FailureFunctionState) =>
          (await from.listDeadLetterIds({ ...page, filter: { failureFunctionStates: [state] } })).items;
        const setTo = (state: FailureFunctionState) => ({
          kind: 'set-failure-function-state' as const,
          instanceId: INSTANCE,
          dlqId,
          state,
        });
        await apply(store, [setTo('CALLBACK_FAIL')]);
        assert.deepEqual(await idsInState(store, 'CALLBACK_FAIL'), [dlqId]);
        assert.deepEqual(await idsInState(store, 'CALLBACK_INPROGRESS'), [`dlq_${otherRun.key}`]);
        // The entry changes to the state and back in one batch, and to the state that it already has.
        await apply(store, [setTo('CALLBACK_INPROGRESS'), setTo('CALLBACK_SUCCESS'), setTo('CALLBACK_SUCCESS')]);
        const reopened = await underTest.reopen();
        assert.deepEqual(await idsInState(reopened, 'CALLBACK_SUCCESS'), [dlqId]);
        assert.deepEqual(await idsInState(reopened, 'CALLBACK_FAIL'), []);
        assert.deepEqual(await idsInState(reopened, 'CALLBACK_INPROGRESS'), [`dlq_${otherRun.key}`]);
        assert.equal((await reopened.findDeadLetter({ instanceId: INSTANCE, dlqId }))?.failureFunctionState, 'CALLBACK_SUCCESS');
        await apply(reopened, [{ kind: 'take-dead-letter', instanceId: INSTANCE, dlqId, recoveredAs: null }]);
        assert.deepEqual(await idsInState(reopened, 'CALLBACK_SUCCESS'), []);
      }),
    );

    test(
      'an entry without a failure function gets a state when its failure is reported after all',
      withStore(open, async (store) => {
        const run = sampleRun(1);
        await apply(store, [creation(run), ...failure(run)]);
        const entry = { instanceId: INSTANCE, dlqId: `dlq_${run.key}` };
        await apply(store, [{ kind: 'set-failure-function-state', ...entry, state: 'CALLBACK_CANCELED' }]);
        const filter = { failureFunctionStates: ['CALLBACK_CANCELED'] } as const;
        assert.deepEqual((await store.listDeadLetterIds({ ...page, filter })).items, [entry.dlqId]);
        assert.deepEqual((await store.listDeadLetterIds(page)).items, [entry.dlqId]);
        // The entry has no state again if there is nothing to notify.
        await apply(store, [{ kind: 'set-failure-function-state', ...entry, state: null }]);
        assert.deepEqual((await store.listDeadLetterIds({ ...page, filter })).items, []);
        assert.deepEqual((await store.listDeadLetterIds(page)).items, [entry.dlqId]);
        assert.equal((await store.findDeadLetter(entry))?.failureFunctionState, null);
      }),
    );

    test(
      'if two units take the same entry in one batch, one gets it',
      withStore(open, async (store) => {
        const run = sampleRun(1);
        await apply(store, [creation(run), ...failure(run)]);
        const dlqId = `dlq_${run.key}`;
        const take = (n: number) =>
          unit(
            [
              creation(sampleRun(n), { copyOf: run.key }),
              {
                kind: 'take-dead-letter',
                instanceId: INSTANCE,
                dlqId,
                recoveredAs: { kind: 'resume', runKey: sampleRun(n).key, at: T0 },
              },
            ],
            [{ kind: 'dead-letters-present', instanceId: INSTANCE, dlqIds: [dlqId] }],
          );
        assert.deepEqual(await store.commit([take(2), take(3)]), [
          { kind: 'applied' },
          { kind: 'dead-letters-missing', dlqIds: [dlqId] },
        ]);
        assert.equal(await store.loadRun({ runKey: sampleRun(3).key }), null);
      }),
    );

    test(
      'a position after the newest entry excludes later ones, even if the newest was taken',
      withStore(open, async (store, underTest) => {
        const [first, second, third] = [sampleRun(1), sampleRun(2), sampleRun(3)];
        assert.deepEqual(await store.listDeadLetterIds({ ...page, horizon: await store.deadLetterHorizon(page) }), {
          items: [],
          next: null,
        });
        await apply(store, [creation(first), ...failure(first), creation(second), ...failure(second)]);
        const horizon = await store.deadLetterHorizon({ instanceId: INSTANCE });
        await apply(store, [{ kind: 'take-dead-letter', instanceId: INSTANCE, dlqId: `dlq_${second.key}`, recoveredAs: null }]);
        const reopened = await underTest.reopen();
        await apply(reopened, [creation(third), ...failure(third)]);
        assert.deepEqual((await reopened.listDeadLetterIds({ ...page, horizon })).items, [`dlq_${first.key}`]);
        assert.deepEqual((await reopened.listDeadLetterIds(page)).items, [`dlq_${third.key}`, `dlq_${first.key}`]);
      }),
    );
  });
}
