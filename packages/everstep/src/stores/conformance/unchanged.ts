/** Guards of queues, URL groups and schedules, which are read, decided on and written. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Queue, Schedule, UrlGroup } from '../../engine/runs/run.js';
import type { CommitResult, Store, StoreGuard, StoreWrite } from '../../ports/stores/store.js';
import { type OpenStore, withStore } from './harness.js';
import { apply, INSTANCE, OTHER_INSTANCE, PAYLOAD, SETTINGS, T0, unit } from './samples.js';

export const sampleQueue = (overrides: Partial<Queue> = {}): Queue => ({
  name: 'q',
  parallelism: 2,
  paused: false,
  createdAt: T0,
  updatedAt: T0,
  ...overrides,
});

export const sampleGroup = (urls: readonly string[], overrides: Partial<UrlGroup> = {}): UrlGroup => ({
  name: 'g',
  endpoints: urls.map((url) => ({ name: null, url })),
  createdAt: T0,
  updatedAt: T0,
  ...overrides,
});

export const guardedSchedule = (scheduleId: string, overrides: Partial<Schedule> = {}): Schedule => ({
  scheduleId,
  instanceId: INSTANCE,
  dialect: 'native',
  cron: '*/5 * * * *',
  timeZone: 'Europe/Berlin',
  workflowUrl: 'http://app.example/report',
  payload: PAYLOAD,
  settings: { ...SETTINGS, labels: ['é'] },
  delayMs: 0,
  callerIp: '192.0.2.1',
  paused: false,
  createdAt: T0,
  nextAt: T0 + 300_000,
  lastFiredAt: null,
  lastRunId: null,
  ...overrides,
});

interface ObjectKind<Value> {
  readonly objectName: string;
  readonly guard: (was: Value | null) => StoreGuard;
  readonly put: (value: Value) => StoreWrite;
  readonly remove: StoreWrite;
  readonly find: (store: Store) => Promise<Value | null>;
  /** Different values. Each differs from the first one in one field only. */
  readonly values: readonly [Value, ...Value[]];
}

const queues: ObjectKind<Queue> = {
  objectName: 'a queue',
  guard: (was) => ({ kind: 'queue-unchanged', instanceId: INSTANCE, name: 'q', was }),
  put: (queue) => ({ kind: 'put-queue', instanceId: INSTANCE, queue }),
  remove: { kind: 'delete-queue', instanceId: INSTANCE, name: 'q' },
  find: (store) => store.findQueue({ instanceId: INSTANCE, name: 'q' }),
  values: [
    sampleQueue(),
    sampleQueue({ parallelism: 3 }),
    sampleQueue({ paused: true }),
    sampleQueue({ createdAt: T0 - 1 }),
    sampleQueue({ updatedAt: T0 + 1 }),
  ],
};

const groups: ObjectKind<UrlGroup> = {
  objectName: 'a URL group',
  guard: (was) => ({ kind: 'url-group-unchanged', instanceId: INSTANCE, name: 'g', was }),
  put: (group) => ({ kind: 'put-url-group', instanceId: INSTANCE, group }),
  remove: { kind: 'delete-url-group', instanceId: INSTANCE, name: 'g' },
  find: (store) => store.findUrlGroup({ instanceId: INSTANCE, name: 'g' }),
  values: [
    sampleGroup(['http://a/', 'http://b/']),
    sampleGroup(['http://b/', 'http://a/']),
    sampleGroup(['http://a/']),
    sampleGroup([]),
    sampleGroup(['http://a/', 'http://b/'], { updatedAt: T0 + 1 }),
  ],
};

const schedules: ObjectKind<Schedule> = {
  objectName: 'a schedule',
  guard: (was) => ({ kind: 'schedule-unchanged', instanceId: INSTANCE, scheduleId: 's', was }),
  put: (schedule) => ({ kind: 'put-schedule', schedule }),
  remove: { kind: 'delete-schedule', instanceId: INSTANCE, scheduleId: 's' },
  find: (store) => store.findSchedule({ instanceId: INSTANCE, scheduleId: 's' }),
  values: [
    guardedSchedule('s'),
    guardedSchedule('s', { paused: true }),
    guardedSchedule('s', { nextAt: null }),
    guardedSchedule('s', { cron: '* * * * *' }),
    guardedSchedule('s', { settings: SETTINGS }),
    guardedSchedule('s', { payload: { ...PAYLOAD, body: new Uint8Array([0, 1, 254]) } }),
    guardedSchedule('s', { payload: { ...PAYLOAD, contentType: null } }),
  ],
};

const CHANGED: readonly CommitResult[] = [{ kind: 'changed' }];
const APPLIED: readonly CommitResult[] = [{ kind: 'applied' }];

function testObjectKind<Value>(open: OpenStore, { objectName, guard, put, remove, find, values }: ObjectKind<Value>): void {
  const [first] = values;
  test(
    `${objectName} is written only if it is still as it was read`,
    withStore(open, async (store) => {
      const write = (was: Value | null, value: Value) => store.commit([unit([put(value)], [guard(was)])]);
      assert.deepEqual(await write(first, first), CHANGED, 'it does not exist');
      assert.deepEqual(await write(null, first), APPLIED);
      assert.deepEqual(await write(null, first), CHANGED, 'it exists already');
      for (const other of values.slice(1)) {
        assert.deepEqual(await write(other, first), CHANGED, JSON.stringify(other));
        assert.deepEqual(await write(first, other), APPLIED);
        assert.deepEqual(await write(first, other), CHANGED, JSON.stringify(other));
        const storedValue = await find(store);
        assert.deepEqual(storedValue, other);
        assert.deepEqual(await write(storedValue, first), APPLIED);
      }
      assert.deepEqual(await store.commit([unit([remove], [guard(null)])]), CHANGED);
      assert.deepEqual(await store.commit([unit([remove], [guard(first)])]), APPLIED);
      assert.deepEqual(await write(null, first), APPLIED);
    }),
  );

  test(
    `if several units of one batch have read ${objectName} in the same state, only the first is written`,
    withStore(open, async (store) => {
      const write = (was: Value | null, value: Value) => unit([put(value)], [guard(was)]);
      const [, second = first] = values;
      assert.deepEqual(await store.commit([write(null, first), write(null, second), write(first, second), write(first, first)]), [
        ...APPLIED,
        ...CHANGED,
        ...APPLIED,
        ...CHANGED,
      ]);
      const removal = unit([remove], [guard(second)]);
      assert.deepEqual(await store.commit([removal, removal, write(null, first)]), [...APPLIED, ...CHANGED, ...APPLIED]);
      assert.deepEqual(await find(store), first);
    }),
  );
}

export function unchangedConformance(open: OpenStore): void {
  describe('rows that are read, decided on and written', () => {
    testObjectKind(open, queues);
    testObjectKind(open, groups);
    testObjectKind(open, schedules);

    test(
      'a queue that a message has created is a change to the missing queue that was read',
      withStore(open, async (store) => {
        const registration = unit([{ kind: 'register-queue', instanceId: INSTANCE, name: 'q', at: T0 }]);
        const put = (was: Queue | null) => unit([queues.put(sampleQueue())], [queues.guard(was)]);
        const registeredQueue = sampleQueue({ parallelism: 1 });
        assert.deepEqual(await store.commit([registration, put(null), put(registeredQueue)]), [
          ...APPLIED,
          ...CHANGED,
          ...APPLIED,
        ]);
        assert.deepEqual(await store.commit([registration, put(sampleQueue())]), [...APPLIED, ...APPLIED]);
      }),
    );

    test(
      'an instance gets no more schedules than the guard allows, and a replacement does not count as another one',
      withStore(open, async (store) => {
        const schedulesBelow = (max: number): StoreGuard => ({ kind: 'schedules-below', instanceId: INSTANCE, max });
        const put = (id: string, max: number) => unit([schedules.put(guardedSchedule(id))], [schedulesBelow(max)]);
        await apply(store, [schedules.put(guardedSchedule('elsewhere', { instanceId: OTHER_INSTANCE }))]);
        assert.deepEqual(await store.commit([put('a', 0)]), [{ kind: 'too-many-schedules', count: 0 }]);
        assert.deepEqual(await store.commit([put('a', 2), put('a', 2), put('b', 2), put('c', 2)]), [
          ...APPLIED,
          ...APPLIED,
          ...APPLIED,
          { kind: 'too-many-schedules', count: 2 },
        ]);
        const removal = unit([{ kind: 'delete-schedule', instanceId: INSTANCE, scheduleId: 'a' }]);
        assert.deepEqual(await store.commit([removal, removal, put('c', 2), put('d', 2)]), [
          ...APPLIED,
          ...APPLIED,
          ...APPLIED,
          { kind: 'too-many-schedules', count: 2 },
        ]);
        assert.equal(await store.countObjects({ instanceId: INSTANCE, objectKind: 'schedule' }), 2);
      }),
    );
  });
}
