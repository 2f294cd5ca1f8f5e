import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Alert, AlertChange } from '../../../engine/alerts/alert.js';
import type { AlertEvent } from '../../../engine/alerts/alert-events.js';
import { alertSettingsName } from '../../../ports/stores/alerts/alert-store.js';
import { addUsers, sampleInstance } from '../accounts/account-samples.js';
import { type OpenStore, withStore } from '../harness.js';
import { apply, INSTANCE, OTHER_INSTANCE, T0 } from '../samples.js';

const event = (n: number): AlertEvent => ({
  eventId: `ale_${n}`,
  at: T0 + n,
  run: 'workflow',
  workflowRunId: `wfr_${n}`,
  workflowUrl: 'http://app/flow',
  labels: ['vip'],
  fingerprint: '00000000000000aa',
  stepName: null,
  error: 'card declined',
});

const alert = (n: number, overrides: Partial<Alert> = {}): Alert => ({
  alertId: `alr_${n}`,
  rule: 'failed',
  kind: 'run-failed',
  subject: `http://app/${n}`,
  openedAt: T0 + n,
  lastAt: T0 + n,
  endedAt: null,
  occurrences: 1,
  details: { summary: 'A run failed.' },
  notice: 'opened',
  notifyAt: T0 + n,
  notifiedAt: null,
  ...overrides,
});
const addition = (entry: Alert): AlertChange => ({ isNew: true, alert: entry });
const update = (entry: Alert): AlertChange => ({ isNew: false, alert: entry });
const INSTANCE_QUERY = { instanceId: INSTANCE };

export function alertConformance(open: OpenStore): void {
  describe('alerts', () => {
    test(
      'events are stored with the unit that causes them until a round removes them',
      withStore(open, async (store, underTest) => {
        await apply(store, [
          { kind: 'add-alert-event', instanceId: INSTANCE, event: event(2) },
          { kind: 'add-alert-event', instanceId: INSTANCE, event: event(1) },
          { kind: 'add-alert-event', instanceId: OTHER_INSTANCE, event: event(3) },
        ]);
        const { alerts } = await underTest.reopen();
        assert.deepEqual(await alerts.events({ ...INSTANCE_QUERY, limit: 10 }), [event(1), event(2)]);
        const round = { ...INSTANCE_QUERY, changes: [addition(alert(1))], eventIds: ['ale_1'] };
        assert.equal(await alerts.record(round), true);
        assert.equal(await alerts.record({ ...round, changes: [addition(alert(2))] }), false, 'the event was evaluated');
        assert.deepEqual(await alerts.events({ ...INSTANCE_QUERY, limit: 10 }), [event(2)]);
        assert.deepEqual(await alerts.listOpen(INSTANCE_QUERY), [alert(1)]);
      }),
    );

    test(
      'one alert is open for a rule and a subject, and another one can follow its end',
      withStore(open, async ({ alerts }) => {
        assert.equal(await alerts.record({ ...INSTANCE_QUERY, changes: [addition(alert(1))], eventIds: [] }), true);
        const sameSubject = alert(2, { subject: alert(1).subject });
        assert.equal(
          await alerts.record({ ...INSTANCE_QUERY, changes: [addition(alert(3)), addition(sameSubject)], eventIds: [] }),
          false,
        );
        assert.deepEqual(await alerts.listOpen(INSTANCE_QUERY), [alert(1)], 'nothing of the round was written');
        const endedAlert = alert(1, { endedAt: T0 + 5, occurrences: 4, lastAt: T0 + 4, notice: 'ended', notifyAt: T0 + 5 });
        assert.equal(await alerts.record({ ...INSTANCE_QUERY, changes: [update(endedAlert)], eventIds: [] }), true);
        assert.equal(await alerts.record({ ...INSTANCE_QUERY, changes: [update(endedAlert)], eventIds: [] }), false);
        assert.equal(await alerts.record({ ...INSTANCE_QUERY, changes: [addition(sameSubject)], eventIds: [] }), true);
        const list = (isOpen?: boolean) =>
          alerts.list({ ...INSTANCE_QUERY, after: null, limit: 10, ...(isOpen === undefined ? {} : { isOpen }) });
        assert.deepEqual(await list(), [sameSubject, endedAlert]);
        assert.deepEqual(await list(true), [sameSubject]);
        assert.deepEqual(await list(false), [endedAlert]);
        assert.deepEqual(await alerts.list({ ...INSTANCE_QUERY, after: 'alr_2', limit: 10 }), [endedAlert]);
        assert.deepEqual(await alerts.list({ instanceId: OTHER_INSTANCE, after: null, limit: 10 }), []);
        assert.equal(await alerts.removeEnded({ ...INSTANCE_QUERY, endedBefore: T0 + 5, limit: 10 }), 0);
        assert.equal(await alerts.removeEnded({ ...INSTANCE_QUERY, endedBefore: T0 + 6, limit: 10 }), 1);
        assert.deepEqual(await list(), [sameSubject]);
      }),
    );

    test(
      'notices are due until they are sent, and are counted by the time they were sent',
      withStore(open, async ({ alerts }) => {
        await alerts.record({ ...INSTANCE_QUERY, changes: [addition(alert(2)), addition(alert(1))], eventIds: [] });
        const dueAlertIds = async (before: number) =>
          (await alerts.dueNotices({ ...INSTANCE_QUERY, before, limit: 10 })).map(({ alertId }) => alertId);
        assert.deepEqual(await dueAlertIds(T0 + 1), ['alr_1']);
        assert.deepEqual(await dueAlertIds(T0 + 2), ['alr_1', 'alr_2']);
        await alerts.moveNotice({ ...INSTANCE_QUERY, alert: alert(1), notifyAt: T0 + 60, now: T0 + 2 });
        await alerts.moveNotice({ ...INSTANCE_QUERY, alert: alert(2), notifyAt: null, now: T0 + 3 });
        await alerts.moveNotice({ ...INSTANCE_QUERY, alert: alert(2), notifyAt: T0, now: T0 + 4 });
        assert.deepEqual(await dueAlertIds(T0 + 59), []);
        assert.deepEqual(await dueAlertIds(T0 + 60), ['alr_1']);
        assert.equal(await alerts.countNotified({ ...INSTANCE_QUERY, since: T0 + 3 }), 1);
        assert.equal(await alerts.countNotified({ ...INSTANCE_QUERY, since: T0 + 4 }), 0);
      }),
    );

    test(
      'the settings of a deleted instance are removed with it',
      withStore(open, async ({ accounts }) => {
        await addUsers(accounts, 'ann');
        await accounts.createInstance(sampleInstance(INSTANCE, { accountId: 'usr_ann' }));
        const name = alertSettingsName(INSTANCE);
        await accounts.findOrCreateSecret({ name, value: '{}' });
        await accounts.deleteInstance({ instanceId: INSTANCE, at: T0 });
        assert.equal(await accounts.findSecret({ name }), null);
      }),
    );
  });
}
