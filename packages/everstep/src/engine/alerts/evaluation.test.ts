import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type GroupTriage, NO_TRIAGE } from '../dead-letters/group-triage.js';
import type { Alert } from './alert.js';
import type { AlertEvent } from './alert-events.js';
import type { AlertRule } from './alert-settings.js';
import { evaluate, type Finding } from './evaluation.js';

const MINUTE = 60_000;
const RANDOM = { bytes: (count: number) => new Uint8Array(count) };
const RULE: AlertRule = {
  ...{ name: 'r', isEnabled: true, destinations: [], createdAt: 0 },
  condition: { kind: 'store-trouble' },
};

/** Returns the alerts after a round that finds only this outage, or none if `outageEndedAt` is null. */
function after(openAlerts: readonly Alert[], outageEndedAt: number | null, now: number): readonly Alert[] {
  const findings: readonly Finding[] =
    outageEndedAt === null ? [] : [{ subject: 'store', at: outageEndedAt, details: { summary: 'outage' } }];
  const input = { rules: [RULE], openAlerts, events: [], groups: new Map(), findings: new Map([['r', findings]]) };
  const changes = evaluate(input, { now, random: RANDOM });
  return changes.length === 0 ? openAlerts : changes.map(({ alert }) => alert);
}

test('the alert of an outage ends at the same time, whichever node does the round', () => {
  const opened = after([], MINUTE, 2 * MINUTE);
  assert.deepEqual(after(opened, null, 3 * MINUTE), opened);
  assert.deepEqual(after(opened, MINUTE, 3 * MINUTE), opened);
  const [again] = after(opened, 5 * MINUTE, 6 * MINUTE);
  assert.deepEqual([again?.lastAt, again?.occurrences], [5 * MINUTE, 2]);
  assert.equal(after(again ? [again] : [], null, 19 * MINUTE)[0]?.endedAt, null);
  assert.equal(after(again ? [again] : [], null, 20 * MINUTE)[0]?.endedAt, 20 * MINUTE);
});

test('the alerts of a rule that could not be read stay as they are', () => {
  const openAlerts = after([], MINUTE, 2 * MINUTE);
  const input = { rules: [RULE], openAlerts, events: [], groups: new Map(), findings: new Map() };
  assert.deepEqual(evaluate(input, { now: 60 * MINUTE, random: RANDOM }), []);
});

test('a condition that has held for too short a time opens no alert, and keeps an open one', () => {
  const rule: AlertRule = { ...RULE, condition: { kind: 'no-worker', workflowUrl: 'worker://shop/order', forMs: MINUTE } };
  const round = (openAlerts: readonly Alert[], found: readonly Finding[]) => {
    const input = { rules: [rule], openAlerts, events: [], groups: new Map(), findings: new Map([['r', found]]) };
    return evaluate(input, { now: MINUTE, random: RANDOM }).map(({ alert }) => alert);
  };
  const finding = { subject: 'worker://shop/order', at: MINUTE, details: { summary: 'missing' } };
  assert.deepEqual(round([], [{ ...finding, isTooRecent: true }]), []);
  const opened = round([], [finding]);
  assert.deepEqual(
    opened.map(({ endedAt }) => endedAt),
    [null],
  );
  assert.deepEqual(round(opened, [{ ...finding, isTooRecent: true }]), []);
  assert.equal(round(opened, [])[0]?.endedAt, MINUTE);
});

describe('the rule about groups of errors', () => {
  const GROUP_RULE: AlertRule = { ...RULE, condition: { kind: 'error-group' } };
  const EVENT: AlertEvent = {
    ...{ eventId: 'ale_1', at: MINUTE, run: 'workflow', workflowRunId: 'r', workflowUrl: 'http://app/flow' },
    ...{ labels: [], fingerprint: 'f', stepName: null, error: '' },
  };
  const SNOOZED: GroupTriage = { ...NO_TRIAGE, snooze: { at: MINUTE, by: 'ann', until: 10 * MINUTE } };
  const round = (openAlerts: readonly Alert[], events: readonly AlertEvent[], triage: GroupTriage, now: number) => {
    const group = { firstSeenAt: 0, acknowledgedAt: null, regressedAt: null, entries: 1, triage };
    const input = { rules: [GROUP_RULE], openAlerts, events, groups: new Map([['f', group]]), findings: new Map() };
    return evaluate(input, { now, random: RANDOM }).map(({ alert }) => alert);
  };

  test('opens no alert for a snoozed group, and one for its next failure after that', () => {
    assert.deepEqual(round([], [EVENT], SNOOZED, 2 * MINUTE), []);
    const [alert] = round([], [EVENT], SNOOZED, 10 * MINUTE);
    assert.match(alert?.details.summary ?? '', /occurred again after its snooze ended/);
    assert.deepEqual(round(alert ? [alert] : [], [], SNOOZED, 11 * MINUTE), []);
  });

  test('ends the alert of a group that is snoozed', () => {
    const open = round([], [EVENT], NO_TRIAGE, MINUTE);
    assert.equal(open.length, 1);
    assert.deepEqual(round(open, [], NO_TRIAGE, 2 * MINUTE), []);
    assert.equal(round(open, [], SNOOZED, 2 * MINUTE)[0]?.endedAt, 2 * MINUTE);
  });
});
