import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Alert } from './alert.js';
import { alertPath } from './alert-link.js';
import type { AlertCondition } from './alert-settings.js';

const AT = Date.parse('2026-11-23T21:00:30Z');
const MINUTE = 60_000;
const URL_TEXT = 'https://shop.test/order?a=1,2';

function pathOf(condition: AlertCondition, subject: string, more: Partial<Alert> = {}, known = true): string {
  const { kind } = condition;
  const alert = { kind, subject, openedAt: AT, lastAt: AT + 5, endedAt: null, details: { summary: '' }, ...more };
  return decodeURIComponent(alertPath('qi_1', alert, known ? condition : null)).replace('/q/qi_1/', '');
}

test('an alert about failures links to exactly its dead letters', () => {
  const failed = { kind: 'run-failed', endAfterMs: MINUTE } as const;
  const open = `dead-letters?view=entries&workflowUrl=${URL_TEXT}&fromDate=${AT}`;
  assert.equal(pathOf(failed, URL_TEXT), open);
  assert.equal(pathOf(failed, URL_TEXT, { endedAt: AT + 9 }), `${open}&toDate=${AT + 5}`);
  assert.match(pathOf({ ...failed, label: 'a b' }, URL_TEXT), /&label=a\+b&fromDate/);
  assert.equal(pathOf({ kind: 'error-group' }, '5f0c9a7be1d2c3f4'), 'dead-letters?view=entries&fingerprint=5f0c9a7be1d2c3f4');
  const rate = { kind: 'failure-rate', percent: 5, windowMs: 90_000, minRuns: 1 } as const;
  assert.equal(pathOf(rate, 'all workflows'), `dead-letters?view=entries&fromDate=${AT - 30_000 - 2 * MINUTE}`);
  const details = { summary: '', workflowUrl: URL_TEXT };
  assert.match(pathOf({ ...rate, workflowUrl: URL_TEXT }, URL_TEXT, { details }), /&workflowUrl=https:\/\/shop/);
});

test('other alerts link to the page of their subject', () => {
  const age = { kind: 'pending-age', maxAgeMs: MINUTE } as const;
  assert.equal(pathOf({ ...age, flowControlKey: 'a/b' }, 'flow control key a/b'), 'flow-control/a/b');
  assert.equal(pathOf({ ...age, queue: 'q' }, 'queue q'), 'queues');
  assert.equal(pathOf({ kind: 'schedule-missed', forMs: MINUTE }, 'scd_1'), 'schedules/scd_1');
  assert.equal(pathOf({ kind: 'run-age', maxAgeMs: MINUTE }, 'all workflows'), `runs?state=RUN_STARTED&to=${AT - MINUTE}`);
  assert.equal(pathOf({ kind: 'no-worker', workflowUrl: 'worker://a/b', forMs: MINUTE }, 'worker://a/b'), 'workers');
  assert.equal(pathOf({ kind: 'budget', percent: 80 }, '2026-11'), 'instance');
  assert.equal(pathOf({ kind: 'store-trouble' }, 'store'), 'overview');
});

test('an alert of a deleted rule, or about a plain message, links to a page that exists', () => {
  assert.equal(pathOf({ kind: 'pending-age', queue: 'q', maxAgeMs: MINUTE }, 'queue q', {}, false), 'alerts');
  assert.equal(pathOf({ kind: 'run-age', maxAgeMs: MINUTE }, 'all workflows', {}, false), 'runs?state=RUN_STARTED');
  const details = { summary: '', workflowRunId: 'msg_1' };
  assert.equal(pathOf({ kind: 'run-failed', endAfterMs: MINUTE }, URL_TEXT, { details }), 'alerts');
});
