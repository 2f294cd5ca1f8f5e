/** Plain messages and their targets: queues and URL groups. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MessageSettings, Queue, Run, Task, UrlGroup } from '../../engine/runs/run.js';
import type { StoreWrite } from '../../ports/stores/store.js';
import { type OpenStore, withStore } from './harness.js';
import {
  advanceTask,
  apply,
  creation,
  failure,
  INSTANCE,
  OTHER_INSTANCE,
  PAYLOAD,
  putTasks,
  sampleDeadLetter,
  sampleRun,
  T0,
  unit,
} from './samples.js';

const message = (n: number, fields: Partial<MessageSettings> = {}, overrides: Parameters<typeof sampleRun>[1] = {}): Run =>
  sampleRun(n, { ...overrides, settings: { ...overrides.settings, message: { method: 'POST', ...fields } } });

const messageTask = (dueAt: number | null, retried = 0): Task => ({
  kind: 'message',
  slot: 0,
  messageId: 'msg_x',
  dueAt,
  createdAt: T0,
  retried,
});

const withTask = (run: Run, dueAt: number | null = T0, retried = 0): readonly StoreWrite[] => [
  creation(run),
  ...putTasks(run.key, [messageTask(dueAt, retried)]),
];

const queue = (name: string, fields: Partial<Queue> = {}): Queue => ({
  name,
  parallelism: 2,
  paused: true,
  createdAt: T0,
  updatedAt: T0 + 1,
  ...fields,
});

const group = (name: string, fields: Partial<UrlGroup> = {}): UrlGroup => ({
  name,
  endpoints: [
    { name: 'é', url: 'http://a.example/' },
    { name: null, url: 'http://b.example/?x=1' },
  ],
  createdAt: T0,
  updatedAt: T0 + 1,
  ...fields,
});

const putQueue = (newQueue: Queue, instanceId = INSTANCE): StoreWrite => ({ kind: 'put-queue', instanceId, queue: newQueue });
const register = (name: string, at = T0): StoreWrite => ({ kind: 'register-queue', instanceId: INSTANCE, name, at });
const page = { instanceId: INSTANCE, order: 'oldest-first', after: null, horizon: null, limit: 100 } as const;

export function messageConformance(open: OpenStore): void {
  describe('plain messages', () => {
    test(
      'are read as they were created, even after a restart',
      withStore(open, async (store, underTest) => {
        const callback = { url: 'http://c.example/', headers: { 'x-a': 'b' }, method: 'PUT', maxRetries: 0, delayMs: 5 };
        const run = message(1, { queue: 'q', urlGroup: 'g', endpointName: 'e', scheduleId: 's', notBefore: T0, callback });
        await apply(store, withTask(run, T0 + 5, 2));
        for (const openStore of [async () => store, () => underTest.reopen()]) {
          const openedStore = await openStore();
          const loadedRun = await openedStore.loadRun({ runKey: run.key });
          assert.deepEqual(loadedRun, { ...run, replayedLength: -1, tasks: new Map([[0, messageTask(T0 + 5, 2)]]) });
          assert.deepEqual(await openedStore.loadPayload({ runKey: run.key }), PAYLOAD);
        }
      }),
    );

    test(
      'are due like all pending work, with the queue and the key that may hold them',
      withStore(open, async (store) => {
        const [queuedRun, unqueuedRun] = [
          message(1, { queue: 'q' }, { settings: { flowControl: { key: 'k', rate: 1, periodMs: 1 } } }),
          message(2),
        ];
        await apply(store, [...withTask(queuedRun), ...withTask(unqueuedRun)]);
        const commonFields = {
          slot: 0,
          dueAt: T0,
          kind: 'message',
          instanceId: INSTANCE,
          workflowUrl: queuedRun.workflowUrl,
          runVersion: 0,
        } as const;
        assert.deepEqual(await store.dueTasks({ before: T0, after: null, limit: 10 }), [
          { ...commonFields, runKey: queuedRun.key, flowControlKey: 'k', queue: 'q' },
          { ...commonFields, runKey: unqueuedRun.key, flowControlKey: null },
        ]);
      }),
    );

    test(
      'are not found by a run id, and workflow runs are not found by filters for messages',
      withStore(open, async (store) => {
        const [workflowRun, messageRun] = [
          sampleRun(1, { workflowRunId: 'same' }),
          message(2, { queue: 'q' }, { workflowRunId: 'same' }),
        ];
        await apply(store, [creation(workflowRun), ...withTask(messageRun)]);
        assert.equal((await store.findRun({ instanceId: INSTANCE, workflowRunId: 'same' }))?.key, workflowRun.key);
        assert.equal((await store.findRun({ runKey: messageRun.key }))?.settings.message?.queue, 'q');
        assert.deepEqual((await store.listRuns({ ...page, filter: { queues: ['q'] } })).items, []);
        const guard = { kind: 'run-id-free', instanceId: INSTANCE, workflowRunId: 'same' } as const;
        const [result] = await store.commit([unit([creation(sampleRun(3, { workflowRunId: 'same' }))], [guard])]);
        assert.equal(result?.kind === 'run-id-taken' && result.run.runKey, workflowRun.key);
      }),
    );

    test(
      'change their state in the listings as they end, and their dead letters as their failure is reported',
      withStore(open, async (store) => {
        const run = message(1, { queue: 'q' });
        const listMessages = (filter: object) => store.listRuns({ ...page, filter: { kind: 'message', ...filter } });
        await apply(store, withTask(run));
        assert.equal((await listMessages({ statuses: ['active'] })).items.length, 1);
        const entry = sampleDeadLetter(run, { failureFunctionState: 'CALLBACK_INPROGRESS' });
        await apply(store, failure(run, entry));
        assert.equal((await listMessages({ statuses: ['active'] })).items.length, 0);
        assert.equal((await listMessages({ statuses: ['failed'], queues: ['q'] })).items.length, 1);
        const state = { kind: 'set-failure-function-state', instanceId: INSTANCE, dlqId: entry.dlqId } as const;
        await apply(store, [{ ...state, state: 'CALLBACK_SUCCESS' }]);
        const listDlqIds = (filter: object) => store.listDeadLetterIds({ ...page, filter });
        const reportedFilter = { failureFunctionStates: ['CALLBACK_SUCCESS'] };
        assert.deepEqual((await listDlqIds({ kind: 'message', ...reportedFilter })).items, [entry.dlqId]);
        assert.deepEqual((await listDlqIds({ failureFunctionStates: ['CALLBACK_INPROGRESS'] })).items, []);
        await apply(store, [{ kind: 'take-dead-letter', instanceId: INSTANCE, dlqId: entry.dlqId, recoveredAs: null }]);
        for (const filter of [{}, { kind: 'message' }, reportedFilter, { queues: ['q'] }, { responseStatuses: [500] }]) {
          assert.deepEqual((await listDlqIds(filter)).items, [], JSON.stringify(filter));
        }
      }),
    );

    test(
      'are removed like runs when they are no longer retained',
      withStore(open, async (store) => {
        const [succeededMessage, failedMessage, workflowRun] = [
          message(1, { queue: 'q' }),
          message(2, { queue: 'q' }),
          sampleRun(3),
        ];
        const end = ({ key }: Run): StoreWrite => ({
          kind: 'end-run',
          runKey: key,
          outcome: { status: 'succeeded', result: null },
          completedAt: T0 + 10,
        });
        await apply(store, [
          ...withTask(succeededMessage),
          end(succeededMessage),
          ...withTask(failedMessage, null, 1),
          ...failure(failedMessage),
          creation(workflowRun),
          end(workflowRun),
        ]);
        const query = { instanceId: INSTANCE, endedBefore: T0 * 2, keepNewest: null, limit: 10 } as const;
        assert.equal(await store.removeEndedRuns({ ...query, state: 'succeeded' }), 2);
        assert.equal(await store.removeEndedRuns({ ...query, state: 'deadLetter' }), 1);
        for (const filter of [{ kind: 'message' }, { kind: 'message', queues: ['q'] }, {}] as const) {
          assert.deepEqual((await store.listRuns({ ...page, filter })).items, []);
        }
        assert.deepEqual((await store.listDeadLetterIds({ ...page, filter: {} })).items, []);
        assert.equal(await store.findRun({ runKey: succeededMessage.key }), null);
      }),
    );
  });

  describe('queues', () => {
    test(
      'are read as they were written, by name, separately for each instance, even after a restart',
      withStore(open, async (store, underTest) => {
        await apply(store, [putQueue(queue('b')), putQueue(queue('a', { paused: false })), putQueue(queue('b'), OTHER_INSTANCE)]);
        await apply(store, [putQueue(queue('b', { parallelism: 7, updatedAt: T0 + 9 }))]);
        for (const openStore of [async () => store, () => underTest.reopen()]) {
          const openedStore = await openStore();
          const [a, b] = [queue('a', { paused: false }), queue('b', { parallelism: 7, updatedAt: T0 + 9 })];
          assert.deepEqual(await openedStore.listQueues({ instanceId: INSTANCE }), [a, b]);
          assert.deepEqual(await openedStore.findQueue({ instanceId: OTHER_INSTANCE, name: 'b' }), queue('b'));
          assert.equal(await openedStore.findQueue({ instanceId: OTHER_INSTANCE, name: 'a' }), null);
          assert.deepEqual(await openedStore.listQueues({ instanceId: 'qi_unknown' }), []);
          assert.equal(await openedStore.latestTime(), T0 + 9);
        }
      }),
    );

    test(
      'are created with a parallelism of 1 by a message that names them, and are not changed if they exist',
      withStore(open, async (store) => {
        await apply(store, [putQueue(queue('old')), register('old', T0 + 50), register('new', T0 + 60)]);
        assert.deepEqual(await store.findQueue({ instanceId: INSTANCE, name: 'old' }), queue('old'));
        const createdQueue = queue('new', { parallelism: 1, paused: false, createdAt: T0 + 60, updatedAt: T0 + 60 });
        assert.deepEqual(await store.findQueue({ instanceId: INSTANCE, name: 'new' }), createdQueue);
      }),
    );

    test(
      'can be deleted, and their messages stay',
      withStore(open, async (store) => {
        const run = message(1, { queue: 'q' });
        const remove = { kind: 'delete-queue', instanceId: INSTANCE, name: 'q' } as const;
        await apply(store, [register('q'), ...withTask(run), remove, { ...remove, name: 'none' }]);
        assert.equal(await store.findQueue({ instanceId: INSTANCE, name: 'q' }), null);
        assert.equal(await store.countQueued({ instanceId: INSTANCE, name: 'q' }), 1);
      }),
    );

    test(
      'that are deleted and named again are new ones, even in one batch',
      withStore(open, async (store) => {
        const remove = { kind: 'delete-queue', instanceId: INSTANCE, name: 'q' } as const;
        const createdQueue = queue('q', { parallelism: 1, paused: false, createdAt: T0 + 70, updatedAt: T0 + 70 });
        await apply(store, [putQueue(queue('q'))]);
        await apply(store, [remove, register('q', T0 + 70), register('q', T0 + 80)]);
        assert.deepEqual(await store.findQueue({ instanceId: INSTANCE, name: 'q' }), createdQueue);
        await apply(store, [register('q', T0 + 90), putQueue(queue('q')), remove]);
        assert.deepEqual(await store.listQueues({ instanceId: INSTANCE }), []);
      }),
    );

    test(
      'know how many of their messages have not ended, and which of them failed before',
      withStore(open, async (store, underTest) => {
        const q = { queue: 'q' };
        const runs = [4, 3, 2, 1].map((n) => message(n, q));
        const [fourth, third, second, first] = runs;
        assert.ok(fourth && third && second && first);
        await apply(store, [
          // The order of creation differs from the order of the keys and from that of the due times.
          ...withTask(fourth, T0 + 90, 1),
          ...withTask(third, T0, 0),
          ...withTask(second, T0 + 5, 3),
          ...withTask(first, null, 2),
          ...withTask(message(5, { queue: 'other' }), T0, 1),
          ...withTask(message(6, q, { instanceId: OTHER_INSTANCE }), T0, 1),
          creation(sampleRun(7)),
          ...putTasks(sampleRun(7).key, [advanceTask(T0)]),
          ...failure(first),
        ]);
        for (const openStore of [async () => store, () => underTest.reopen()]) {
          const openedStore = await openStore();
          assert.equal(await openedStore.countQueued({ instanceId: INSTANCE, name: 'q' }), 3);
          assert.deepEqual(await openedStore.retriedInQueue({ instanceId: INSTANCE, name: 'q' }), [fourth.key, second.key]);
          assert.deepEqual(await openedStore.retriedInQueue({ instanceId: 'qi_unknown', name: 'q' }), []);
          assert.equal(await openedStore.countQueued({ instanceId: 'qi_unknown', name: 'q' }), 0);
        }
      }),
    );
  });

  describe('URL groups', () => {
    test(
      'are read as they were written, by name, separately for each instance, and can be deleted',
      withStore(open, async (store, underTest) => {
        const put = (urlGroup: UrlGroup, instanceId = INSTANCE): StoreWrite => ({
          kind: 'put-url-group',
          instanceId,
          group: urlGroup,
        });
        await apply(store, [put(group('b')), put(group('a')), put(group('b'), OTHER_INSTANCE)]);
        const changedGroup = group('b', { endpoints: [], updatedAt: T0 + 9 });
        const remove = { kind: 'delete-url-group', instanceId: OTHER_INSTANCE, name: 'b' } as const;
        await apply(store, [put(changedGroup), remove, { ...remove, name: 'none' }]);
        for (const openStore of [async () => store, () => underTest.reopen()]) {
          const openedStore = await openStore();
          assert.deepEqual(await openedStore.listUrlGroups({ instanceId: INSTANCE }), [group('a'), changedGroup]);
          assert.deepEqual(await openedStore.findUrlGroup({ instanceId: INSTANCE, name: 'a' }), group('a'));
          assert.equal(await openedStore.findUrlGroup({ instanceId: OTHER_INSTANCE, name: 'b' }), null);
          assert.deepEqual(await openedStore.listUrlGroups({ instanceId: 'qi_unknown' }), []);
        }
      }),
    );
  });
}
