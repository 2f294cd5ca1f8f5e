import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newRepair } from '../../../engine/dead-letters/repair.js';
import type { Schedule } from '../../../engine/runs/run.js';
import type { Store, StoreWrite } from '../../../ports/stores/store.js';
import { type OpenStore, withStore } from '../harness.js';
import {
  advanceTask,
  apply,
  callbackTask,
  creation,
  failure,
  INSTANCE,
  keptEvent,
  OTHER_INSTANCE,
  PAYLOAD,
  putTasks,
  SETTINGS,
  sampleAttempt,
  sampleRun,
  sampleStep,
  T0,
  unit,
  waitTask,
} from '../samples.js';
import { addUsers, sampleAudit, sampleInstance, sampleToken } from './account-samples.js';

const DAY = Math.floor(T0 / 86_400_000);
const ALL = { order: 'oldest-first', after: null, horizon: null, limit: 1000, filter: {} } as const;
const AUDIT = sampleAudit(1, ['usr_ann']);

const schedule = (instanceId: string): Schedule => ({
  ...{ scheduleId: 'sch_1', instanceId, dialect: 'native', cron: '* * * * *', timeZone: 'UTC' },
  ...{ workflowUrl: 'http://app.example/report', payload: PAYLOAD, settings: SETTINGS, delayMs: 0, callerIp: '192.0.2.1' },
  ...{ paused: false, createdAt: T0, nextAt: T0 + 5, lastFiredAt: null, lastRunId: null },
});

/** Adds one record of each kind: an active run that waits, a canceled run, a failed run, and records other than runs. */
async function fill(store: Store, instanceId: string, firstNumber: number): Promise<void> {
  const [activeRun, endedRun, failedRun] = [0, 1, 2].map((n) =>
    sampleRun(firstNumber + n, { instanceId, settings: { labels: ['red'] } }),
  );
  if (!activeRun || !endedRun || !failedRun) throw new Error('expected three runs');
  const group = {
    fingerprint: 'f1',
    rules: 2,
    kind: 'workflow',
    stepName: 'pay',
    message: 'no',
    workflowUrl: failedRun.workflowUrl,
  } as const;
  const limits = { key: 'k', parallelism: 2 };
  const writes: readonly StoreWrite[] = [
    creation(activeRun),
    { kind: 'record-step', runKey: activeRun.key, step: sampleStep(0) },
    { kind: 'record-attempt', runKey: activeRun.key, attempt: sampleAttempt(0) },
    { kind: 'keep-event', runKey: activeRun.key, event: keptEvent(1) },
    ...putTasks(activeRun.key, [advanceTask(T0), waitTask(1, T0 + 9, ['paid'])]),
    { kind: 'remember-deduplication', instanceId, deduplicationId: 'd1', runKey: activeRun.key, expiresAt: T0 * 2 },
    creation(endedRun),
    { kind: 'end-run', runKey: endedRun.key, outcome: { status: 'canceled' }, completedAt: T0 + 5 },
    creation(failedRun),
    ...failure(failedRun, undefined, group),
    ...putTasks(failedRun.key, [callbackTask(T0, `dlq_${failedRun.key}`)]),
    { kind: 'put-flow-control', instanceId, flowControl: limits, at: T0 },
    { kind: 'register-queue', instanceId, name: 'mails', at: T0 },
    { kind: 'put-url-group', instanceId, group: { name: 'all', createdAt: T0, updatedAt: T0, endpoints: [] } },
    { kind: 'put-schedule', schedule: schedule(instanceId) },
    {
      kind: 'set-hold',
      instanceId,
      origin: 'http://a.example',
      hold: { origin: 'http://a.example', by: 'hand', reason: '', since: T0 },
      by: 'hand',
    },
    { kind: 'count-messages', instanceId, messages: 7, at: T0 },
    { kind: 'count-of-day', instanceId, what: 'run', count: 3, at: T0 },
  ];
  await apply(store, writes);
  const repair = newRepair({
    instanceId,
    repairId: `rep_${instanceId}`,
    action: 'resume',
    createdAt: T0,
    createdBy: 'a@b.example',
  });
  const record = { repair, filter: {}, overrides: {}, freezing: { after: null, horizon: '7' }, wakeAt: T0, version: 0 };
  await store.repairs.create({ record, driver: null });
}

/** Returns the number of rows of the instance, by kind. */
async function countRows(store: Store, instanceId: string) {
  const { accounts } = store;
  return {
    runs: (await store.listRuns({ ...ALL, instanceId })).items.length,
    deadLetters: (await store.listDeadLetters({ ...ALL, instanceId })).items.length,
    labelled: (await store.listRuns({ ...ALL, instanceId, filter: { labels: ['red'] } })).items.length,
    due: (await store.dueTasks({ before: T0 + 99, after: null, limit: 100 })).filter((task) => task.instanceId === instanceId)
      .length,
    waiters: (await store.listWaiters({ instanceId, eventId: null, after: null, limit: 10 })).length,
    flowControls: (await store.listFlowControls({ instanceId })).length,
    queues: (await store.listQueues({ instanceId })).length,
    urlGroups: (await store.listUrlGroups({ instanceId })).length,
    schedules: await store.countObjects({ instanceId, objectKind: 'schedule' }),
    holds: (await store.listHolds({ instanceId })).length,
    repairs: (await store.repairs.list({ instanceId, after: null, limit: 10 })).items.length,
    tokens: (await accounts.listTokens({ instanceId })).length,
    counts: (await accounts.countsByDay({ instanceId, fromDay: DAY })).length,
    messages: (await accounts.usage({ instanceId, fromMonth: '2000-01' })).reduce((sum, { messages }) => sum + messages, 0),
  };
}

const NO_ROWS = {
  ...{ runs: 0, deadLetters: 0, labelled: 0, due: 0, waiters: 0, flowControls: 0, queues: 0, urlGroups: 0, schedules: 0 },
  ...{ holds: 0, repairs: 0, tokens: 0, counts: 0 },
};

/** Runs `body` on a store with two instances that have the same data. */
function withTwoInstances(open: OpenStore, body: (store: Store, reopen: () => Promise<Store>) => Promise<void>) {
  return withStore(open, async (store, underTest) => {
    await addUsers(store.accounts, 'ann');
    for (const [instanceId, firstNumber] of [
      [INSTANCE, 1],
      [OTHER_INSTANCE, 11],
    ] as const) {
      await store.accounts.createInstance(sampleInstance(instanceId, { accountId: 'usr_ann' }), undefined, [
        sampleToken(`tok_${instanceId}`, instanceId),
      ]);
      await fill(store, instanceId, firstNumber);
    }
    await body(store, () => underTest.reopen());
  });
}

export function instanceRemovalConformance(open: OpenStore): void {
  describe('deleted queue instances', () => {
    test(
      'are no longer found, nor are their tokens, schedules and repairs, and are listed as deleted',
      withTwoInstances(open, async (store, reopen) => {
        const { accounts } = store;
        assert.equal(await accounts.deleteInstance({ instanceId: 'none', at: T0, audit: AUDIT }), false);
        assert.equal(await accounts.deleteInstance({ instanceId: INSTANCE, at: T0 + 50, audit: AUDIT }), true);
        assert.equal(await accounts.deleteInstance({ instanceId: INSTANCE, at: T0 + 51 }), false);
        const reopened = await reopen();
        assert.equal(await reopened.accounts.findInstance({ instanceId: INSTANCE }), null);
        assert.deepEqual(
          (await reopened.accounts.listInstances()).map(({ instanceId }) => instanceId),
          [OTHER_INSTANCE],
        );
        assert.equal(await reopened.accounts.findToken({ tokenId: `tok_${INSTANCE}` }), null);
        const schedules = await reopened.dueSchedules({ before: T0 + 99, limit: 10 });
        assert.deepEqual(
          schedules.map(({ instanceId }) => instanceId),
          [OTHER_INSTANCE],
        );
        const dueRepairs = await reopened.repairs.claimDue({
          before: T0 + 99,
          limit: 10,
          limitPerInstance: 10,
          except: [],
          driver: null,
        });
        assert.deepEqual(
          dueRepairs.map(({ repair }) => repair.instanceId),
          [OTHER_INSTANCE],
        );
        const deletedInstance = {
          instanceId: INSTANCE,
          accountId: 'usr_ann',
          name: `name of ${INSTANCE}`,
          region: 'eu-central-1',
        };
        assert.deepEqual(await reopened.accounts.listDeletedInstances(), [
          { ...deletedInstance, createdAt: T0, deletedAt: T0 + 50, emptiedAt: null },
        ]);
        const log = await reopened.accounts.listAudit({ accountIds: ['usr_ann'], after: null, limit: 10 });
        assert.equal(log.length, 1);
      }),
    );

    test(
      'lose their rows in small steps, even after a restart, while those of others and billed usage stay',
      withTwoInstances(open, async (store, reopen) => {
        const before = await countRows(store, OTHER_INSTANCE);
        assert.deepEqual(await countRows(store, INSTANCE), before);
        await store.accounts.deleteInstance({ instanceId: INSTANCE, at: T0 + 50 });
        const latestTime = await store.latestTime();
        assert.ok((await store.removeInstanceRows({ instanceId: INSTANCE, limit: 1 })) >= 1);
        const reopened = await reopen();
        let steps = 0;
        while ((await reopened.removeInstanceRows({ instanceId: INSTANCE, limit: 2 })) > 0) steps++;
        assert.ok(steps > 3, `${steps} steps`);
        assert.deepEqual(await countRows(reopened, INSTANCE), { ...NO_ROWS, messages: 7 });
        assert.deepEqual(await countRows(reopened, OTHER_INSTANCE), before);
        assert.equal(await reopened.loadRun({ runKey: sampleRun(1).key }), null);
        assert.ok((await reopened.latestTime()) >= latestTime);
      }),
    );

    test(
      'reject units for a removed run, and rows that are written late are also removed',
      withTwoInstances(open, async (store) => {
        await store.accounts.deleteInstance({ instanceId: INSTANCE, at: T0 + 50 });
        while ((await store.removeInstanceRows({ instanceId: INSTANCE, limit: 100 })) > 0);
        const runKey = sampleRun(1).key;
        const lateUnit = unit(
          [{ kind: 'record-step', runKey, step: sampleStep(1) }],
          [{ kind: 'run-active', runKey, version: 0, next: 1 }],
        );
        const [result] = await store.commit([lateUnit]);
        assert.notEqual(result?.kind, 'applied');
        await apply(store, [creation(sampleRun(40)), ...putTasks(sampleRun(40).key, [advanceTask(T0)])]);
        assert.ok((await store.removeInstanceRows({ instanceId: INSTANCE, limit: 100 })) > 0);
        while ((await store.removeInstanceRows({ instanceId: INSTANCE, limit: 100 })) > 0);
        assert.deepEqual(await countRows(store, INSTANCE), { ...NO_ROWS, messages: 7 });
      }),
    );

    test(
      'are listed until they are forgotten',
      withTwoInstances(open, async (store, reopen) => {
        await store.accounts.deleteInstance({ instanceId: INSTANCE, at: T0 + 50 });
        for (const at of [T0 + 60, T0 + 70]) await store.accounts.markEmptied({ instanceId: INSTANCE, at });
        const { accounts } = await reopen();
        assert.equal((await accounts.listDeletedInstances())[0]?.emptiedAt, T0 + 60);
        await accounts.removeDeletedInstance({ instanceId: INSTANCE });
        assert.deepEqual(await accounts.listDeletedInstances(), []);
      }),
    );
  });
}
