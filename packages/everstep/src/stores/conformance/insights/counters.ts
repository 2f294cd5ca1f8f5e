import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  addCounts,
  addInsightCounts,
  HOUR_MS,
  type InsightCounts,
  noCounts,
  type RunCounts,
  startOfHour,
  startOfMinute,
} from '../../../engine/insights/counts.js';
import type { InsightPeriod, InsightSubject, InsightUpkeep, Store } from '../../../ports/stores/store.js';
import type { OpenStore } from '../harness.js';
import { withStore } from '../harness.js';
import { apply, INSTANCE, OTHER_INSTANCE, seededNumbers, unit } from '../samples.js';

const START = startOfHour(1_800_000_000_000);
const TIME = { from: START, to: START + 3 * HOUR_MS };
const URL_ONE = 'https://app.example/one';

const countWrite = (overrides: Partial<InsightCounts> = {}): InsightCounts => ({
  kind: 'count-insights',
  instanceId: INSTANCE,
  workflow: URL_ONE,
  at: START + 5,
  started: true,
  ...overrides,
});

const readSeries = (store: Store, subject: InsightSubject, period: InsightPeriod, instanceId = INSTANCE) =>
  store.insights.series({ instanceId, subject, period, ...TIME });

const sumOf = (points: Awaited<ReturnType<typeof readSeries>>): RunCounts => {
  const sum = noCounts();
  for (const { counts } of points) addCounts(sum, counts);
  return sum;
};

/** Returns the expected counters of the instance, computed from all writes. */
function expectedPoints(writes: readonly InsightCounts[], subject: InsightSubject, startOf: (at: number) => number) {
  const points = new Map<number, RunCounts>();
  for (const write of writes) {
    const isWanted =
      subject === 'messages'
        ? write.workflow === null
        : subject === 'runs'
          ? write.workflow !== null
          : write.workflow === subject.workflow;
    if (!isWanted || write.instanceId !== INSTANCE) continue;
    const start = startOf(write.at);
    const counts = points.get(start) ?? noCounts();
    points.set(start, counts);
    const { steps: _, ...writeWithoutSteps } = write;
    addInsightCounts(counts, writeWithoutSteps);
  }
  return [...points].map(([start, counts]) => ({ start, counts })).sort((a, b) => a.start - b.start);
}

/** Returns the expected sum of a workflow, with its steps. */
function expectedSum(writes: readonly InsightCounts[], workflow: string): RunCounts {
  const sum = noCounts();
  for (const write of writes) if (write.workflow === workflow && write.instanceId === INSTANCE) addInsightCounts(sum, write);
  return sum;
}

/** Returns a random write that a run could cause. */
function randomWrite(below: (limit: number) => number): InsightCounts {
  const workflow = below(6) === 0 ? null : `https://app.example/${below(4)}`;
  const at = START + below(3 * HOUR_MS);
  const instanceId = below(5) === 0 ? OTHER_INSTANCE : INSTANCE;
  const commonFields = { kind: 'count-insights', instanceId, workflow, at } as const;
  if (below(3) === 0) return { ...commonFields, started: true };
  const steps = Array.from({ length: below(3) }, () => ({
    name: below(7) === 0 ? null : `step ${below(5)}`,
    outcome: below(4) === 0 ? ('failed-attempt' as const) : ('finished' as const),
    durationMs: below(4) === 0 ? null : below(100_000),
  }));
  const status = (['succeeded', 'failed', 'canceled'] as const)[below(3)] ?? 'failed';
  return { ...commonFields, steps, ...(below(2) === 0 ? { ended: { status, durationMs: below(1_000_000) } } : {}) };
}

async function tidy(store: Store, upkeep: Partial<InsightUpkeep> = {}): Promise<void> {
  const noUpkeep = { instanceId: INSTANCE, daysUntil: null, minutesBefore: null, hoursBefore: null };
  while ((await store.insights.tidy({ ...noUpkeep, ...upkeep })) > 0);
}

export function insightConformance(open: OpenStore): void {
  describe('counters of insights', () => {
    test(
      'are equal to what was counted, by minute and by hour, for any batches, even after they were added up and after a restart',
      withStore(open, async (store, underTest) => {
        const below = seededNumbers(21);
        const writes = Array.from({ length: 900 }, () => randomWrite(below));
        for (let first = 0; first < writes.length; ) {
          const units = Array.from({ length: 1 + below(6) }, () => {
            const part = writes.slice(first, first + 1 + below(3));
            first += part.length;
            return unit(part);
          }).filter((each) => each.writes.length > 0);
          if (units.length > 0) await store.commit(units);
        }
        const subjects: readonly InsightSubject[] = ['runs', 'messages', { workflow: 'https://app.example/2' }];
        const reopened = await underTest.reopen();
        const check = async (store: Store) => {
          for (const subject of subjects) {
            assert.deepEqual(await readSeries(store, subject, 'minute'), expectedPoints(writes, subject, startOfMinute));
            assert.deepEqual(await readSeries(store, subject, 'hour'), expectedPoints(writes, subject, startOfHour));
          }
          const workflow = 'https://app.example/2';
          const sum = await store.insights.workflowSum({ instanceId: INSTANCE, workflow, ...TIME });
          assert.deepEqual(sum, expectedSum(writes, workflow));
        };
        await check(reopened);
        await tidy(reopened);
        await check(reopened);
        const totals = await reopened.insights.workflowTotals({ instanceId: INSTANCE, from: START, to: START + 2 * HOUR_MS });
        const sum = totals.reduce((started, each) => started + each.started, 0);
        const expectedHours = expectedPoints(writes, 'runs', startOfHour).slice(0, 2);
        assert.equal(
          sum,
          expectedHours.reduce((started, { counts }) => started + counts.started, 0),
        );
        assert.equal(totals.length, 4);
      }),
    );

    test(
      'are not changed by a rejected unit or a faulty batch',
      withStore(open, async (store) => {
        await store.commit([unit([countWrite()], [{ kind: 'run-active', runKey: 'no such run' }]), unit([countWrite()])]);
        await assert.rejects(store.commit([unit([countWrite(), { kind: 'delete-task', runKey: 'no such run', slot: 1 }])]));
        await apply(store, [countWrite()]);
        assert.equal(sumOf(await readSeries(store, 'runs', 'hour')).started, 2);
      }),
    );

    test(
      'exist for a limited number of workflows and steps; the others are counted together',
      withStore(open, async (store) => {
        const steps = Array.from({ length: 30 }, (_, n) => ({ name: `step ${n}`, outcome: 'finished' as const, durationMs: 1 }));
        const workflowWrites = Array.from({ length: 70 }, (_, n) => countWrite({ workflow: `https://app.example/w${n}` }));
        await store.commit([unit([...workflowWrites, countWrite({ workflow: 'https://app.example/w0', steps })])]);
        await tidy(store);
        const totals = await store.insights.workflowTotals({ instanceId: INSTANCE, from: START, to: START + HOUR_MS });
        assert.equal(totals.length, 51);
        assert.equal(totals.find(({ workflow }) => workflow === null)?.started, 20);
        assert.equal(sumOf(await readSeries(store, 'runs', 'hour')).started, 71);
        const workflow = 'https://app.example/w0';
        const { steps: stepCounts } = await store.insights.workflowSum({ instanceId: INSTANCE, workflow, ...TIME });
        assert.equal(stepCounts.size, 21);
        assert.equal(stepCounts.get(null)?.finished, 10);
      }),
    );

    test(
      'are removed when they are old, minutes before hours, without those of other instances',
      withStore(open, async (store) => {
        await store.commit([
          unit([countWrite(), countWrite({ at: START + HOUR_MS }), countWrite({ instanceId: OTHER_INSTANCE })]),
          unit([countWrite({ at: START + 2 * HOUR_MS, workflow: null })]),
        ]);
        await tidy(store, { minutesBefore: START + 2 * HOUR_MS, hoursBefore: START + HOUR_MS });
        assert.deepEqual(await readSeries(store, 'runs', 'minute'), []);
        assert.equal((await readSeries(store, 'messages', 'minute')).length, 1);
        assert.deepEqual(
          (await readSeries(store, 'runs', 'hour')).map(({ start }) => start),
          [START + HOUR_MS],
        );
        assert.equal(sumOf(await readSeries(store, 'runs', 'minute', OTHER_INSTANCE)).started, 1);
      }),
    );
  });
}
