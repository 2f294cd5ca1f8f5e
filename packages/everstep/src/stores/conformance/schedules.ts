import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import { DIALECT_NAMES, type Schedule } from '../../engine/runs/run.js';
import type { ListedSchedule, Listing, Store, StoreGuard, StoreWrite } from '../../ports/stores/store.js';
import { type OpenStore, withStore } from './harness.js';
import { apply, creation, INSTANCE, OTHER_INSTANCE, PAYLOAD, SETTINGS, sampleRun, T0, unit } from './samples.js';

const sampleSchedule = (n: number, overrides: Partial<Schedule> = {}): Schedule => ({
  scheduleId: `sch_${n}`,
  instanceId: INSTANCE,
  dialect: 'native',
  cron: '*/5 * * * *',
  timeZone: 'Europe/Berlin',
  workflowUrl: 'http://app.example/report',
  payload: PAYLOAD,
  settings: { ...SETTINGS, labels: ['nightly'], flowControl: { key: 'k', rate: 1, periodMs: 1000 } },
  delayMs: 250,
  callerIp: '192.0.2.1',
  paused: false,
  createdAt: T0 + n,
  nextAt: T0 + 300_000,
  lastFiredAt: null,
  lastRunId: null,
  ...overrides,
});

const put = (schedule: Schedule): StoreWrite => ({ kind: 'put-schedule', schedule });
const remove = (scheduleId: string, instanceId = INSTANCE): StoreWrite => ({ kind: 'delete-schedule', instanceId, scheduleId });
const due = ({ instanceId, scheduleId }: Schedule, nextAt: number | null): StoreGuard => ({
  kind: 'schedule-due',
  instanceId,
  scheduleId,
  nextAt,
});

async function dueIds(store: Store, before: number, limit = 10): Promise<readonly string[]> {
  return (await store.dueSchedules({ before, limit })).map(({ scheduleId }) => scheduleId);
}

/** Reads all schedules, one per page. */
async function allSchedules(store: Store, instanceId: string): Promise<readonly ListedSchedule[]> {
  const schedules: ListedSchedule[] = [];
  let after: string | null = null;
  do {
    const page: Listing<ListedSchedule> = await store.listSchedules({ instanceId, after, limit: 1 });
    schedules.push(...page.items);
    after = page.next;
  } while (after !== null);
  return schedules;
}

export function scheduleConformance(open: OpenStore): void {
  describe('schedules', () => {
    test(
      'a schedule without a body is written again as it was read',
      withStore(open, async (store) => {
        const payload = { body: new Uint8Array(0), contentType: null, forwardHeaders: {} };
        const schedule = sampleSchedule(1, { payload });
        await apply(store, [{ kind: 'put-schedule', schedule }]);
        const { instanceId, scheduleId } = schedule;
        const storedSchedule = await store.findSchedule({ instanceId, scheduleId });
        assert.ok(storedSchedule);
        await apply(store, [{ kind: 'put-schedule', schedule: { ...storedSchedule, paused: true } }]);
        assert.deepEqual(await store.findSchedule({ instanceId, scheduleId }), { ...schedule, paused: true });
      }),
    );

    test(
      'are found, listed and due in the dialect in which they were created',
      withStore(open, async (store) => {
        const schedules = DIALECT_NAMES.map((dialect, n) => sampleSchedule(n, { dialect, nextAt: T0 + n }));
        await apply(store, schedules.map(put));
        for (const schedule of schedules) assert.deepEqual(await store.findSchedule(schedule), schedule);
        const listedSchedules = await allSchedules(store, INSTANCE);
        assert.deepEqual(
          listedSchedules.map(({ dialect }) => dialect),
          DIALECT_NAMES,
        );
        assert.deepEqual(await store.dueSchedules({ before: T0 + 1_000, limit: 10 }), schedules);
      }),
    );

    test(
      'due schedules of one instance are read alone, and the instances that have some are known',
      withStore(open, async (store) => {
        const otherSchedule = sampleSchedule(3, { instanceId: OTHER_INSTANCE, nextAt: T0 + 5 });
        const schedules = [sampleSchedule(1, { nextAt: T0 + 2 }), sampleSchedule(2, { nextAt: T0 + 1 }), otherSchedule];
        await apply(store, [...schedules, sampleSchedule(4, { nextAt: null })].map(put));
        const dueIdsOf = async (instanceId: string, before: number, limit = 10) =>
          (await store.dueSchedules({ instanceId, before, limit })).map(({ scheduleId }) => scheduleId);
        assert.deepEqual(await dueIdsOf(INSTANCE, T0 + 9), ['sch_2', 'sch_1']);
        assert.deepEqual(await dueIdsOf(INSTANCE, T0 + 9, 1), ['sch_2']);
        assert.deepEqual(await dueIdsOf(INSTANCE, T0 + 1), ['sch_2']);
        assert.deepEqual(await dueIdsOf(OTHER_INSTANCE, T0 + 9), ['sch_3']);
        assert.deepEqual(await dueIdsOf('qi_none', T0 + 9), []);
        const instances = async (before: number) => [...(await store.instancesWithDueSchedules({ before }))].sort();
        assert.deepEqual(await instances(T0 + 9), [INSTANCE, OTHER_INSTANCE]);
        assert.deepEqual(await instances(T0 + 4), [INSTANCE]);
        assert.deepEqual(await instances(T0), []);
      }),
    );

    test(
      'are read as they were written, even after a restart',
      withStore(open, async (store, underTest) => {
        const schedules = [
          sampleSchedule(1),
          sampleSchedule(2, {
            payload: { body: new Uint8Array(), contentType: null, forwardHeaders: {} },
            paused: true,
            nextAt: null,
            lastFiredAt: T0 + 77,
            lastRunId: 'wfr_7',
          }),
        ];
        await apply(store, schedules.map(put));
        const reopened = await underTest.reopen();
        for (const schedule of schedules) {
          assert.deepEqual(await reopened.findSchedule(schedule), schedule);
        }
        assert.equal(await reopened.latestTime(), T0 + 77);
        assert.equal(await reopened.findSchedule({ instanceId: OTHER_INSTANCE, scheduleId: 'sch_1' }), null);
        assert.equal(await reopened.findSchedule({ instanceId: INSTANCE, scheduleId: 'sch_9' }), null);
      }),
    );

    test(
      'are listed for each instance, oldest first; a replaced one keeps its position',
      withStore(open, async (store) => {
        const foreignSchedule = sampleSchedule(1, { instanceId: OTHER_INSTANCE });
        const [first, second, third] = [sampleSchedule(7), sampleSchedule(3, { createdAt: T0 + 8 }), sampleSchedule(9)];
        await apply(store, [put(third), put(first), put(foreignSchedule), put(second)]);
        const replacedSchedule = { ...first, cron: '0 0 * * *', nextAt: T0 + 86_400_000 };
        await apply(store, [put(replacedSchedule)]);
        assert.deepEqual(await allSchedules(store, INSTANCE), [replacedSchedule, second, third]);
        assert.deepEqual(await allSchedules(store, OTHER_INSTANCE), [foreignSchedule]);
        assert.deepEqual(await allSchedules(store, 'qi_nobody'), []);
        const counts = [INSTANCE, OTHER_INSTANCE, 'qi_nobody'].map((instanceId) =>
          store.countObjects({ instanceId, objectKind: 'schedule' }),
        );
        assert.deepEqual(await Promise.all(counts), [3, 1, 0]);
      }),
    );

    test(
      'are listed without payloads that are too long for a list, and are complete when read alone',
      withStore(open, async (store) => {
        const body = (bytes: number) => ({ payload: { ...PAYLOAD, body: new Uint8Array(bytes).fill(7) } });
        const [shortSchedule, longSchedule] = [
          sampleSchedule(1, body(LIMITS.maxListedBodyBytes)),
          sampleSchedule(2, body(LIMITS.maxListedBodyBytes + 1)),
        ];
        await apply(store, [put(shortSchedule), put(longSchedule)]);
        const listedSchedule = { ...longSchedule, ...body(0), bodyLeftOut: LIMITS.maxListedBodyBytes + 1 };
        assert.deepEqual(await allSchedules(store, INSTANCE), [shortSchedule, listedSchedule]);
        assert.deepEqual(await store.findSchedule(longSchedule), longSchedule);
      }),
    );

    test(
      'without a next tick pass a guard that expects none',
      withStore(open, async (store) => {
        const pausedSchedule = sampleSchedule(1, { nextAt: null, paused: true });
        const missingSchedule = sampleSchedule(2);
        await apply(store, [put(pausedSchedule)]);
        const attempts = [
          unit([], [due(pausedSchedule, T0)]),
          unit([], [due(missingSchedule, null)]),
          unit([put(pausedSchedule)], [due(pausedSchedule, null)]),
        ];
        const moved = { kind: 'schedule-moved' } as const;
        assert.deepEqual(await store.commit(attempts), [moved, moved, { kind: 'applied' }]);
      }),
    );

    test(
      'with the same id in two instances are two',
      withStore(open, async (store) => {
        const [ownSchedule, foreignSchedule] = [
          sampleSchedule(1),
          sampleSchedule(1, { instanceId: OTHER_INSTANCE, nextAt: T0 + 9 }),
        ];
        await apply(store, [put(ownSchedule), put(foreignSchedule)]);
        const results = await store.commit([unit([], [due(ownSchedule, T0 + 9)]), unit([remove('sch_1', OTHER_INSTANCE)])]);
        assert.deepEqual(results, [{ kind: 'schedule-moved' }, { kind: 'applied' }]);
        assert.deepEqual(await store.findSchedule(ownSchedule), ownSchedule);
        assert.equal(await store.findSchedule(foreignSchedule), null);
      }),
    );

    test(
      'of all instances are due from their next tick on, earliest first; paused ones never are',
      withStore(open, async (store) => {
        assert.equal(await store.nextScheduleAt(), null);
        await apply(store, [
          put(sampleSchedule(1, { nextAt: T0 + 300 })),
          put(sampleSchedule(2, { nextAt: T0 + 100, instanceId: OTHER_INSTANCE })),
          put(sampleSchedule(3, { nextAt: null, paused: true })),
          put(sampleSchedule(4, { nextAt: T0 + 200 })),
          put(sampleSchedule(6, { nextAt: T0 + 150 })),
          put(sampleSchedule(5, { nextAt: T0 + 150 })),
        ]);
        assert.equal(await store.nextScheduleAt(), T0 + 100);
        assert.deepEqual(await dueIds(store, T0 + 99), []);
        assert.deepEqual(await dueIds(store, T0 + 299), ['sch_2', 'sch_6', 'sch_5', 'sch_4']);
        assert.deepEqual(await dueIds(store, T0 + 300, 4), ['sch_2', 'sch_6', 'sch_5', 'sch_4']);
        await apply(store, [
          remove('sch_5'),
          remove('sch_6'),
          put(sampleSchedule(2, { nextAt: T0 + 900, instanceId: OTHER_INSTANCE })),
        ]);
        assert.equal(await store.nextScheduleAt(), T0 + 200);
        assert.deepEqual(await dueIds(store, T0 + 1000), ['sch_4', 'sch_1', 'sch_2']);
      }),
    );

    test(
      'start one run per tick, even if two processes find it due',
      withStore(open, async (store) => {
        const schedule = sampleSchedule(1);
        const tick = T0 + 300_000;
        await apply(store, [put(schedule)]);
        const fire = (n: number) => {
          const firedSchedule = { ...schedule, nextAt: tick + 300_000, lastFiredAt: tick, lastRunId: `wfr_${n}` };
          return unit([creation(sampleRun(n)), put(firedSchedule)], [due(schedule, tick)]);
        };
        assert.deepEqual(await store.commit([fire(1), fire(2)]), [{ kind: 'applied' }, { kind: 'schedule-moved' }]);
        assert.equal(await store.loadRun({ runKey: sampleRun(2).key }), null);
        assert.equal((await store.findSchedule(schedule))?.lastRunId, 'wfr_1');
      }),
    );

    test(
      'that were deleted, paused or never existed are not due',
      withStore(open, async (store) => {
        const [deletedSchedule, pausedSchedule, unknownSchedule] = [sampleSchedule(1), sampleSchedule(2), sampleSchedule(3)];
        await apply(store, [
          put(deletedSchedule),
          put(pausedSchedule),
          remove(deletedSchedule.scheduleId),
          put({ ...pausedSchedule, paused: true, nextAt: null }),
        ]);
        for (const schedule of [deletedSchedule, pausedSchedule, unknownSchedule]) {
          const guardedUnit = unit([put(schedule)], [due(schedule, T0 + 300_000)]);
          assert.deepEqual(await store.commit([guardedUnit]), [{ kind: 'schedule-moved' }], schedule.scheduleId);
        }
        await apply(store, [remove(deletedSchedule.scheduleId)]);
        assert.deepEqual(
          (await allSchedules(store, INSTANCE)).map(({ scheduleId }) => scheduleId),
          [pausedSchedule.scheduleId],
        );
      }),
    );
  });
}
