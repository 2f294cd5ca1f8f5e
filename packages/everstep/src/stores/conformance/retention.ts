import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RetentionState, Run, RunIdentity, RunOutcome } from '../../engine/runs/run.js';
import type { DeadLetterFilter, RemovalQuery, RunFilter, Store, StoreWrite } from '../../ports/stores/store.js';
import { type OpenStore, withStore } from './harness.js';
import {
  advanceTask,
  apply,
  callbackTask,
  creation,
  failure,
  fullHistory,
  INSTANCE,
  invokeTask,
  OTHER_INSTANCE,
  sampleAttempt,
  sampleDeadLetter,
  sampleRun,
  sampleStep,
  seededNumbers,
  stepTask,
  T0,
  unit,
} from './samples.js';

const OUTCOMES: Readonly<Record<'succeeded' | 'canceled', RunOutcome>> = {
  succeeded: { status: 'succeeded', result: '"done"' },
  canceled: { status: 'canceled' },
};

const endedRun = (
  run: Run,
  status: keyof typeof OUTCOMES = 'succeeded',
  completedAt = run.createdAt + 1000,
): readonly StoreWrite[] => [creation(run), { kind: 'end-run', runKey: run.key, outcome: OUTCOMES[status], completedAt }];

const failedRun = (run: Run): readonly StoreWrite[] => [creation(run), ...failure(run)];

const takeEntry = (run: RunIdentity, recoveredAs: string | null = null, kind: 'resume' | 'restart' = 'restart'): StoreWrite => ({
  kind: 'take-dead-letter',
  instanceId: run.instanceId,
  dlqId: `dlq_${run.key}`,
  recoveredAs: recoveredAs === null ? null : { kind, runKey: recoveredAs, at: T0 },
});

const removal = (state: RetentionState, bounds: Partial<RemovalQuery> = {}): RemovalQuery => ({
  instanceId: INSTANCE,
  state,
  endedBefore: null,
  keepNewest: null,
  limit: 100,
  ...bounds,
});

const ALL_OF_TIME = { endedBefore: T0 * 2 };
const page = { instanceId: INSTANCE, order: 'oldest-first', after: null, horizon: null, limit: 1000 } as const;

async function runIds(store: Store, filter: RunFilter = {}): Promise<readonly string[]> {
  return (await store.listRuns({ ...page, filter })).items.map(({ workflowRunId }) => workflowRunId);
}

async function entryIds(store: Store, filter: DeadLetterFilter = {}): Promise<readonly string[]> {
  return (await store.listDeadLetterIds({ ...page, filter })).items;
}

export function retentionConformance(open: OpenStore): void {
  describe('retention', () => {
    test(
      'removes what ended before the time, and keeps what ended at it or is still active',
      withStore(open, async (store) => {
        await apply(store, [
          ...endedRun(sampleRun(1), 'succeeded', T0 + 5000),
          ...endedRun(sampleRun(2), 'succeeded', T0 + 100),
          creation(sampleRun(3)),
          ...endedRun(sampleRun(4), 'succeeded', T0 + 4999),
          ...endedRun(sampleRun(5), 'canceled', T0 + 100),
          ...endedRun(sampleRun(6, { instanceId: OTHER_INSTANCE }), 'succeeded', T0 + 100),
        ]);
        assert.equal(await store.removeEndedRuns(removal('succeeded', { endedBefore: T0 + 5000 })), 2);
        assert.deepEqual(await runIds(store), ['wfr_1', 'wfr_3', 'wfr_5']);
        assert.equal(await store.removeEndedRuns(removal('succeeded', { endedBefore: T0 + 5000 })), 0);
        assert.equal(await store.removeEndedRuns(removal('canceled', { endedBefore: T0 + 5000 })), 1);
        assert.deepEqual(await runIds(store), ['wfr_1', 'wfr_3']);
        assert.ok(await store.loadRun({ runKey: sampleRun(6).key }));
      }),
    );

    test(
      'keeps the requested number of newest runs in each state and instance, and removes older ones',
      withStore(open, async (store) => {
        for (let n = 1; n <= 9; n++) {
          const foreignRun = sampleRun(100 + n, { instanceId: OTHER_INSTANCE });
          await apply(store, [...endedRun(sampleRun(n), n % 3 === 0 ? 'canceled' : 'succeeded'), ...endedRun(foreignRun)]);
        }
        assert.equal(await store.removeEndedRuns(removal('succeeded', { keepNewest: 6 })), 0);
        assert.equal(await store.removeEndedRuns(removal('succeeded', { keepNewest: 4 })), 2);
        assert.deepEqual(await runIds(store, { statuses: ['succeeded'] }), ['wfr_4', 'wfr_5', 'wfr_7', 'wfr_8']);
        assert.equal(await store.removeEndedRuns(removal('canceled', { keepNewest: 0 })), 3);
        assert.deepEqual(await runIds(store), ['wfr_4', 'wfr_5', 'wfr_7', 'wfr_8']);
        assert.equal((await store.listRuns({ ...page, instanceId: OTHER_INSTANCE, filter: {} })).items.length, 9);
      }),
    );

    test(
      'removes what either limit excludes, oldest first and up to the maximum per call, and nothing without a limit',
      withStore(open, async (store) => {
        for (let n = 1; n <= 8; n++) await apply(store, endedRun(sampleRun(n)));
        const bothLimits = { endedBefore: T0 + 1006, keepNewest: 6 };
        assert.equal(await store.removeEndedRuns(removal('succeeded')), 0);
        assert.equal(await store.removeEndedRuns(removal('succeeded', { ...bothLimits, limit: 1 })), 1);
        assert.deepEqual((await runIds(store))[0], 'wfr_2');
        assert.equal(await store.removeEndedRuns(removal('succeeded', { ...bothLimits, limit: 3 })), 3);
        assert.equal(await store.removeEndedRuns(removal('succeeded', { ...bothLimits, limit: 3 })), 1);
        assert.deepEqual(await runIds(store), ['wfr_6', 'wfr_7', 'wfr_8']);
        assert.equal(await store.removeEndedRuns(removal('succeeded', { endedBefore: T0, keepNewest: 1 })), 2);
        assert.deepEqual(await runIds(store), ['wfr_8']);
      }),
    );

    test(
      'keeps the newest runs, also those that end between two batches of a removal',
      withStore(open, async (store) => {
        for (let n = 1; n <= 8; n++) await apply(store, endedRun(sampleRun(n)));
        const newest = (keepNewest: number, limit: number) => store.removeEndedRuns(removal('succeeded', { keepNewest, limit }));
        assert.equal(await newest(3, 2), 2);
        for (const n of [9, 10]) await apply(store, endedRun(sampleRun(n)));
        let removedCount = 0;
        for (let count = -1; count !== 0; removedCount += count) count = await newest(3, 2);
        assert.equal(removedCount, 5);
        assert.deepEqual(
          await runIds(store),
          [8, 9, 10].map((n) => sampleRun(n).workflowRunId),
        );
        assert.equal(await newest(5, 2), 0);
        assert.equal(await newest(1, 2), 2);
      }),
    );

    test(
      'leaves nothing of a run that it removed',
      withStore(open, async (store, underTest) => {
        const settings = { labels: ['gone'], flowControl: { key: 'gone' } };
        const identity = { workflowUrl: 'http://gone.example', callerIp: '192.0.2.99', settings };
        const [run, otherRun] = [sampleRun(1, identity), sampleRun(2)];
        const runKey = run.key;
        await apply(store, [
          creation(run),
          creation(otherRun),
          { kind: 'record-step', runKey, step: sampleStep(0) },
          { kind: 'record-attempt', runKey, attempt: sampleAttempt(0) },
          { kind: 'put-task', runKey, task: stepTask(2, T0) },
          { kind: 'put-task', runKey: otherRun.key, task: advanceTask(T0 + 7) },
          {
            kind: 'remember-deduplication',
            instanceId: INSTANCE,
            deduplicationId: 'd',
            runKey,
            expiresAt: T0 + 1_000_000,
          },
          { kind: 'park-tasks', runKey },
          { kind: 'end-run', runKey, outcome: OUTCOMES.canceled, completedAt: T0 + 5 },
        ]);
        assert.equal(await store.removeEndedRuns(removal('canceled', ALL_OF_TIME)), 1);

        for (const open of [async () => store, () => underTest.reopen()]) {
          const openedStore = await open();
          assert.equal(await openedStore.loadRun({ runKey }), null);
          assert.equal(await openedStore.loadPayload({ runKey }), null);
          assert.deepEqual(await openedStore.loadJournal({ runKey, from: 0 }), []);
          assert.equal(await openedStore.findRun({ runKey }), null);
          assert.equal(await fullHistory(openedStore, { runKey }), null);
          assert.equal(await openedStore.findRun({ instanceId: INSTANCE, workflowRunId: run.workflowRunId }), null);
          const filters: readonly RunFilter[] = [
            { workflowRunId: run.workflowRunId },
            { workflowUrls: [run.workflowUrl] },
            { workflowUrlPrefix: run.workflowUrl },
            { createdAt: run.createdAt },
            { statuses: ['canceled'] },
            { labels: ['gone'] },
            { flowControlKeys: ['gone'] },
            { callerIps: [run.callerIp] },
          ];
          for (const filter of filters) assert.deepEqual(await runIds(openedStore, filter), [], JSON.stringify(filter));
          assert.deepEqual(await runIds(openedStore), [otherRun.workflowRunId]);
          assert.equal(await openedStore.nextDueAt({ after: T0 }), T0 + 7);
        }
      }),
    );

    test(
      'releases the ids of what it removed: the run id and the deduplication id',
      withStore(open, async (store) => {
        const run = sampleRun(1, { workflowRunId: 'daily' });
        const remember = (runKey: string): StoreWrite => ({
          kind: 'remember-deduplication',
          instanceId: INSTANCE,
          deduplicationId: 'd',
          runKey,
          expiresAt: T0 + 1_000_000,
        });
        await apply(store, [...endedRun(run), remember(run.key)]);
        assert.equal(await store.removeEndedRuns(removal('succeeded', ALL_OF_TIME)), 1);
        const nextRun = sampleRun(2, { workflowRunId: 'daily' });
        await apply(
          store,
          [creation(nextRun), remember(nextRun.key)],
          [
            { kind: 'run-id-free', instanceId: INSTANCE, workflowRunId: 'daily' },
            { kind: 'not-duplicate', instanceId: INSTANCE, deduplicationId: 'd', now: T0 + 2 },
          ],
        );
        assert.deepEqual(await runIds(store, { workflowRunId: 'daily' }), ['daily']);
        await assert.rejects(store.commit([unit([{ kind: 'record-step', runKey: run.key, step: sampleStep(0) }])]));
      }),
    );

    test(
      'of failed runs removes only those without an entry in the DLQ, and counts no others',
      withStore(open, async (store) => {
        for (let n = 1; n <= 6; n++) await apply(store, failedRun(sampleRun(n)));
        assert.equal(await store.removeEndedRuns(removal('failed', ALL_OF_TIME)), 0);
        for (const n of [2, 3, 5]) await apply(store, [takeEntry(sampleRun(n))]);
        assert.equal(await store.removeEndedRuns(removal('failed', { keepNewest: 3 })), 0);
        assert.equal(await store.removeEndedRuns(removal('failed', { keepNewest: 2 })), 1);
        assert.deepEqual(await runIds(store), ['wfr_1', 'wfr_3', 'wfr_4', 'wfr_5', 'wfr_6']);
        assert.equal(await store.removeEndedRuns(removal('failed', ALL_OF_TIME)), 2);
        assert.deepEqual(await runIds(store), ['wfr_1', 'wfr_4', 'wfr_6']);
        assert.equal((await entryIds(store)).length, 3);
      }),
    );

    test(
      'of the DLQ removes entries with their runs, by the time at which they failed and by number',
      withStore(open, async (store, underTest) => {
        const settings = { labels: ['x'], flowControl: { key: 'k' } };
        const run = (n: number) => sampleRun(n, { workflowRunId: `order-${n}`, settings });
        for (let n = 1; n <= 6; n++) {
          const failureFunctionState = n % 2 === 0 ? 'CALLBACK_SUCCESS' : null;
          const foreignRun = sampleRun(100 + n, { instanceId: OTHER_INSTANCE });
          await apply(store, [
            creation(run(n)),
            ...failure(run(n), sampleDeadLetter(run(n), { failureFunctionState })),
            ...failedRun(foreignRun),
          ]);
        }
        await apply(store, endedRun(run(7)));
        assert.equal(await store.removeEndedRuns(removal('deadLetter', { endedBefore: T0 + 1002 })), 1);
        assert.deepEqual((await entryIds(store))[0], `dlq_${run(2).key}`);
        assert.equal(await store.removeEndedRuns(removal('deadLetter', { keepNewest: 2 })), 3);
        const remainingEntryIds = [`dlq_${run(5).key}`, `dlq_${run(6).key}`];
        for (const open of [async () => store, () => underTest.reopen()]) {
          const openedStore = await open();
          const filters: readonly DeadLetterFilter[] = [
            {},
            { labels: ['x'] },
            { flowControlKeys: ['k'] },
            { workflowUrls: [run(1).workflowUrl] },
            { callerIps: [run(1).callerIp] },
            { workflowRunIdPrefix: 'order-' },
            { failureFunctionStates: ['CALLBACK_SUCCESS'] },
          ];
          for (const filter of filters) {
            const expected = filter.failureFunctionStates ? remainingEntryIds.slice(1) : remainingEntryIds;
            assert.deepEqual(await entryIds(openedStore, filter), expected, JSON.stringify(filter));
          }
          for (let n = 1; n <= 4; n++) {
            assert.equal(await openedStore.loadRun({ runKey: run(n).key }), null);
            assert.equal(await openedStore.findDeadLetter({ instanceId: INSTANCE, dlqId: `dlq_${run(n).key}` }), null);
            assert.deepEqual(await entryIds(openedStore, { workflowRunId: `order-${n}` }), []);
            assert.deepEqual(await entryIds(openedStore, { workflowCreatedAt: run(n).createdAt }), []);
          }
          assert.deepEqual(await runIds(openedStore), ['order-5', 'order-6', 'order-7']);
          assert.equal(
            (await openedStore.listDeadLetterIds({ ...page, instanceId: OTHER_INSTANCE, filter: {} })).items.length,
            6,
          );
        }
      }),
    );

    test(
      'keeps an entry whose failure has not been reported yet',
      withStore(open, async (store) => {
        const run = sampleRun(1);
        const dlqId = `dlq_${run.key}`;
        const task = callbackTask(T0, dlqId);
        await apply(store, [...failedRun(run), { kind: 'put-task', runKey: run.key, task }, ...failedRun(sampleRun(2))]);
        assert.equal(await store.removeEndedRuns(removal('deadLetter', { ...ALL_OF_TIME, limit: 1 })), 1);
        assert.equal(await store.removeEndedRuns(removal('deadLetter', ALL_OF_TIME)), 0);
        assert.deepEqual(await entryIds(store), [dlqId]);
        await apply(store, [{ kind: 'delete-task', runKey: run.key, slot: task.slot }]);
        assert.equal(await store.removeEndedRuns(removal('deadLetter', ALL_OF_TIME)), 1);
      }),
    );

    test(
      'keeps what a waiting invocation needs, even while its run may be resumed, and no longer',
      withStore(open, async (store) => {
        const [parent, child, failedChild] = [sampleRun(1), sampleRun(2), sampleRun(3)];
        const invocation = (slot: number, invoked: Run): StoreWrite => {
          return { kind: 'put-task', runKey: parent.key, task: invokeTask(slot, null, invoked.key) };
        };
        const removeAll = async () => [
          await store.removeEndedRuns(removal('succeeded', ALL_OF_TIME)),
          await store.removeEndedRuns(removal('deadLetter', ALL_OF_TIME)),
        ];
        await apply(store, [
          creation(parent),
          invocation(1, child),
          invocation(2, failedChild),
          ...endedRun(child),
          ...failedRun(failedChild),
          ...endedRun(sampleRun(4)),
        ]);
        assert.deepEqual(await removeAll(), [1, 0]);
        await apply(store, [{ kind: 'delete-task', runKey: parent.key, slot: 2 }]);
        assert.deepEqual(await removeAll(), [0, 1]);
        await apply(store, [{ kind: 'park-tasks', runKey: parent.key }, ...failure(parent), creation(sampleRun(5))]);
        assert.equal(await store.removeEndedRuns(removal('succeeded', ALL_OF_TIME)), 0);
        await apply(store, [takeEntry(parent)]);
        assert.equal(await store.removeEndedRuns(removal('succeeded', ALL_OF_TIME)), 1);
        assert.deepEqual(await runIds(store), [parent.workflowRunId, 'wfr_5']);
      }),
    );

    test(
      'keeps the source of an active run until that run has ended, and clears the link when that run is removed',
      withStore(open, async (store) => {
        const [first, second] = [sampleRun(1), sampleRun(2)];
        await apply(store, [...failedRun(first), creation(second, { copyOf: first.key }), takeEntry(first, second.key)]);
        assert.equal(await store.removeEndedRuns(removal('failed', ALL_OF_TIME)), 0);
        await apply(store, [{ kind: 'end-run', runKey: second.key, outcome: OUTCOMES.succeeded, completedAt: T0 + 9 }]);
        assert.equal(await store.removeEndedRuns(removal('succeeded', ALL_OF_TIME)), 1);
        const record = await store.findRun({ runKey: first.key });
        assert.equal(record?.recoveredAs, null);
        assert.equal(await store.removeEndedRuns(removal('failed', ALL_OF_TIME)), 1);
        assert.deepEqual(await runIds(store), []);
      }),
    );

    test(
      'keeps a resumed run with its webhooks while a later run in the chain is active or may be resumed, and no longer',
      withStore(open, async (store) => {
        const [first, second, third] = [sampleRun(1), sampleRun(2), sampleRun(3)];
        const eventId = `whk_1.${first.key}`;
        const removeFailed = () => store.removeEndedRuns(removal('failed', ALL_OF_TIME));
        const webhook = sampleStep(0, { type: 'CreateWebhook', out: JSON.stringify({ eventId, webhookUrl: 'http://e' }) });
        await apply(store, [
          creation(first),
          { kind: 'record-step', runKey: first.key, step: webhook },
          ...failure(first),
          creation(second, { copyOf: first.key }),
          takeEntry(first, second.key, 'resume'),
          ...failure(second),
        ]);
        assert.equal(await removeFailed(), 0, 'the second run has a dead letter');
        await apply(store, [creation(third, { copyOf: second.key }), takeEntry(second, third.key, 'resume')]);
        assert.equal(await removeFailed(), 0, 'the third run is active');
        assert.equal(await store.hasWebhook({ runKey: first.key, eventId }), true);
        await apply(store, [{ kind: 'end-run', runKey: third.key, outcome: OUTCOMES.canceled, completedAt: T0 + 9 }]);
        assert.equal(await removeFailed(), 1);
        assert.equal(await removeFailed(), 1);
        assert.deepEqual(await runIds(store), [third.workflowRunId]);
      }),
    );

    test(
      'removes the source of a restart although the new run has a dead letter',
      withStore(open, async (store) => {
        const [first, second] = [sampleRun(1), sampleRun(2)];
        await apply(store, [...failedRun(first), creation(second, { copyOf: first.key }), takeEntry(first, second.key)]);
        await apply(store, failure(second));
        assert.equal(await store.removeEndedRuns(removal('failed', ALL_OF_TIME)), 1);
      }),
    );

    test(
      'agrees with a model over many runs that end in any order',
      withStore(open, async (store) => {
        const randomNumber = seededNumbers(11);
        const model = new Map<number, { readonly state: RetentionState; readonly endedAt: number }>();
        const states = ['succeeded', 'canceled', 'failed', 'deadLetter'] as const;
        const activeNumbers: number[] = [];
        let nextNumber = 1;
        for (let round = 0; round < 60; round++) {
          const writes: StoreWrite[] = [];
          for (let i = 0; i < 20; i++) {
            activeNumbers.push(nextNumber);
            writes.push(creation(sampleRun(nextNumber++)));
          }
          for (let i = randomNumber(25); i > 0 && activeNumbers.length > 0; i--) {
            const [n] = activeNumbers.splice(randomNumber(activeNumbers.length), 1);
            const state = states[randomNumber(states.length)];
            if (n === undefined || state === undefined) continue;
            const run = sampleRun(n);
            const endedAt = T0 + nextNumber + randomNumber(50);
            if (state === 'succeeded' || state === 'canceled') {
              writes.push({ kind: 'end-run', runKey: run.key, outcome: OUTCOMES[state], completedAt: endedAt });
            } else {
              writes.push(...failure(run, sampleDeadLetter(run, { createdAt: endedAt })));
              if (state === 'failed') writes.push(takeEntry(run));
            }
            model.set(n, { state, endedAt });
          }
          await apply(store, writes);
          const state = states[randomNumber(states.length)] ?? 'failed';
          const endedBefore = randomNumber(3) === 0 ? null : T0 + nextNumber - randomNumber(300);
          const keepNewest = randomNumber(3) === 0 ? null : randomNumber(60);
          await expectRemoval(store, model, removal(state, { endedBefore, keepNewest, limit: 1 + randomNumber(15) }));
        }
        const remainingNumbers = [...activeNumbers, ...model.keys()].sort((a, b) => a - b);
        assert.deepEqual(
          await runIds(store),
          remainingNumbers.slice(0, page.limit).map((n) => `wfr_${n}`),
        );
      }),
    );
  });
}

/** Checks a removal. The newest DLQ entries are those whose failure was written last; the newest runs, those created last. */
async function expectRemoval(
  store: Store,
  model: Map<number, { readonly state: RetentionState; readonly endedAt: number }>,
  query: RemovalQuery,
): Promise<void> {
  // The model keeps the order of ending, which is that of the entries.
  const candidates = [...model].filter(([, { state }]) => state === query.state).map(([n, { endedAt }]) => ({ n, endedAt }));
  if (query.state !== 'deadLetter') candidates.sort((a, b) => a.n - b.n);
  const keptCount = query.keepNewest ?? candidates.length;
  const expected = candidates
    .filter(({ endedAt }, i) => i < candidates.length - keptCount || endedAt < (query.endedBefore ?? 0))
    .slice(0, query.limit)
    .map(({ n }) => n);
  assert.equal(await store.removeEndedRuns(query), expected.length);
  for (const n of expected) {
    assert.equal(await store.findRun({ runKey: sampleRun(n).key }), null, `run ${n}`);
    model.delete(n);
  }
}
