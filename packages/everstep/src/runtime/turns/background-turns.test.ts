/** Background work in which accounts take turns, because one account can have a lot of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newRepair } from '../../engine/dead-letters/repair.js';
import { DEFAULT_INSTANCE_SETTINGS } from '../../engine/runs/run.js';
import { ownersOf } from '../../fairness/owners.fixture.js';
import type { Store } from '../../ports/stores/store.js';
import { apply, creation, sampleRun, T0 } from '../../stores/conformance/samples.js';
import { openSqliteStore } from '../../stores/sqlite/index.js';
import { ManualClock, quiet, withRuntime } from '../runtime.fixture.js';
import { Retention } from '../services/retention.js';
import { caller, command, HOUR_MS, passTime, putSchedule } from '../services/schedules.fixture.js';

const HOSTILE = 'hostile1';
const QUIET = 'quiet1';
const owners = ownersOf(HOSTILE, QUIET);

test('a schedule ticks on time although 200 schedules of another account tick at the same time', async () => {
  const ticks: string[] = [];
  const wrap = (store: Store): Store => ({
    ...store,
    async commit(units) {
      for (const { guards } of units) for (const guard of guards) if (guard.kind === 'schedule-due') ticks.push(guard.instanceId);
      return store.commit(units);
    },
  });
  await withRuntime(
    caller(),
    async (bench) => {
      for (let n = 0; n < 200; n++) await putSchedule(bench.runtime, command({ instanceId: HOSTILE, scheduleId: `s${n}` }));
      await putSchedule(bench.runtime, command({ instanceId: QUIET, scheduleId: 'own' }));
      await passTime(bench, HOUR_MS);
      await bench.runtime.idle();
      assert.equal(ticks.length, 201);
      assert.ok(ticks.indexOf(QUIET) <= 20, `${ticks.indexOf(QUIET)} ticks came before it`);
    },
    { wrap, owners },
  );
});

test('a change of a schedule does not wait for changes of another account', async () => {
  let release: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const wrap = (store: Store): Store => ({
    ...store,
    async findSchedule(query) {
      if (query.instanceId === HOSTILE) await held;
      return store.findSchedule(query);
    },
  });
  await withRuntime(
    caller(),
    async (bench) => {
      const slow = putSchedule(bench.runtime, command({ instanceId: HOSTILE, scheduleId: 'slow' }));
      await putSchedule(bench.runtime, command({ instanceId: QUIET, scheduleId: 'own' }));
      release();
      await slow;
    },
    { wrap, owners },
  );
});

test('a repair is planned on time although another account has 60 repairs', async () => {
  const written: string[] = [];
  const wrap = (store: Store): Store => {
    const { repairs } = store;
    return {
      ...store,
      repairs: Object.assign(Object.create(repairs) as Store['repairs'], {
        put: (query: Parameters<Store['repairs']['put']>[0]) => {
          written.push(query.record.repair.instanceId);
          return repairs.put(query);
        },
      }),
    };
  };
  // A round of 20 may be in progress.
  await withRuntime(
    caller(),
    async ({ store, clock, runtime }) => {
      const horizon = await store.deadLetterHorizon({ instanceId: HOSTILE });
      const rest = { filter: {}, overrides: {}, freezing: { after: null, horizon }, wakeAt: clock.now(), version: 0 };
      for (let n = 0; n < 60; n++) {
        const id = { repairId: `rep_${n}`, instanceId: HOSTILE };
        const repair = newRepair({ ...id, action: 'resume', createdAt: clock.now(), createdBy: null });
        await store.repairs.create({ record: { ...rest, repair }, driver: null });
      }
      await runtime.repairs.plan({ instanceId: QUIET, action: 'resume', filter: {}, overrides: {}, createdBy: null });
      const before = written.indexOf(QUIET);
      assert.ok(before >= 0 && before <= 40, `${before} other repairs came before it`);
      await runtime.idle();
      assert.equal(written.length, 61);
    },
    { wrap, owners },
  );
});

test('retention removes runs of each account in turns', async (t) => {
  const store = await openSqliteStore({ file: ':memory:' });
  t.after(() => store.close());
  const clock = new ManualClock();
  const retention = { ...DEFAULT_INSTANCE_SETTINGS.retention, succeeded: { maxAgeMs: 1, maxCount: null } };
  for (const [instanceId, count] of [
    [HOSTILE, 100],
    [QUIET, 1],
  ] as const) {
    const keys = { currentSigningKey: `${instanceId}-a`, nextSigningKey: `${instanceId}-b` };
    await store.accounts.createInstance({ instanceId, region: 'eu-central-1', name: instanceId, createdAt: T0, ...keys });
    const settings = { ...DEFAULT_INSTANCE_SETTINGS, retention };
    await apply(store, [{ kind: 'set-instance-settings', instanceId, settings }]);
    for (let n = 0; n < count; n++) {
      const run = sampleRun(n, { instanceId, key: `${instanceId}${n}` });
      const outcome = { status: 'succeeded', result: null } as const;
      await apply(store, [creation(run), { kind: 'end-run', runKey: run.key, outcome, completedAt: run.createdAt }]);
    }
  }
  const steps: string[] = [];
  const removing: Store = {
    ...store,
    async removeEndedRuns(query) {
      const removed = await store.removeEndedRuns({ ...query, limit: 10 });
      if (removed > 0) steps.push(query.instanceId);
      return removed;
    },
  };
  clock.move(T0 + HOUR_MS - clock.now());
  await new Retention({
    store: removing,
    clock,
    log: quiet,
    owners,
    paceClock: { ...clock, now: () => 0, setTimer: () => () => {}, endOfTurn: setImmediate },
  }).sweep();
  assert.deepEqual(steps.slice(0, 3), [HOSTILE, QUIET, HOSTILE]);
  assert.equal(steps.length, 11);
});
