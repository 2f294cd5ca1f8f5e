import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DAYS_KEPT, type DailyCount, type DayCount } from '../../../ports/stores/account-store.js';
import { type OpenStore, withStore } from '../harness.js';
import { apply, INSTANCE, OTHER_INSTANCE, unit } from '../samples.js';

const DAY_MS = 86_400_000;
const TODAY = Date.UTC(2026, 10, 21) / DAY_MS;
const NOON = (TODAY + 0.5) * DAY_MS;

const count = (count: number, overrides: Partial<DailyCount> = {}): DailyCount => ({
  kind: 'count-of-day',
  instanceId: INSTANCE,
  what: 'run',
  count,
  at: NOON,
  ...overrides,
});
const dayCount = (count: number, overrides: Partial<DayCount> = {}): DayCount => ({
  instanceId: INSTANCE,
  day: TODAY,
  what: 'run',
  count,
  lastAt: NOON,
  ...overrides,
});

export function dayCountConformance(open: OpenStore): void {
  describe('daily counts', () => {
    test(
      'are summed for each instance, day and kind, in units and separately, and are kept after a restart',
      withStore(open, async (store, underTest) => {
        const rejection = { what: 'budget-exceeded', at: NOON + 5 } as const;
        await store.commit([
          unit([count(2), count(3), count(7, { instanceId: OTHER_INSTANCE })]),
          unit([count(5), count(1, rejection)]),
        ]);
        const unknownLogin = { instanceId: '', what: 'unknown-login' } as const;
        await store.accounts.countOfDay([count(1, unknownLogin), count(2, unknownLogin)]);
        await store.accounts.countOfDay([count(10), count(4, { ...rejection, at: NOON + 1 }), count(1, { at: NOON + DAY_MS })]);
        const { accounts, commit } = await underTest.reopen();
        await commit([unit([count(100)])]);
        assert.deepEqual(await accounts.countsByDay({ instanceId: INSTANCE, fromDay: TODAY }), [
          dayCount(1, { day: TODAY + 1, lastAt: NOON + DAY_MS }),
          dayCount(120),
          dayCount(5, { what: 'budget-exceeded', lastAt: NOON + 5 }),
        ]);
        const otherCounts = await accounts.countsByDay({ instanceId: OTHER_INSTANCE, fromDay: 0 });
        assert.deepEqual(otherCounts, [dayCount(7, { instanceId: OTHER_INSTANCE })]);
        assert.deepEqual(await accounts.countsByDay({ instanceId: '', fromDay: 0 }), [dayCount(3, unknownLogin)]);
        assert.deepEqual(await accounts.countsByDay({ instanceId: 'qi_none', fromDay: 0 }), []);
      }),
    );

    test(
      'belong to the day in UTC, to the millisecond, and are read from a given day',
      withStore(open, async (store) => {
        const midnight = (TODAY + 1) * DAY_MS;
        await apply(store, [count(1, { at: midnight - 1 }), count(2, { at: midnight })]);
        const from = async (fromDay: number) =>
          (await store.accounts.countsByDay({ instanceId: INSTANCE, fromDay })).map(({ day, count }) => [day, count]);
        assert.deepEqual(await from(TODAY), [
          [TODAY + 1, 2],
          [TODAY, 1],
        ]);
        assert.deepEqual(await from(TODAY + 1), [[TODAY + 1, 2]]);
        assert.deepEqual(await from(TODAY + 2), []);
        assert.equal(await store.latestTime(), midnight);
      }),
    );

    test(
      'are added neither by a rejected unit nor by a faulty batch',
      withStore(open, async (store) => {
        const rejectedUnit = unit([count(10)], [{ kind: 'run-active', runKey: 'no such run' }]);
        assert.deepEqual(await store.commit([rejectedUnit, unit([count(2)])]), [{ kind: 'run-not-active' }, { kind: 'applied' }]);
        const faultyUnit = unit([count(100), { kind: 'delete-task', runKey: 'no such run', slot: 1 }]);
        await assert.rejects(store.commit([faultyUnit]));
        await apply(store, [count(4)]);
        assert.deepEqual(await store.accounts.countsByDay({ instanceId: INSTANCE, fromDay: 0 }), [dayCount(6)]);
      }),
    );

    test(
      'of old days are removed as later days are counted',
      withStore(open, async (store, underTest) => {
        const at = NOON - DAYS_KEPT * DAY_MS;
        await apply(store, [
          count(1, { at }),
          count(2, { at: at - DAY_MS }),
          count(3, { at: at - DAY_MS, what: 'rate-limited' }),
        ]);
        await apply(store, [count(4, { instanceId: OTHER_INSTANCE })]);
        const days = async () =>
          (await store.accounts.countsByDay({ instanceId: INSTANCE, fromDay: 0 })).map(({ day, what }) => `${day} ${what}`);
        assert.deepEqual(await days(), [`${TODAY - DAYS_KEPT} run`]);
        const { accounts } = await underTest.reopen();
        await accounts.countOfDay([count(1, { instanceId: OTHER_INSTANCE, at: NOON + DAY_MS })]);
        assert.deepEqual(await accounts.countsByDay({ instanceId: INSTANCE, fromDay: 0 }), []);
      }),
    );
  });
}
