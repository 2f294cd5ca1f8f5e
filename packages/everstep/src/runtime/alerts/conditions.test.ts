import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AlertRule } from '../../engine/alerts/alert-settings.js';
import type { InsightTime } from '../../ports/stores/store.js';
import { ConditionReader, type ConditionReaderOptions, type StateRule, type StoreTrouble } from './conditions.js';

const NOW = Date.parse('2026-11-23T21:00:30Z');
const MINUTE = 60_000;
const unused = () => assert.fail('is not read for this rule');

const UNUSED: object = {
  store: { listRuns: unused, dueSchedules: unused, insights: { series: unused } },
  flowControl: { find: unused, waitList: unused },
  workers: { missingSince: unused },
  budgetOf: unused,
};

const reader = (more: object): ConditionReader => new ConditionReader(Object.assign({} as ConditionReaderOptions, UNUSED, more));

const ruleOf = (condition: StateRule['condition'], more: Partial<AlertRule> = {}): StateRule => ({
  ...{ name: 'r', isEnabled: true, destinations: [], createdAt: 0, ...more },
  condition,
});

async function summaries(more: object, rule: StateRule, trouble: StoreTrouble | null = null): Promise<readonly string[]> {
  const found = await reader(more).read(rule, { instanceId: 'qi_1', now: NOW, trouble });
  return found.map(({ subject, details, isTooRecent }) => `${subject}: ${details.summary}${isTooRecent ? ' (too recent)' : ''}`);
}

test('a failure rate covers its whole window and the minute that has not ended', async () => {
  const asked: InsightTime[] = [];
  const series = async ({ from, to }: InsightTime) => {
    asked.push({ from, to });
    return [{ start: NOW, counts: { failed: 3, succeeded: 7, canceled: 50 } }];
  };
  const store = { insights: { series } };
  const of = (percent: number, minRuns: number) =>
    summaries({ store }, ruleOf({ kind: 'failure-rate', percent, windowMs: 2 * MINUTE, minRuns }));
  assert.deepEqual(await of(30, 10), ['all workflows: 30% of the runs of all workflows failed in the last 2 min (3 of 10).']);
  assert.deepEqual(await of(31, 10), []);
  assert.deepEqual(await of(30, 11), []);
  const minute = NOW - 30_000;
  assert.deepEqual(asked[0], { from: minute - 2 * MINUTE, to: minute + MINUTE });
});

test('the age of a flow control key is that of its first delivery, and an idle key is not listed', async () => {
  const rule = ruleOf({ kind: 'pending-age', flowControlKey: 'k', maxAgeMs: MINUTE });
  const at = (waiting: number, since: number) => ({
    flowControl: { find: async () => ({ waiting }), waitList: async () => ({ waiting: [{ since }], size: waiting }) },
  });
  assert.deepEqual(await summaries(at(1, NOW - MINUTE), rule), [
    'flow control key k: The oldest delivery of the flow control key k has waited for 60 s.',
  ]);
  assert.deepEqual(await summaries(at(1, NOW - MINUTE + 1), rule), []);
  assert.deepEqual(await summaries({ flowControl: { find: async () => ({ waiting: 0 }), waitList: unused } }, rule), []);
  assert.deepEqual(await summaries({ flowControl: { find: async () => null, waitList: unused } }, rule), []);
});

test('a delayed message of a queue is as old as the time since it became due', async () => {
  const rule = ruleOf({ kind: 'pending-age', queue: 'q', maxAgeMs: 10 * MINUTE });
  const delayed = (notBefore: number) => ({ createdAt: NOW - 60 * MINUTE, settings: { message: { queue: 'q', notBefore } } });
  const prompt = { createdAt: NOW - 15 * MINUTE, settings: { message: { queue: 'q' } } };
  const of = (...items: readonly object[]) => summaries({ store: { listRuns: async () => ({ items, next: null }) } }, rule);
  assert.deepEqual(await of(delayed(NOW + MINUTE)), []);
  assert.deepEqual(await of(delayed(NOW - 9 * MINUTE)), []);
  assert.deepEqual(await of(delayed(NOW + MINUTE), prompt), [
    'queue q: The oldest message of the queue q has waited for 15 min.',
  ]);
  assert.deepEqual(await of(), []);
});

test('late schedules, old runs, missing workers and spent budgets are found', async () => {
  const dueSchedules = async ({ before }: { readonly before: number }) =>
    before === NOW - MINUTE ? [{ scheduleId: 's', workflowUrl: 'http://app/flow' }] : [];
  assert.deepEqual(await summaries({ store: { dueSchedules } }, ruleOf({ kind: 'schedule-missed', forMs: MINUTE })), [
    's: The schedule s is late by more than 60 s.',
  ]);
  const missing = (forMs: number, since: number | null = NOW - MINUTE) =>
    summaries(
      { workers: { missingSince: () => since } },
      ruleOf({ kind: 'no-worker', workflowUrl: 'worker://shop/order', forMs }),
    );
  const summary = 'worker://shop/order: No connected worker has served worker://shop/order for';
  assert.deepEqual(await missing(MINUTE), [`${summary} 60 s.`]);
  assert.deepEqual(await missing(2 * MINUTE), [`${summary} 2 min. (too recent)`]);
  assert.deepEqual(await missing(MINUTE, null), []);
  const spent = (dollars: number, budget: number) =>
    summaries({ budgetOf: async () => ({ month: '2026-11', spent: dollars, budget }) }, ruleOf({ kind: 'budget', percent: 80 }));
  assert.deepEqual(await spent(8, 10), ['2026-11: At least 80% of the budget of 2026-11 is spent.']);
  assert.deepEqual(await spent(7.9, 10), []);
  assert.deepEqual(await spent(7.9, 0), []);
});

test('an outage of the store is found by the rules that existed then', async () => {
  const trouble = { from: NOW - 5 * MINUTE, to: NOW - MINUTE };
  const of = (createdAt: number) => summaries({}, ruleOf({ kind: 'store-trouble' }, { createdAt }), trouble);
  assert.deepEqual(await of(0), ['store: The store rejected writes for 4 min, from 2026-11-23T20:55:30.000Z.']);
  assert.deepEqual(await of(NOW), []);
});
