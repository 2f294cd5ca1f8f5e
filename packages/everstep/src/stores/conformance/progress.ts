import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CALLBACK_SLOT, type Task } from '../../engine/runs/run.js';
import type { Store, StoreWrite, TaskReference } from '../../ports/stores/store.js';
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
  OTHER_INSTANCE,
  PAYLOAD,
  putTasks as putTasksOf,
  sampleDeadLetter,
  sampleRun,
  sampleStep,
  sleepTask,
  stepTask,
  T0,
} from './samples.js';

const run = sampleRun(1);
const runKey = run.key;

const putTasks = (tasks: readonly Task[], key = runKey): readonly StoreWrite[] => putTasksOf(key, tasks);

const allDue = { before: Number.MAX_SAFE_INTEGER, after: null, limit: 100 } as const;
const slotsOf = (tasks: readonly TaskReference[]) => tasks.map((task) => task.slot);
const positionsOf = (tasks: readonly TaskReference[]) => tasks.map(({ runKey, slot, dueAt }) => ({ runKey, slot, dueAt }));

async function loadExisting(store: Store, key = runKey) {
  const loadedRun = await store.loadRun({ runKey: key });
  assert.ok(loadedRun);
  return loadedRun;
}

export function progressConformance(open: OpenStore): void {
  describe('progress of runs', () => {
    test(
      'a run is loaded as it was created',
      withStore(open, async (store) => {
        const unusualRun = sampleRun(7, {
          workflowRunId: "it's / ünusual",
          origin: { kind: 'resume', runKey: 'K', workflowRunId: 'wfr_0', workflowCreatedAt: T0, dlqId: 'dlq_0' },
          settings: {
            maxRetries: 0,
            retryDelay: 'pow(2, retried)',
            labels: ['b', 'a', 'b'],
            flowControl: { key: 'k', parallelism: 2, rate: 3, periodMs: 1000 },
            failureCallback: { url: 'http://app.example/failed', headers: { a: 'b' } },
          },
        });
        await apply(store, [creation(unusualRun), ...putTasks([advanceTask(T0)], unusualRun.key)]);
        const expected = { ...unusualRun, replayedLength: -1, tasks: new Map([[0, advanceTask(T0)]]) };
        assert.deepEqual(await loadExisting(store, unusualRun.key), expected);
        assert.deepEqual(await store.loadPayload({ runKey: unusualRun.key }), PAYLOAD);
      }),
    );

    test(
      'something that does not exist is null or empty',
      withStore(open, async (store) => {
        assert.equal(await store.loadRun({ runKey }), null);
        assert.equal(await store.loadPayload({ runKey }), null);
        assert.equal(await fullHistory(store, { runKey }), null);
        assert.deepEqual(await store.loadJournal({ runKey, from: 0 }), []);
        assert.deepEqual(await store.dueTasks(allDue), []);
        assert.equal(await store.nextDueAt({ after: 0 }), null);
      }),
    );

    test(
      'a payload is copied from another run',
      withStore(open, async (store) => {
        await apply(store, [creation(run), creation(sampleRun(2), { copyOf: runKey })]);
        assert.deepEqual(await store.loadPayload({ runKey: sampleRun(2).key }), PAYLOAD);
      }),
    );

    test(
      'known entries, journal length and bytes follow from what is recorded',
      withStore(open, async (store) => {
        await apply(store, [creation(run)]);
        const { nextStepId, journalLength, journalBytes, replayedLength } = await loadExisting(store);
        assert.deepEqual(
          { nextStepId, journalLength, journalBytes, replayedLength },
          { nextStepId: 1, journalLength: 0, journalBytes: 0, replayedLength: 0 },
        );
        await apply(store, [
          { kind: 'record-step', runKey, step: sampleStep(0, { stepId: 2, out: '"é"' }) },
          { kind: 'record-step', runKey, step: sampleStep(1, { stepId: 1, out: null }) },
        ]);
        assert.deepEqual(
          { ...(await loadExisting(store)) },
          { ...run, nextStepId: 3, journalLength: 2, journalBytes: 4, replayedLength: 2 },
        );
        await apply(store, putTasks([stepTask(5, T0), stepTask(3, T0)]));
        assert.equal((await loadExisting(store)).nextStepId, 6);
        assert.deepEqual([...(await loadExisting(store)).tasks.keys()], [3, 5]);
        assert.equal((await loadExisting(store)).replayedLength, 2);
        await apply(store, putTasks([advanceTask(T0)]));
        assert.equal((await loadExisting(store)).replayedLength, -1);
      }),
    );

    test(
      'an introduction of the endpoint is stored with the settings of the run, and changes no other run',
      withStore(open, async (store) => {
        const settings = {
          ...run.settings,
          labels: ['a'],
          failureCallback: { url: 'http://app.example/failed', headers: { 'x-name': '\u0000 ☃ "introduced":false' } },
          steps: { joined: true, introduced: false },
        };
        const [introducedRun, otherRun] = [sampleRun(1, { settings }), sampleRun(2, { settings })];
        await apply(store, [creation(introducedRun), creation(otherRun)]);
        const newSettings = { ...settings, steps: { joined: true, introduced: true } };
        await apply(store, [{ kind: 'note-introduction', runKey, settings: newSettings }, ...putTasks([advanceTask(T0)])]);
        assert.deepEqual((await loadExisting(store)).settings, newSettings);
        assert.deepEqual((await loadExisting(store, otherRun.key)).settings, settings);
        const startedRun = sampleRun(3, { settings });
        await apply(store, [creation(startedRun), { kind: 'note-introduction', runKey: startedRun.key, settings: newSettings }]);
        assert.deepEqual((await loadExisting(store, startedRun.key)).settings, newSettings, 'in the same unit');
      }),
    );

    test(
      'the journal is read in recorded order from any index',
      withStore(open, async (store) => {
        const journal = [
          sampleStep(0, { stepId: 3 }),
          sampleStep(1, { stepId: 1, type: 'SleepFor', out: null, sleepMs: 10, wakeAt: T0 + 10, concurrent: 3 }),
          sampleStep(2, { stepId: 2, out: JSON.stringify('\u0000 ☃ \ud800') }),
        ];
        await apply(store, [creation(run), creation(sampleRun(2))]);
        // Steps of another run are recorded in between, because journals are separate.
        for (const step of journal) {
          await apply(store, [
            { kind: 'record-step', runKey: sampleRun(2).key, step: sampleStep(step.index) },
            { kind: 'record-step', runKey, step },
          ]);
        }
        for (const from of [0, 1, 2, 3]) {
          assert.deepEqual(await store.loadJournal({ runKey, from }), journal.slice(from));
        }
      }),
    );

    test(
      'a copied journal is the same, and the original stays',
      withStore(open, async (store) => {
        const copy = sampleRun(2);
        const journal = [sampleStep(0, { stepId: 2 }), sampleStep(1, { stepId: 1, out: null })];
        await apply(store, [creation(run), ...journal.map((step) => ({ kind: 'record-step', runKey, step }) as const)]);
        await apply(store, [creation(copy), { kind: 'copy-journal', fromRunKey: runKey, toRunKey: copy.key }]);
        assert.deepEqual(await store.loadJournal({ runKey: copy.key, from: 0 }), journal);
        assert.deepEqual(await store.loadJournal({ runKey, from: 0 }), journal);
        await apply(store, [{ kind: 'record-step', runKey: copy.key, step: sampleStep(2, { stepId: 3 }) }]);
        assert.equal((await loadExisting(store)).journalLength, 2);
      }),
    );

    test(
      'tasks of every kind are read as they were written, and one slot holds one task',
      withStore(open, async (store) => {
        const tasks = [advanceTask(T0 + 1), stepTask(1, T0 + 2), sleepTask(2, T0 + 3, T0 + 3), sleepTask(3, null, T0 + 9)];
        await apply(store, [creation(run), ...putTasks([sleepTask(1, T0, T0), ...tasks])]);
        assert.deepEqual([...(await loadExisting(store)).tasks.values()], tasks);
        await apply(store, [
          { kind: 'delete-task', runKey, slot: 1 },
          { kind: 'delete-task', runKey, slot: 77 },
        ]);
        assert.deepEqual([...(await loadExisting(store)).tasks.keys()], [0, 2, 3]);
        await apply(store, [{ kind: 'delete-tasks', runKey }]);
        assert.deepEqual((await loadExisting(store)).tasks, new Map());
      }),
    );

    test(
      'parked tasks are kept but not due; the wake time of a sleep stays',
      withStore(open, async (store) => {
        const otherRun = sampleRun(2);
        await apply(store, [
          creation(run),
          creation(otherRun),
          ...putTasks([stepTask(1, T0), sleepTask(2, T0 + 5, T0 + 5)]),
          ...putTasks([stepTask(1, T0 + 1)], otherRun.key),
          { kind: 'park-tasks', runKey },
        ]);
        assert.deepEqual([...(await loadExisting(store)).tasks.values()], [stepTask(1, null), sleepTask(2, null, T0 + 5)]);
        assert.deepEqual(positionsOf(await store.dueTasks(allDue)), [{ runKey: otherRun.key, slot: 1, dueAt: T0 + 1 }]);
        assert.equal(await store.nextDueAt({ after: 0 }), T0 + 1);
      }),
    );

    test(
      'due tasks are ordered by due time, then by creation of the run, then by slot, page by page',
      withStore(open, async (store) => {
        const [first, second] = [sampleRun(1), sampleRun(2)];
        await apply(store, [
          creation(first),
          creation(second),
          ...putTasks([stepTask(4, T0 + 9), stepTask(3, T0), stepTask(1, T0 + 5)], second.key),
          ...putTasks([stepTask(2, T0 + 5), stepTask(1, T0 + 5), stepTask(5, T0 + 20)], first.key),
        ]);
        const expected = [
          { runKey: second.key, slot: 3, dueAt: T0 },
          { runKey: first.key, slot: 1, dueAt: T0 + 5 },
          { runKey: first.key, slot: 2, dueAt: T0 + 5 },
          { runKey: second.key, slot: 1, dueAt: T0 + 5 },
          { runKey: second.key, slot: 4, dueAt: T0 + 9 },
        ];
        assert.deepEqual(positionsOf(await store.dueTasks({ before: T0 + 9, after: null, limit: 100 })), expected);
        for (const limit of [1, 2, 4]) {
          const references: TaskReference[] = [];
          for (let page = await store.dueTasks({ before: T0 + 9, after: null, limit }); page.length > 0; ) {
            references.push(...positionsOf(page));
            page = await store.dueTasks({ before: T0 + 9, after: page.at(-1) ?? null, limit });
          }
          assert.deepEqual(references, expected);
        }
        const afterAllRuns = { dueAt: T0 + 5, runKey: '\uffff', slot: Number.MAX_SAFE_INTEGER };
        assert.deepEqual(slotsOf(await store.dueTasks({ before: T0 + 9, after: afterAllRuns, limit: 9 })), [4]);
        const betweenRuns = { dueAt: T0 + 5, runKey: `${first.key}-and-no-run`, slot: 9 };
        assert.deepEqual(positionsOf(await store.dueTasks({ before: T0 + 9, after: betweenRuns, limit: 9 })), expected.slice(3));
        assert.deepEqual(slotsOf(await store.dueTasks({ before: T0 - 1, after: null, limit: 9 })), []);
      }),
    );

    test(
      'due tasks of one instance are read without those of others, and the instances that have some are known',
      withStore(open, async (store) => {
        const [ownRun, otherRun] = [sampleRun(1), sampleRun(2, { instanceId: OTHER_INSTANCE })];
        await apply(store, [
          creation(ownRun),
          creation(otherRun),
          ...putTasks([stepTask(1, T0), stepTask(2, T0 + 1), sleepTask(3, T0 + 50, T0 + 50)], ownRun.key),
          ...putTasks([stepTask(4, T0), callTask(5, T0 + 2), stepTask(6, null)], otherRun.key),
        ]);
        const dueSlotsOf = async (instanceId: string, after: TaskReference | null, limit: number) =>
          slotsOf(await store.dueTasks({ before: T0 + 9, after, limit, instanceId }));
        assert.deepEqual(await dueSlotsOf(INSTANCE, null, 9), [1, 2]);
        assert.deepEqual(await dueSlotsOf(OTHER_INSTANCE, null, 1), [4]);
        assert.deepEqual(await dueSlotsOf(OTHER_INSTANCE, { runKey: otherRun.key, slot: 4, dueAt: T0 }, 9), [5]);
        assert.deepEqual(await dueSlotsOf('qi_none', null, 9), []);
        const instances = async (from: number, before: number) => [...(await store.dueInstances({ from, before }))].sort();
        assert.deepEqual(await instances(0, T0 + 9), [INSTANCE, OTHER_INSTANCE]);
        assert.deepEqual(await instances(T0 + 2, T0 + 9), [OTHER_INSTANCE]);
        assert.deepEqual(await instances(T0 + 10, T0 + 50), [INSTANCE]);
        assert.deepEqual(await instances(0, T0 - 1), []);
        await apply(store, [{ kind: 'delete-tasks', runKey: otherRun.key }]);
        assert.deepEqual(await instances(0, T0 + 9), [INSTANCE]);
      }),
    );

    test(
      'a task is due at its new time once it is written again',
      withStore(open, async (store) => {
        await apply(store, [creation(run), ...putTasks([stepTask(1, T0), stepTask(2, T0 + 50)])]);
        await apply(store, putTasks([stepTask(1, T0 + 100)]));
        assert.deepEqual(slotsOf(await store.dueTasks(allDue)), [2, 1]);
        assert.equal(await store.nextDueAt({ after: T0 + 49 }), T0 + 50);
        assert.equal(await store.nextDueAt({ after: T0 + 50 }), T0 + 100);
        assert.equal(await store.nextDueAt({ after: T0 + 100 }), null);
      }),
    );

    test(
      'of a run that has ended, only the failure callback is due',
      withStore(open, async (store) => {
        const entry = { ...sampleDeadLetter(run), failureFunctionState: 'CALLBACK_INPROGRESS' } as const;
        await apply(store, [
          creation(run),
          ...putTasks([advanceTask(T0), stepTask(1, T0)]),
          { kind: 'park-tasks', runKey },
          ...failure(run, entry),
          ...putTasks([callbackTask(T0 + 7, entry.dlqId)]),
        ]);
        assert.deepEqual(slotsOf(await store.dueTasks(allDue)), [CALLBACK_SLOT]);
        assert.equal(await store.nextDueAt({ after: 0 }), T0 + 7);
        const endedRun = await loadExisting(store);
        assert.deepEqual([...endedRun.tasks.keys()], [CALLBACK_SLOT, 0, 1]);
        assert.equal(endedRun.replayedLength, -1);
        await apply(store, [{ kind: 'park-tasks', runKey }]);
        assert.deepEqual(slotsOf(await store.dueTasks(allDue)), [CALLBACK_SLOT]);
      }),
    );
  });
}
