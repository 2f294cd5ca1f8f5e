import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DAY_MS, HOUR_MS, type InsightCounts, MINUTE_MS, type RunCounts, startOfDay } from '../../../engine/insights/counts.js';
import type { InsightSubject, Store, WorkflowTotals } from '../../../ports/stores/store.js';
import type { OpenStore } from '../harness.js';
import { withStore } from '../harness.js';
import { apply, INSTANCE, OTHER_INSTANCE, seededNumbers, unit } from '../samples.js';

const START = startOfDay(1_800_000_000_000);
const DAYS = 4;
const ALL_DAYS = { from: START, to: START + DAYS * DAY_MS };
const URL_ONE = 'https://app.example/one';

const countWrite = (at: number, overrides: Partial<InsightCounts> = {}): InsightCounts => ({
  kind: 'count-insights',
  instanceId: INSTANCE,
  workflow: URL_ONE,
  at,
  started: true,
  ...overrides,
});

async function tidy(store: Store, daysUntil: number | null, hoursBefore: number | null = null): Promise<void> {
  while ((await store.insights.tidy({ instanceId: INSTANCE, daysUntil, minutesBefore: null, hoursBefore })) > 0);
}

const sortTotals = (totals: readonly WorkflowTotals[]): readonly WorkflowTotals[] =>
  totals.toSorted((a, b) => String(a.workflow).localeCompare(String(b.workflow)));

/** Returns everything that pages of insights read. */
async function readEverything(store: Store) {
  const subjects: readonly InsightSubject[] = ['runs', 'messages', { workflow: URL_ONE }];
  const times = [
    ALL_DAYS,
    { from: START + DAY_MS, to: START + 2 * DAY_MS },
    { from: START + 5 * HOUR_MS + 20 * MINUTE_MS, to: START + 3 * DAY_MS + HOUR_MS + 40 * MINUTE_MS },
    { from: START + 7 * MINUTE_MS, to: START + 9 * MINUTE_MS },
  ];
  const { insights } = store;
  const instanceId = INSTANCE;
  return {
    series: await Promise.all(subjects.map((subject) => insights.series({ instanceId, subject, period: 'day', ...ALL_DAYS }))),
    sums: await Promise.all(times.map((time) => insights.workflowSum({ instanceId, workflow: URL_ONE, ...time }))),
    totals: await Promise.all(times.map(async (time) => sortTotals(await insights.workflowTotals({ instanceId, ...time })))),
  };
}

/** Returns a random write that a run could cause. */
function randomWrite(below: (limit: number) => number): InsightCounts {
  const at = START + below(DAYS * DAY_MS);
  const workflow = below(5) === 0 ? null : below(2) === 0 ? URL_ONE : `https://app.example/${below(3)}`;
  if (below(3) === 0) return countWrite(at, { workflow });
  const steps = [{ name: `step ${below(4)}`, outcome: 'finished', durationMs: below(1_000) } as const];
  const ended = { status: below(2) === 0 ? 'failed' : 'succeeded', durationMs: below(90_000) } as const;
  const { started: _, ...write } = countWrite(at, { workflow, steps, ended });
  return write;
}

const startedOf = (points: readonly { readonly counts: RunCounts }[]): readonly number[] =>
  points.map(({ counts }) => counts.started);

export function insightDayConformance(open: OpenStore): void {
  describe('days of insights', () => {
    test(
      'have the counters of their hours, including runs that are counted after the hours were added up',
      withStore(open, async (store) => {
        const below = seededNumbers(7);
        const writes = Array.from({ length: 400 }, () => unit([randomWrite(below)]));
        await store.commit(writes.slice(0, 250));
        await tidy(store, null);
        const resultsBefore = await readEverything(store);
        await tidy(store, ALL_DAYS.to);
        assert.deepEqual(await readEverything(store), resultsBefore);
        await store.commit(writes.slice(250));
        const resultsBeforeFolding = await readEverything(store);
        assert.notDeepEqual(resultsBeforeFolding, resultsBefore);
        await tidy(store, ALL_DAYS.to);
        assert.deepEqual(await readEverything(store), resultsBeforeFolding);
      }),
    );

    test(
      'are added up only when they have ended, and without those of other instances',
      withStore(open, async (store) => {
        await apply(store, [countWrite(START), countWrite(START + DAY_MS), countWrite(START, { instanceId: OTHER_INSTANCE })]);
        await tidy(store, START + DAY_MS + HOUR_MS);
        // The second day is not added up yet, so removing its hours removes it.
        await tidy(store, null, START + 2 * DAY_MS - 1);
        const query = { subject: 'runs', period: 'day', ...ALL_DAYS } as const;
        assert.deepEqual(startedOf(await store.insights.series({ instanceId: INSTANCE, ...query })), []);
        assert.deepEqual(startedOf(await store.insights.series({ instanceId: OTHER_INSTANCE, ...query })), [1]);
      }),
    );

    test(
      'are kept until all of their hours are removed',
      withStore(open, async (store) => {
        await apply(store, [countWrite(START), countWrite(START + 20 * HOUR_MS), countWrite(START + DAY_MS)]);
        await tidy(store, ALL_DAYS.to);
        const query = { instanceId: INSTANCE, subject: 'runs', period: 'day', ...ALL_DAYS } as const;
        await tidy(store, ALL_DAYS.to, START + 12 * HOUR_MS);
        assert.deepEqual(startedOf(await store.insights.series(query)), [2, 1]);
        await tidy(store, ALL_DAYS.to, START + DAY_MS);
        assert.deepEqual(startedOf(await store.insights.series(query)), [1]);
      }),
    );

    test(
      'have separate counters for the 100 workflows with the most runs and their 20 most frequent steps',
      withStore(open, async (store) => {
        const step = (name: string) => ({ name, outcome: 'finished', durationMs: 1 }) as const;
        const hourWrites = [0, 1, 2].flatMap((hour) =>
          Array.from({ length: 40 }, (_, n) =>
            countWrite(START + hour * HOUR_MS, { workflow: `https://app.example/${hour}-${n}` }),
          ),
        );
        const lastWrite = countWrite(START + 5 * HOUR_MS, { steps: [step('rare'), step('often')] });
        const frequentWrites = Array.from({ length: 25 }, (_, n) =>
          countWrite(START + HOUR_MS, { steps: [step('often'), step(`s${n}`)] }),
        );
        await apply(store, [...hourWrites, ...frequentWrites, lastWrite]);
        const resultsBefore = await readEverything(store);
        await tidy(store, ALL_DAYS.to);
        const { sums, totals, series } = await readEverything(store);
        assert.deepEqual(series, resultsBefore.series);
        const [dayTotals = []] = totals;
        assert.equal(dayTotals.length, 101);
        assert.equal(dayTotals.find(({ workflow }) => workflow === URL_ONE)?.started, 26);
        assert.equal(dayTotals.find(({ workflow }) => workflow === null)?.started, 21);
        assert.equal(sums[0]?.steps.size, 21);
        assert.equal(sums[0]?.steps.get('often')?.finished, 26);
      }),
    );
  });
}
