import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CALLBACK_SLOT, type Run, type Task } from '../../engine/runs/run.js';
import type { DueTask, Store } from '../../ports/stores/store.js';
import { type OpenStore, withStore } from './harness.js';
import {
  advanceTask,
  apply,
  callbackTask,
  callTask,
  creation,
  failure,
  fullHistory,
  INSTANCE,
  invokeTask,
  notifyTask,
  OTHER_INSTANCE,
  PAYLOAD,
  putTasks,
  sampleDeadLetter,
  sampleRun,
  sampleStep,
  sleepTask,
  stepTask,
  T0,
  unit,
  waitTask,
} from './samples.js';

const run = sampleRun(1);
const runKey = run.key;

const dueTasks = (store: Store): Promise<readonly DueTask[]> =>
  store.dueTasks({ before: Number.MAX_SAFE_INTEGER, after: null, limit: 100 });

async function tasksOf(store: Store, key = runKey): Promise<readonly Task[]> {
  const loadedRun = await store.loadRun({ runKey: key });
  assert.ok(loadedRun);
  return [...loadedRun.tasks.values()];
}

const invokeSpec = {
  workflowUrl: 'http://app.example/child',
  body: { encoding: 'utf8', data: '{"a":"☃"}' },
  headers: { a: 'b' },
  labels: ['x'],
  flowControl: { key: 'child' },
} as const;

const KINDS: readonly (readonly [string, Task])[] = [
  ['a wait for events', waitTask(1, T0 + 9, ['paid', "it's / ünusual"], T0 + 9)],
  ['a wait for a webhook', { ...waitTask(1, T0 + 9, ['whk_1.KEY']), stepType: 'WaitForWebhook' }],
  ['a call with nothing but its URL', callTask(1, T0)],
  [
    'a call with all that it can have',
    callTask(1, T0, {
      headers: { 'x-a': 'é' },
      body: { encoding: 'base64', data: 'AP//' },
      retries: 4,
      retryDelay: '1000 * retried',
      timeoutMs: 5000,
      flowControl: { key: 'shop', parallelism: 2, rate: 3, periodMs: 1000 },
    }),
  ],
  ['a notification of all waiters', notifyTask(1, T0)],
  ['a notification of one run', { ...notifyTask(1, T0), workflowRunId: 'wfr_9' }],
  ['an invocation whose run is to be started', invokeTask(1, T0, 'CHILD', invokeSpec)],
  ['an invocation whose run is active', invokeTask(1, null, 'CHILD')],
  ['a failure callback', callbackTask(T0, 'dlq_1')],
];

export function taskKindConformance(open: OpenStore): void {
  describe('kinds of tasks', () => {
    for (const [name, task] of KINDS) {
      test(
        `${name} is read as it was written, even after a restart`,
        withStore(open, async (store, underTest) => {
          await apply(store, [creation(run), ...putTasks(runKey, [task])]);
          assert.deepEqual(await tasksOf(store), [task]);
          assert.deepEqual((await fullHistory(store, { runKey }))?.tasks, [task]);
          assert.deepEqual(await tasksOf(await underTest.reopen()), [task]);
        }),
      );
    }

    test(
      'a kind that replaces another in its slot leaves nothing of it behind',
      withStore(open, async (store) => {
        await apply(store, [creation(run)]);
        const allTasks = [...KINDS.map(([, task]) => ({ ...task, slot: 1 })), stepTask(1, T0), sleepTask(1, T0, T0)];
        for (const task of [...allTasks, ...allTasks.reverse()]) {
          await apply(store, putTasks(runKey, [task]));
          assert.deepEqual(await tasksOf(store), [task]);
        }
        assert.deepEqual(await store.listWaiters({ instanceId: INSTANCE, eventId: 'gone', after: null, limit: 9 }), []);
        assert.equal(await store.findInvoker({ childRunKey: 'CHILD' }), null);
      }),
    );

    const keySettings = { flowControl: { key: 'run key' } };
    const callback = { failureCallback: { url: 'http://pager.example/', headers: {} } };
    const OWNERS: readonly (readonly [string, Run])[] = [
      ['of a run without a key', sampleRun(1)],
      ['of a run with a key', sampleRun(1, { settings: keySettings, instanceId: OTHER_INSTANCE })],
      ['of a run with a failure callback', sampleRun(1, { settings: { ...keySettings, ...callback } })],
    ];
    for (const [name, owner] of OWNERS) {
      test(
        `a due task ${name} has its kind, its run, its destination and the key that holds it`,
        withStore(open, async (store) => {
          const ownKey = owner.settings.flowControl?.key ?? null;
          const callbackUrl = owner.settings.failureCallback?.url ?? owner.workflowUrl;
          const expected = new Map<Task, Pick<DueTask, 'workflowUrl' | 'flowControlKey'>>([
            [callbackTask(T0, 'dlq_1'), { workflowUrl: callbackUrl, flowControlKey: null }],
            [advanceTask(T0), { workflowUrl: owner.workflowUrl, flowControlKey: ownKey }],
            [stepTask(1, T0), { workflowUrl: owner.workflowUrl, flowControlKey: ownKey }],
            [sleepTask(2, T0, T0), { workflowUrl: owner.workflowUrl, flowControlKey: null }],
            [waitTask(3, T0, ['paid']), { workflowUrl: owner.workflowUrl, flowControlKey: null }],
            [callTask(4, T0), { workflowUrl: 'http://shop.example/charge', flowControlKey: null }],
            [
              callTask(5, T0, { url: 'http://other.example/', flowControl: { key: 'call key' } }),
              { workflowUrl: 'http://other.example/', flowControlKey: 'call key' },
            ],
            [notifyTask(6, T0), { workflowUrl: owner.workflowUrl, flowControlKey: null }],
            [invokeTask(7, T0, 'CHILD', invokeSpec), { workflowUrl: owner.workflowUrl, flowControlKey: null }],
          ]);
          await apply(store, [creation(owner), ...putTasks(owner.key, [...expected.keys()])]);
          assert.deepEqual(
            await dueTasks(store),
            [...expected].map(([{ slot, kind }, destination]) => ({
              runKey: owner.key,
              slot,
              dueAt: T0,
              kind,
              instanceId: owner.instanceId,
              runVersion: 0,
              ...destination,
            })),
          );
        }),
      );
    }

    test(
      'parked waits, calls, notifications and invocations are kept but not due; the deadline of a wait stays',
      withStore(open, async (store) => {
        const tasks = [waitTask(1, T0 + 9, ['a'], T0 + 9), callTask(2, T0), notifyTask(3, T0), invokeTask(4, T0, 'CHILD')];
        await apply(store, [creation(run), ...putTasks(runKey, tasks), { kind: 'park-tasks', runKey }]);
        assert.deepEqual(
          await tasksOf(store),
          tasks.map((task) => ({ ...task, dueAt: null })),
        );
        assert.deepEqual(await dueTasks(store), []);
      }),
    );
  });

  describe('the failure callback', () => {
    const entry = sampleDeadLetter(run, { failureFunctionState: 'CALLBACK_INPROGRESS' });
    const failureWrites = [...failure(run, entry), ...putTasks(runKey, [callbackTask(T0 + 5, entry.dlqId)])];

    test(
      'counts neither as a step nor as a position to continue from',
      withStore(open, async (store) => {
        await apply(store, [creation(run), { kind: 'record-step', runKey, step: sampleStep(0) }, ...failureWrites]);
        const endedRun = await store.loadRun({ runKey });
        assert.deepEqual([endedRun?.nextStepId, endedRun?.journalLength, endedRun?.replayedLength], [2, 1, 1]);
        await apply(store, [{ kind: 'delete-task', runKey, slot: CALLBACK_SLOT }]);
        assert.deepEqual(await dueTasks(store), []);
      }),
    );

    for (const recoveredAs of [null, { kind: 'resume', runKey: sampleRun(2).key, at: T0 }] as const) {
      test(
        `is gone with the dead letter when that entry ${recoveredAs ? 'was resumed' : 'was deleted'}, and other tasks of the run stay`,
        withStore(open, async (store) => {
          await apply(store, [creation(run), ...putTasks(runKey, [stepTask(1, null)]), ...failureWrites]);
          await apply(store, [
            ...(recoveredAs ? [creation(sampleRun(2), { copyOf: runKey })] : []),
            { kind: 'take-dead-letter', instanceId: INSTANCE, dlqId: entry.dlqId, recoveredAs },
          ]);
          assert.deepEqual(await dueTasks(store), []);
          assert.deepEqual(await tasksOf(store), [stepTask(1, null)]);
          const openGuard = { kind: 'task-open', runKey, slot: CALLBACK_SLOT, messageId: 'msg_callback' } as const;
          const lateWrite = { kind: 'record-step', runKey, step: sampleStep(7) } as const;
          assert.deepEqual(await store.commit([unit([lateWrite], [openGuard])]), [{ kind: 'task-gone' }]);
        }),
      );
    }

    test(
      'is recorded only if no other attempt was recorded, and is retried only if it is not in progress',
      withStore(open, async (store) => {
        await apply(store, [creation(run), ...failureWrites]);
        const task = callbackTask(T0 + 5, entry.dlqId);
        const openGuard = { kind: 'task-open', runKey, slot: CALLBACK_SLOT, messageId: task.messageId } as const;
        const next = { kind: 'put-task', runKey, task: { ...task, retried: 2, dueAt: T0 + 9 } } as const;
        const failed = unit([next], [{ ...openGuard, retried: 1 }]);
        assert.deepEqual(await store.commit([failed, failed]), [{ kind: 'applied' }, { kind: 'task-gone' }]);
        assert.deepEqual(await store.commit([failed, unit([], [openGuard])]), [{ kind: 'task-gone' }, { kind: 'applied' }]);

        const presentGuard = { kind: 'dead-letters-present', instanceId: INSTANCE, dlqIds: [entry.dlqId] } as const;
        const retry = unit(
          [{ kind: 'put-task', runKey, task }],
          [presentGuard, { kind: 'slot-free', runKey, slot: CALLBACK_SLOT }],
        );
        assert.deepEqual(await store.commit([retry]), [{ kind: 'slot-taken' }]);
        const end = unit([{ kind: 'delete-task', runKey, slot: CALLBACK_SLOT }], [{ ...openGuard, retried: 2 }]);
        const results = await store.commit([end, retry, retry]);
        assert.deepEqual(results, [{ kind: 'applied' }, { kind: 'applied' }, { kind: 'slot-taken' }]);
        assert.deepEqual(await store.commit([retry]), [{ kind: 'slot-taken' }]);
      }),
    );

    test(
      'is known from the run once the failure function of its endpoint was noted',
      withStore(open, async (store, underTest) => {
        await apply(store, [creation(run), creation(sampleRun(2))]);
        assert.equal((await store.loadRun({ runKey }))?.hasFailureFunction, false);
        await apply(store, [{ kind: 'note-failure-function', runKey }]);
        const reopened = await underTest.reopen();
        assert.equal((await reopened.loadRun({ runKey }))?.hasFailureFunction, true);
        assert.equal((await reopened.loadRun({ runKey: sampleRun(2).key }))?.hasFailureFunction, false);
      }),
    );

    test(
      'of a run that is created with a failure function is known immediately',
      withStore(open, async (store) => {
        const resumedRun = { ...run, hasFailureFunction: true };
        await apply(store, [creation(resumedRun, PAYLOAD)]);
        assert.deepEqual(await store.loadRun({ runKey }), resumedRun);
      }),
    );
  });

  describe('invocations', () => {
    const child = sampleRun(9);
    const invoker = { runKey, slot: 4 };
    const childEnd = { kind: 'wake-invoker', childRunKey: child.key, at: T0 + 50 } as const;

    test(
      'the end of a run makes the task due that waits for it, and no other',
      withStore(open, async (store) => {
        const otherTasks = [invokeTask(1, null, 'ANOTHER'), waitTask(2, null, ['a'])];
        await apply(store, [creation(run), ...putTasks(runKey, [...otherTasks, invokeTask(4, null, child.key)])]);
        assert.deepEqual(await store.findInvoker({ childRunKey: child.key }), invoker);
        assert.deepEqual(await dueTasks(store), []);
        await apply(store, [creation(child), childEnd]);
        assert.deepEqual(await tasksOf(store), [...otherTasks, invokeTask(4, T0 + 50, child.key)]);
        assert.equal(await store.nextDueAt({ after: 0 }), T0 + 50);
        assert.deepEqual(await store.findInvoker({ childRunKey: child.key }), invoker);
      }),
    );

    test(
      'a task that starts to wait for a run that has already ended is due, because no later end makes it due',
      withStore(open, async (store, underTest) => {
        const [earlyTask, otherTask] = [invokeTask(4, null, child.key), invokeTask(5, null, sampleRun(8).key)];
        const ended = { kind: 'end-run', runKey: child.key, outcome: { status: 'canceled' }, completedAt: T0 + 49 } as const;
        await apply(store, [creation(run), creation(child), creation(sampleRun(8)), ...putTasks(runKey, [earlyTask, otherTask])]);
        await apply(store, [ended, childEnd]);
        await apply(store, putTasks(runKey, [earlyTask, otherTask]));
        // The same applies if the end and the task are in one batch.
        const [third, resumedRun] = [sampleRun(7), sampleRun(6)];
        await apply(store, [creation(third), creation(resumedRun)]);
        const task = invokeTask(1, null, third.key);
        await apply(store, [{ ...ended, runKey: third.key }, ...putTasks(resumedRun.key, [task])]);
        for (const openStore of [async () => store, () => underTest.reopen()]) {
          const openedStore = await openStore();
          const loaded = await openedStore.loadRun({ runKey });
          assert.deepEqual([...(loaded?.tasks.values() ?? [])], [{ ...earlyTask, dueAt: earlyTask.createdAt }, otherTask]);
          assert.equal((await openedStore.loadRun({ runKey: resumedRun.key }))?.tasks.get(1)?.dueAt, task.createdAt);
          assert.equal(await openedStore.nextDueAt({ after: 0 }), earlyTask.createdAt);
        }
      }),
    );

    test(
      'a run without a waiting invocation makes no task due',
      withStore(open, async (store) => {
        await apply(store, [creation(run), ...putTasks(runKey, [stepTask(1, null)])]);
        await apply(store, [childEnd]);
        assert.deepEqual(await dueTasks(store), []);
        assert.equal(await store.findInvoker({ childRunKey: child.key }), null);
      }),
    );

    test(
      'the task of a failed run stays parked, and the run that was derived from it is woken instead',
      withStore(open, async (store) => {
        const task = invokeTask(4, null, child.key);
        await apply(store, [creation(child), creation(run), ...putTasks(runKey, [task])]);
        await apply(store, [{ kind: 'park-tasks', runKey }, ...failure(run)]);
        await apply(store, [childEnd]);
        assert.deepEqual(await dueTasks(store), []);
        assert.equal(await store.findInvoker({ childRunKey: child.key }), null);
        const resumedRun = sampleRun(2);
        await apply(store, [creation(resumedRun), ...putTasks(resumedRun.key, [task]), childEnd]);
        assert.deepEqual(
          (await dueTasks(store)).map(({ runKey, slot, dueAt }) => [runKey, slot, dueAt]),
          [[resumedRun.key, 4, T0 + 50]],
        );
        assert.deepEqual(await store.findInvoker({ childRunKey: child.key }), { runKey: resumedRun.key, slot: 4 });
      }),
    );

    test(
      'the log names the runs that the steps of a run invoked, by step',
      withStore(open, async (store) => {
        const invokedRun = (n: number, stepId: number, parent: Run = run) =>
          sampleRun(n, {
            origin: {
              kind: 'invoke',
              runKey: parent.key,
              workflowRunId: parent.workflowRunId,
              workflowCreatedAt: parent.createdAt,
              stepId,
              stepName: `invoke ${stepId}`,
              depth: 1,
            },
          });
        const [lateRun, earlyRun, foreignRun] = [invokedRun(2, 7), invokedRun(3, 5), invokedRun(4, 5, sampleRun(5))];
        const resume = {
          kind: 'resume',
          runKey,
          workflowRunId: run.workflowRunId,
          workflowCreatedAt: run.createdAt,
          dlqId: 'dlq_1',
        } as const;
        await apply(store, [
          creation(run),
          creation(sampleRun(6, { origin: resume })),
          ...[lateRun, earlyRun, foreignRun].map((invoked) => creation(invoked)),
        ]);
        await apply(store, [{ kind: 'end-run', runKey: lateRun.key, outcome: { status: 'canceled' }, completedAt: T0 }]);
        const reference = ({ key, workflowRunId, createdAt }: Run) => ({ runKey: key, workflowRunId, createdAt });
        assert.deepEqual((await fullHistory(store, { runKey }))?.invoked, [
          { ...reference(earlyRun), stepId: 5, status: 'active' },
          { ...reference(lateRun), stepId: 7, status: 'canceled' },
        ]);
        assert.deepEqual((await fullHistory(store, { runKey: earlyRun.key }))?.invoked, []);
      }),
    );
  });
}
