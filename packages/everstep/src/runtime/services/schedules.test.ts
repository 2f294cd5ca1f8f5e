/** Schedules, driven on a real store in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock, type VirtualClock } from '../../clock/virtual-clock.js';
import type { Clock } from '../../ports/clock.js';
import type { Store } from '../../ports/stores/store.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import { ManualClock, noMessages, publicUrl, quiet, random, SETTINGS, settle, withRuntime } from '../runtime.fixture.js';
import { createRuntime, type Runtime } from '../runtime.js';
import {
  caller,
  command,
  DAY_MS,
  HOUR_MS,
  INSTANCE,
  id,
  MINUTE_MS,
  passTime,
  putSchedule,
  runsIn,
  START,
  scheduleIdOf,
} from './schedules.fixture.js';
import type { ScheduleCommand } from './workflow-service.js';

test('each tick starts a run with the payload and the settings of the schedule', async () => {
  const endpoint = caller();
  await withRuntime(endpoint, async (bench) => {
    const { scheduleId, nextAt, createdAt } = await putSchedule(
      bench.runtime,
      command({ settings: { ...SETTINGS, labels: ['a'] } }),
    );
    assert.deepEqual([nextAt, createdAt], [START + HOUR_MS, START]);
    await passTime(bench, HOUR_MS - 1);
    assert.deepEqual(await runsIn(bench.store), []);
    await passTime(bench, 1);
    const [run, ...others] = await runsIn(bench.store);
    assert.ok(run);
    assert.deepEqual(others, []);
    assert.deepEqual(run.origin, { kind: 'schedule', scheduleId });
    assert.deepEqual([run.createdAt, run.workflowUrl, run.settings.labels], [START + HOUR_MS, 'http://app/flow', ['a']]);
    assert.equal(run.status, 'succeeded');
    const [call] = endpoint.calls;
    const headers = { 'x-a': 'b' };
    const body = { encoding: 'utf8', data: '{"n":1}' };
    assert.deepEqual(call?.request.input, { body, contentType: 'application/json', headers });
    assert.deepEqual(call?.forwardHeaders, headers);
    const schedule = await bench.store.findSchedule(id(scheduleId));
    assert.deepEqual(
      [schedule?.lastFiredAt, schedule?.lastRunId, schedule?.nextAt],
      [START + HOUR_MS, run.workflowRunId, START + 2 * HOUR_MS],
    );
    await passTime(bench, HOUR_MS);
    assert.equal((await runsIn(bench.store)).length, 2);
  });
});

test('schedules that tick at the same time all start a run; others tick in the order of their times', async () => {
  await withRuntime(caller(), async (bench) => {
    const put = (scheduleCommand: ScheduleCommand) => putSchedule(bench.runtime, scheduleCommand);
    await put(command({ scheduleId: 'late', cron: '30 8 * * *' }));
    for (let n = 0; n < 45; n++) await put(command({ scheduleId: `same-${n}`, cron: '10 8 * * *' }));
    await put(command({ scheduleId: 'early', cron: '5 8 * * *' }));
    // The clock jumped, so all ticks are due at once.
    await passTime(bench, HOUR_MS);
    const sources = (await runsIn(bench.store)).map(scheduleIdOf);
    assert.equal(sources.length, 47);
    assert.equal(new Set(sources).size, 47);
    const schedules = (await bench.store.listSchedules({ instanceId: INSTANCE, after: null, limit: 100 })).items;
    assert.ok(schedules.every(({ nextAt }) => nextAt !== null && nextAt > bench.clock.now()));
  });
});

test('ticks are recorded in the order of their times', async () => {
  const recorded: string[] = [];
  const wrap = (store: Store): Store => ({
    ...store,
    commit: (units) => {
      for (const { guards } of units)
        for (const guard of guards) if (guard.kind === 'schedule-due') recorded.push(guard.scheduleId);
      return store.commit(units);
    },
  });
  await withRuntime(
    caller(),
    async (bench) => {
      for (const minute of [40, 10, 30, 20]) {
        await putSchedule(bench.runtime, command({ scheduleId: `at-${minute}`, cron: `${minute} 8 * * *` }));
      }
      await passTime(bench, HOUR_MS);
      assert.deepEqual(recorded, ['at-10', 'at-20', 'at-30', 'at-40']);
    },
    { wrap },
  );
});

test('ticks that were missed while the server was stopped start one run', async () => {
  const store = await openSqliteStore({ file: ':memory:' });
  const clock = new ManualClock();
  const life = () =>
    createRuntime({ store, clock, random, stepCaller: caller(), messageSender: noMessages, log: quiet, publicUrl });
  const first = life();
  await first.start();
  await first.schedules.put(command({ delayMs: MINUTE_MS }));
  await first.stop({ graceMs: 10 });
  clock.move(DAY_MS + MINUTE_MS / 2);
  const second = life();
  await second.start();
  await settle();
  const runs = await runsIn(store);
  assert.deepEqual(
    runs.map(({ createdAt, status }) => [createdAt, status]),
    [[clock.now(), 'succeeded']],
    'the delay counts from its tick, which is long ago',
  );
  assert.equal(await store.nextScheduleAt(), START + DAY_MS + HOUR_MS);
  await second.stop({ graceMs: 10 });
  await store.close();
});

test('delivers a run after its tick with the delay of the schedule', async () => {
  const endpoint = caller();
  await withRuntime(endpoint, async (bench) => {
    await putSchedule(bench.runtime, command({ delayMs: 5 * MINUTE_MS }));
    await passTime(bench, HOUR_MS);
    assert.equal((await runsIn(bench.store)).length, 1);
    await passTime(bench, 5 * MINUTE_MS - 1);
    assert.equal(endpoint.calls.length, 0);
    await passTime(bench, 1);
    assert.equal(endpoint.calls.length, 1);
  });
});

test('a paused schedule does not tick; a resumed one ticks at its next time and does not catch up on missed ticks', async () => {
  await withRuntime(caller(), async (bench) => {
    const { scheduleId } = await putSchedule(bench.runtime, command());
    const pausing = (paused: boolean) => bench.runtime.schedules.pause({ ...id(scheduleId), paused });
    const paused = await pausing(true);
    assert.deepEqual([paused?.paused, paused?.nextAt], [true, null]);
    await passTime(bench, 5 * HOUR_MS + MINUTE_MS);
    assert.deepEqual(await runsIn(bench.store), []);
    const resumed = await pausing(false);
    assert.deepEqual([resumed?.paused, resumed?.nextAt], [false, START + 6 * HOUR_MS]);
    await passTime(bench, HOUR_MS - MINUTE_MS);
    assert.equal((await runsIn(bench.store)).length, 1);
    assert.equal(await bench.runtime.schedules.pause({ ...id('sch_none'), paused: true }), null);
  });
});

test('resuming a schedule that is not paused loses no due tick', async () => {
  await withRuntime(caller(), async (bench) => {
    const { scheduleId } = await putSchedule(bench.runtime, command());
    await bench.runtime.stop({ graceMs: 10 });
    bench.clock.move(HOUR_MS);
    const resumed = await bench.runtime.schedules.pause({ ...id(scheduleId), paused: false });
    assert.equal(resumed?.nextAt, START + HOUR_MS);
  });
});

test('a deleted schedule does not tick', async () => {
  await withRuntime(caller(), async (bench) => {
    const { scheduleId } = await putSchedule(bench.runtime, command());
    assert.equal(await bench.runtime.schedules.delete(id(scheduleId)), true);
    assert.equal(await bench.runtime.schedules.delete(id(scheduleId)), false);
    await passTime(bench, 2 * HOUR_MS);
    assert.deepEqual(await runsIn(bench.store), []);
  });
});

test('a replaced schedule keeps its creation time and its pause, and ticks at its new times, even if these are earlier', async () => {
  await withRuntime(caller(), async (bench) => {
    const { schedules } = bench.runtime;
    const put = (scheduleCommand: ScheduleCommand) => putSchedule(bench.runtime, scheduleCommand);
    await put(command({ scheduleId: 'a' }));
    await passTime(bench, MINUTE_MS);
    const sooner = await put(command({ scheduleId: 'a', cron: '*/10 * * * *' }));
    assert.deepEqual([sooner.createdAt, sooner.nextAt], [START, START + 10 * MINUTE_MS]);
    await passTime(bench, 9 * MINUTE_MS);
    assert.equal((await runsIn(bench.store)).length, 1);
    await schedules.pause({ ...id('a'), paused: true });
    const still = await put(command({ scheduleId: 'a', cron: '* * * * *' }));
    assert.deepEqual([still.paused, still.nextAt], [true, null]);
  });
});

test('a schedule that is replaced during its tick keeps that tick and its new payload', async () => {
  await withRuntime(caller(), async (bench) => {
    await putSchedule(bench.runtime, command({ scheduleId: 'a' }));
    const body = new TextEncoder().encode('{"n":2}');
    const again = command({ scheduleId: 'a', payload: { ...command().payload, body } });
    await settle();
    // The timer has fired and the round is in progress when the replacement arrives.
    bench.clock.move(HOUR_MS);
    await putSchedule(bench.runtime, again);
    await settle();
    const kept = await bench.store.findSchedule(id('a'));
    assert.deepEqual([Buffer.from(kept?.payload.body ?? '').toString(), kept?.nextAt], ['{"n":2}', START + 2 * HOUR_MS]);
    assert.equal((await runsIn(bench.store)).length, 1);
  });
  await withRuntime(caller(), async (bench) => {
    await putSchedule(bench.runtime, command({ scheduleId: 'a' }));
    await bench.runtime.stop({ graceMs: 10 });
    bench.clock.move(HOUR_MS);
    const replaced = await putSchedule(bench.runtime, command({ scheduleId: 'a' }));
    assert.equal(replaced.nextAt, START + HOUR_MS, 'the tick is due and remains due');
  });
});

test('the store is not read between ticks', async () => {
  let asked = 0;
  const wrap = (store: Store): Store => ({
    ...store,
    dueSchedules: (query) => {
      asked++;
      return store.dueSchedules(query);
    },
  });
  await withRuntime(
    caller(),
    async (bench) => {
      await putSchedule(bench.runtime, command({ cron: '0 0 1 * *' }));
      const before = asked;
      for (let hour = 0; hour < 300; hour++) {
        bench.clock.move(HOUR_MS);
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.equal(asked, before);
      await passTime(bench, 5 * DAY_MS);
      assert.equal((await runsIn(bench.store)).length, 1);
      assert.ok(asked > before);
    },
    { wrap },
  );
});

test('a move of a virtual clock by a week executes each tick at its time, even if the store is slow', async () => {
  const quick = await openSqliteStore({ file: ':memory:' });
  const store: Store = {
    ...quick,
    async dueSchedules(query) {
      await settle();
      return quick.dueSchedules(query);
    },
  };
  const base: Clock = new ManualClock();
  const clock: VirtualClock = createVirtualClock({ base, quiet: () => runtime.idle(), maxInstants: 1000, quietTimeoutMs: 1000 });
  const options = { store, clock, upkeepClock: clock.upkeep, random, messageSender: noMessages, log: quiet, publicUrl };
  const runtime: Runtime = createRuntime({ ...options, stepCaller: caller() });
  await runtime.start();
  await putSchedule(runtime, command({ scheduleId: 'daily', cron: '0 9 * * *' }));
  await putSchedule(runtime, command({ scheduleId: 'twice', cron: '0 9,21 * * 1-3' }));
  const moved = await clock.move({ byMs: 7 * DAY_MS });
  assert.equal(moved.kind, 'moved');
  const runs = await runsIn(store);
  const nine = START + HOUR_MS;
  const daily = runs.filter((run) => scheduleIdOf(run) === 'daily');
  assert.deepEqual(
    daily.map(({ createdAt }) => createdAt),
    Array.from({ length: 7 }, (_, day) => nine + day * DAY_MS),
  );
  // January 15, 2027 is a Friday.
  const twice = runs.filter((run) => scheduleIdOf(run) === 'twice');
  assert.deepEqual(
    twice.map(({ createdAt }) => createdAt),
    [3, 3.5, 4, 4.5, 5, 5.5].map((day) => nine + day * DAY_MS),
  );
  assert.ok(runs.every(({ status }) => status === 'succeeded'));
  await runtime.stop({ graceMs: 10 });
  await store.close();
});

test('a manual run during a tick loses neither run, and the schedule is read again if it changed', async () => {
  await withRuntime(caller(), async (bench) => {
    const made = await bench.runtime.schedules.put(command());
    assert.ok(typeof made !== 'string');
    const { scheduleId } = made;
    await settle();
    const { findSchedule } = bench.store;
    let moved = false;
    bench.store.findSchedule = async (query) => {
      const schedule = await findSchedule(query);
      // The schedule ticks in another process between the read and the write.
      if (schedule && !moved) {
        moved = true;
        const put = { ...schedule, nextAt: START + 2 * HOUR_MS };
        await bench.store.commit([{ guards: [], writes: [{ kind: 'put-schedule', schedule: put }] }]);
      }
      return schedule;
    };
    const ran = await bench.runtime.schedules.run({ ...id(scheduleId), admittedAt: null });
    assert.equal(ran.kind, 'started');
    assert.equal((await findSchedule(id(scheduleId)))?.nextAt, START + 2 * HOUR_MS);
    await passTime(bench, 2 * HOUR_MS);
    assert.equal((await runsIn(bench.store)).length, 2);
    assert.deepEqual(await bench.runtime.schedules.run({ ...id('none'), admittedAt: null }), { kind: 'not-found' });
  });
});

test('a manual run keeps a change that another process made at the same time', async () => {
  await withRuntime(caller(), async (bench) => {
    const { scheduleId } = await putSchedule(bench.runtime, command());
    const { findSchedule } = bench.store;
    let isEdited = false;
    bench.store.findSchedule = async (query) => {
      const schedule = await findSchedule(query);
      // The labels change between the read and the write. The next run time does not.
      if (schedule && !isEdited) {
        isEdited = true;
        const edited = { ...schedule, settings: { ...schedule.settings, labels: ['edited'] } };
        await bench.store.commit([{ guards: [], writes: [{ kind: 'put-schedule', schedule: edited }] }]);
      }
      return schedule;
    };
    assert.equal((await bench.runtime.schedules.run({ ...id(scheduleId), admittedAt: null })).kind, 'started');
    assert.deepEqual((await findSchedule(id(scheduleId)))?.settings.labels, ['edited']);
    assert.deepEqual(
      (await runsIn(bench.store)).map(({ settings }) => settings.labels),
      [['edited']],
    );
  });
});
