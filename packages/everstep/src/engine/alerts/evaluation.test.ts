import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Alert } from './alert.js';
import type { AlertRule } from './alert-settings.js';
import { evaluate, type Finding } from './evaluation.js';

const MINUTE = 60_000;
const RANDOM = { bytes: (count: number) => new Uint8Array(count) };
const RULE: AlertRule = {
  ...{ name: 'r', isEnabled: true, destinations: [], createdAt: 0 },
  condition: { kind: 'store-trouble' },
};

/** The alerts after a round, if there was nothing but this outage. Null: the node that did the round noticed none. */
function after(open: readonly Alert[], outageEndedAt: number | null, now: number): readonly Alert[] {
  const findings: readonly Finding[] =
    outageEndedAt === null ? [] : [{ subject: 'store', at: outageEndedAt, details: { summary: 'outage' } }];
  const input = { rules: [RULE], open, events: [], groups: new Map(), found: new Map([['r', findings]]) };
  const changes = evaluate(input, { now, random: RANDOM });
  return changes.length === 0 ? open : changes.map(({ alert }) => alert);
}

test('the alert of an outage ends by its time, whichever node does the round', () => {
  const opened = after([], MINUTE, 2 * MINUTE);
  assert.deepEqual(after(opened, null, 3 * MINUTE), opened);
  assert.deepEqual(after(opened, MINUTE, 3 * MINUTE), opened);
  const [again] = after(opened, 5 * MINUTE, 6 * MINUTE);
  assert.deepEqual([again?.lastAt, again?.occurrences], [5 * MINUTE, 2]);
  assert.equal(after(again ? [again] : [], null, 19 * MINUTE)[0]?.endedAt, null);
  assert.equal(after(again ? [again] : [], null, 20 * MINUTE)[0]?.endedAt, 20 * MINUTE);
});

test('the alerts of a rule that was not read stay as they are', () => {
  const open = after([], MINUTE, 2 * MINUTE);
  const input = { rules: [RULE], open, events: [], groups: new Map(), found: new Map() };
  assert.deepEqual(evaluate(input, { now: 60 * MINUTE, random: RANDOM }), []);
});
