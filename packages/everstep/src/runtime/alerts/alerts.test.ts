import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import { type AlertCondition, LIFECYCLE_EVENTS } from '../../engine/alerts/alert-settings.js';
import type { Message } from '../../ports/message-sender.js';
import type { Store } from '../../ports/stores/store.js';
import { type Bench, inARow, ScriptedCaller, ScriptedSender, SETTINGS, settle, withRuntime } from '../runtime.fixture.js';
import type { DestinationRequest } from '../services/workflow-service.js';

const OF = { instanceId: 'qi_1' };
const HOOK: DestinationRequest = { ...OF, name: 'hook', kind: 'webhook', url: 'http://ops/hook', rotateSecret: false };
const SLACK: DestinationRequest = {
  ...OF,
  name: 'chat',
  kind: 'slack',
  url: 'https://hooks.test/services/secret',
  rotateSecret: false,
};
const FAILED: AlertCondition = { kind: 'run-failed', endAfterMs: 900_000 };

const accepted = () => new ScriptedSender(() => ({ kind: 'response', status: 200, headers: {}, body: new Uint8Array() }));
const bodyOf = ({ body }: Message) => JSON.parse(Buffer.from(body ?? []).toString());
const failing = () =>
  new ScriptedCaller(({ request }) => ({
    ...{ protocol: 1, kind: 'failed', base: request.journal.length, done: [] },
    ...{ error: { name: 'Error', message: 'card declined' }, retry: { kind: 'never' } },
  }));

async function putRule({ runtime }: Bench, condition: AlertCondition, destinations: readonly string[]): Promise<void> {
  for (const each of [HOOK, SLACK]) assert.ok(typeof (await runtime.alerts.putDestination(each)) !== 'string');
  assert.ok(
    typeof (await runtime.alerts.putRule({ ...OF, rule: { name: 'r', isEnabled: true, condition, destinations } })) !== 'string',
  );
}

/** Advances the clock until a round of the alert rules is done. */
async function round({ runtime, clock }: Bench): Promise<void> {
  await settle();
  clock.move(LIMITS.alertRoundEveryMs);
  await runtime.idle();
  await settle();
}

async function failRun(bench: Bench): Promise<void> {
  await bench.trigger({ settings: { ...SETTINGS, labels: ['vip'] } });
  await settle();
}

describe('lifecycle webhooks', () => {
  const withHook = async (bench: Bench, more: object = {}) => {
    const put = await bench.runtime.alerts.putDestination(HOOK);
    assert.ok(typeof put !== 'string');
    const webhook = { name: 'w', isEnabled: true, events: LIFECYCLE_EVENTS, destination: 'hook', ...more };
    assert.ok(typeof (await bench.runtime.alerts.putWebhook({ ...OF, webhook })) !== 'string');
    return put.newSecret ?? '';
  };

  test('send a signed request for the start and for the end of a run', async () => {
    const sender = accepted();
    await withRuntime(
      new ScriptedCaller(inARow(2)),
      async (bench) => {
        const secret = await withHook(bench);
        await bench.trigger();
        await settle();
        assert.deepEqual(sender.sent.map((sent) => bodyOf(sent).type).toSorted(), ['run.started', 'run.succeeded']);
        assert.match(secret, /^whsec_/);
        for (const { url, signed, webhook } of sender.sent)
          assert.deepEqual([url, signed, webhook?.secret], ['http://ops/hook', null, secret]);
        assert.equal(new Set(sender.sent.map(({ webhook }) => webhook?.id)).size, 2);
        assert.ok(!JSON.stringify(sender.sent.map(bodyOf)).includes('result'));
      },
      { sender },
    );
  });

  test('send only the events, workflows and labels that match', async () => {
    const sender = accepted();
    await withRuntime(
      failing(),
      async (bench) => {
        await withHook(bench, { events: ['run.failed'], label: 'vip' });
        await bench.trigger();
        await failRun(bench);
        const [only, ...others] = sender.sent.map(bodyOf);
        assert.deepEqual([only.type, only.run.labels, others.length], ['run.failed', ['vip'], 0]);
      },
      { sender },
    );
  });

  test('survive the end of the process between the commit and the request', async () => {
    const sender = new ScriptedSender(() => ({ kind: 'response', status: 503, headers: {}, body: new Uint8Array() }));
    await withRuntime(
      new ScriptedCaller(inARow(1)),
      async (bench) => {
        await withHook(bench, { events: ['run.succeeded'] });
        await bench.trigger();
        await settle();
        const [task] = await bench.store.dueTasks({ before: Number.MAX_SAFE_INTEGER, after: null, limit: 10 });
        assert.deepEqual([task?.kind, task?.workflowUrl], ['message', 'http://ops/hook']);
        assert.equal(sender.sent.length, 1);
      },
      { sender },
    );
  });

  test('are not created for messages, or for an instance without webhooks', async () => {
    const sender = accepted();
    await withRuntime(
      new ScriptedCaller(inARow(1)),
      async (bench) => {
        await withHook(bench);
        await bench.trigger({ instanceId: 'qi_2' });
        await bench.trigger({ settings: { ...SETTINGS, message: { method: 'POST' } } });
        await settle();
        assert.deepEqual(
          sender.sent.map(({ url }) => url),
          ['http://app/flow'],
        );
      },
      { sender },
    );
  });
});

describe('alert rules', () => {
  test('one alert opens for many failures of a workflow, and ends when nothing fails anymore', async () => {
    const sender = accepted();
    await withRuntime(
      failing(),
      async (bench) => {
        await putRule(bench, FAILED, ['hook', 'chat']);
        for (let n = 0; n < 3; n++) await failRun(bench);
        await round(bench);
        const [alert, ...others] = await bench.runtime.alerts.list({ ...OF, after: null, limit: 10 });
        assert.deepEqual([alert?.subject, alert?.occurrences, others.length], ['http://app/flow', 3, 0]);
        await round(bench);
        assert.deepEqual(
          sender.sent.map(({ url }) => url),
          ['http://ops/hook', 'https://hooks.test/services/secret'],
        );
        const [toHook, toChat] = sender.sent.map(bodyOf);
        assert.deepEqual([toHook.type, toHook.alert.rule], ['alert.opened', 'r']);
        assert.match(toChat.text, /^Alert: A run of http:\/\/app\/flow failed\./);
        // The link lists exactly the dead letters of the alert.
        const { openedAt } = toHook.alert;
        const query = `view=entries&workflowUrl=http%3A%2F%2Fapp%2Fflow&fromDate=${openedAt}`;
        assert.equal(toHook.dashboardUrl, `http://everstep/q/qi_1/dead-letters?${query}`);
        assert.ok(toChat.text.endsWith(`\n${toHook.dashboardUrl.replaceAll('&', '&amp;')}`));
        await failRun(bench);
        await round(bench);
        assert.equal(sender.sent.length, 2, 'an open alert is not announced again');
        bench.clock.move(900_000);
        await round(bench);
        assert.deepEqual(bodyOf(sender.sent[2] as Message).type, 'alert.ended');
        assert.deepEqual(await bench.store.alerts.events({ ...OF, limit: 10 }), []);
      },
      { sender },
    );
  });

  test('email is retried with the same id, and contains the link and the end of the alert', async () => {
    let isDown = true;
    const sender = new ScriptedSender(() => ({
      ...{ kind: 'response', status: isDown ? 503 : 250, headers: {}, body: new Uint8Array() },
    }));
    await withRuntime(
      failing(),
      async (bench) => {
        const to = ['ops@shop.test', 'ann@shop.test'];
        await bench.runtime.alerts.putDestination({ ...OF, name: 'people', kind: 'email', to, rotateSecret: false });
        await putRule(bench, FAILED, ['people']);
        await failRun(bench);
        await round(bench);
        isDown = false;
        bench.clock.move(60_000);
        await round(bench);
        const [first, second, ...others] = sender.sent;
        assert.equal(others.length, 0);
        assert.deepEqual([first?.url, first?.mail?.to], [`mailto:${to.join(',')}`, to]);
        assert.match(first?.mail?.id ?? '', /^msg_/);
        assert.deepEqual(second?.mail, first?.mail);
        const { subject, text } = bodyOf(second as Message);
        assert.equal(subject, '[Everstep] Alert: A run of http://app/flow failed.');
        assert.match(text, /\n\nError: .+: card declined\n\n/);
        assert.match(text, /\n\nhttp:\/\/everstep\/q\/qi_1\/dead-letters\?view=entries&workflowUrl=[^\n]+\n/);
        bench.clock.move(900_000);
        await round(bench);
        assert.equal(bodyOf(sender.sent[2] as Message).subject, '[Everstep] Ended: A run of http://app/flow failed.');
      },
      { sender },
    );
  });

  test('a failure in one instance does not keep the rules of the others from being evaluated', async () => {
    const wrap = (store: Store): Store => ({
      ...store,
      alerts: {
        ...store.alerts,
        record: (query) => (query.instanceId === 'qi_1' ? Promise.reject(new Error('no space')) : store.alerts.record(query)),
      },
    });
    await withRuntime(
      failing(),
      async (bench) => {
        const rule = { name: 'r', isEnabled: true, condition: FAILED, destinations: [] };
        for (const instanceId of ['qi_1', 'qi_2']) {
          assert.ok(typeof (await bench.runtime.alerts.putRule({ instanceId, rule })) !== 'string');
          await bench.trigger({ instanceId });
        }
        await round(bench);
        const openAlerts = await bench.runtime.alerts.list({ instanceId: 'qi_2', after: null, limit: 10 });
        assert.deepEqual(
          openAlerts.map(({ subject }) => subject),
          ['http://app/flow'],
        );
      },
      { wrap },
    );
  });

  test('a new error opens an alert until its group is acknowledged', async () => {
    const sender = accepted();
    await withRuntime(
      failing(),
      async (bench) => {
        await putRule(bench, { kind: 'error-group' }, ['hook']);
        await failRun(bench);
        await round(bench);
        const [alert] = await bench.store.alerts.listOpen(OF);
        const { fingerprint = '' } = alert?.details ?? {};
        const mark = { kind: 'acknowledge' as const, at: bench.clock.now(), by: 'ann' };
        const audit = { auditId: 'a', at: 0, actor: 'ann', action: 'x', subject: 'x', address: '', accountIds: [], details: {} };
        assert.ok(await bench.store.deadLetterGroups.mark({ ...OF, fingerprint, mark, audit }));
        await round(bench);
        await failRun(bench);
        await round(bench);
        assert.deepEqual(
          sender.sent.map((sent) => bodyOf(sent).type),
          ['alert.opened', 'alert.ended'],
        );
      },
      { sender },
    );
  });

  test('a notice that fails opens no alert, and its dead letter does not contain the secret URL', async () => {
    const sender = new ScriptedSender(() => ({ kind: 'response', status: 400, headers: {}, body: new Uint8Array() }));
    await withRuntime(
      failing(),
      async (bench) => {
        await putRule(bench, FAILED, ['chat']);
        await failRun(bench);
        for (let n = 0; n < 20; n++) {
          await round(bench);
          bench.clock.move(86_400_000);
        }
        assert.ok(sender.sent.length > 1);
        assert.deepEqual(await bench.store.alerts.listOpen(OF), []);
        const letters = await bench.store.listDeadLetters({
          ...OF,
          filter: { kind: 'message' },
          order: 'newest-first',
          after: null,
          horizon: null,
          limit: 10,
        });
        assert.equal(letters.items.length, 2);
        assert.ok(!JSON.stringify(letters).includes('services/secret'));
      },
      { sender },
    );
  });

  test('notices above the hourly limit are postponed', async () => {
    const sender = accepted();
    await withRuntime(
      failing(),
      async (bench) => {
        await putRule(bench, FAILED, ['hook']);
        const max = LIMITS.maxAlertNoticesPerHour;
        for (let n = 0; n <= max; n++) {
          await bench.trigger({ workflowUrl: `http://app/${n}` });
          if (n % 20 === 0) await settle();
        }
        await settle();
        await round(bench);
        await round(bench);
        await round(bench);
        assert.equal(sender.sent.length, max);
        for (let n = 0; n < 13; n++) {
          bench.clock.move(LIMITS.alertNoticePostponeMs);
          await round(bench);
        }
        assert.ok(sender.sent.length > max);
      },
      { sender },
    );
  });

  test('the alerts of a deleted rule end without a notice', async () => {
    const sender = accepted();
    await withRuntime(
      failing(),
      async (bench) => {
        await putRule(bench, FAILED, ['hook']);
        await failRun(bench);
        await round(bench);
        assert.equal(await bench.runtime.alerts.deleteDestination({ ...OF, name: 'hook' }), 'in-use');
        assert.equal(await bench.runtime.alerts.deleteRule({ ...OF, name: 'r' }), null);
        assert.deepEqual(await bench.store.alerts.listOpen(OF), []);
        assert.equal(await bench.runtime.alerts.deleteDestination({ ...OF, name: 'hook' }), null);
        assert.equal(sender.sent.length, 1);
      },
      { sender },
    );
  });

  for (const [event, recover] of [
    ['within an hour', async ({ clock }: Bench) => clock.move(3_600_000)],
    ['after a restart', (bench: Bench) => bench.restart()],
  ] as const)
    test(`the alerts of the last rule end ${event} if the store failed when the rule was deleted`, async () => {
      let isFailing = false;
      const wrap = (store: Store): Store => ({
        ...store,
        alerts: {
          ...store.alerts,
          record: (query) => (isFailing ? Promise.reject(new Error('no space')) : store.alerts.record(query)),
        },
      });
      await withRuntime(
        failing(),
        async (bench) => {
          await putRule(bench, FAILED, []);
          await failRun(bench);
          await round(bench);
          isFailing = true;
          await assert.rejects(bench.runtime.alerts.deleteRule({ ...OF, name: 'r' }), /no space/);
          isFailing = false;
          await round(bench);
          assert.equal((await bench.store.alerts.listOpen(OF)).length, 1);
          await recover(bench);
          await round(bench);
          assert.deepEqual(await bench.store.alerts.listOpen(OF), []);
        },
        { wrap },
      );
    });
});

describe('rules that check the current state', () => {
  const subjects = async (bench: Bench) => (await bench.store.alerts.listOpen(OF)).map(({ subject }) => subject);

  test('a failure rate opens an alert and ends it when the window has passed', async () => {
    const sender = accepted();
    await withRuntime(
      failing(),
      async (bench) => {
        await putRule(bench, { kind: 'failure-rate', percent: 50, windowMs: 300_000, minRuns: 3 }, ['hook']);
        for (let n = 0; n < 2; n++) await failRun(bench);
        await round(bench);
        assert.deepEqual(await subjects(bench), []);
        await failRun(bench);
        await round(bench);
        await round(bench);
        assert.deepEqual(await subjects(bench), ['all workflows']);
        bench.clock.move(360_000);
        await round(bench);
        assert.deepEqual(await subjects(bench), []);
        assert.deepEqual(
          sender.sent.map((sent) => bodyOf(sent).type),
          ['alert.opened', 'alert.ended'],
        );
      },
      { sender },
    );
  });

  test('old runs and missing workers open alerts', async () => {
    await withRuntime(
      failing(),
      async (bench) => {
        const rule = async (name: string, condition: AlertCondition) =>
          bench.runtime.alerts.putRule({ ...OF, rule: { name, isEnabled: true, condition, destinations: [] } });
        await rule('old', { kind: 'run-age', maxAgeMs: 3_600_000 });
        await rule('late', { kind: 'schedule-missed', forMs: 60_000 });
        await rule('money', { kind: 'budget', percent: 80 });
        await rule('key', { kind: 'pending-age', flowControlKey: 'k', maxAgeMs: 60_000 });
        await rule('queue', { kind: 'pending-age', queue: 'q', maxAgeMs: 60_000 });
        await rule('worker', { kind: 'no-worker', workflowUrl: 'worker://shop/order', forMs: 60_000 });
        // The run waits for a worker.
        await bench.trigger({ workflowUrl: 'worker://shop/order' });
        await round(bench);
        assert.deepEqual(await subjects(bench), ['worker://shop/order']);
        bench.clock.move(3_600_000);
        await round(bench);
        assert.deepEqual((await subjects(bench)).toSorted(), ['all workflows', 'worker://shop/order']);
      },
      { sender: accepted() },
    );
  });

  test('notices wait until the quiet hours end, and an alert that ends before then sends none', async () => {
    const sender = accepted();
    await withRuntime(
      failing(),
      async (bench) => {
        await bench.runtime.alerts.putDestination(HOOK);
        const now = new Date(bench.clock.now());
        const hour = (more: number) => `${String((now.getUTCHours() + more) % 24).padStart(2, '0')}:00`;
        const quietHours = { from: hour(0), to: hour(2), timeZone: 'UTC' };
        const rule = { name: 'r', isEnabled: true, destinations: ['hook'], quietHours };
        await bench.runtime.alerts.putRule({ ...OF, rule: { ...rule, condition: FAILED } });
        await bench.runtime.alerts.putRule({ ...OF, rule: { ...rule, name: 'new', condition: { kind: 'error-group' } } });
        await failRun(bench);
        await round(bench);
        bench.clock.move(900_000);
        await round(bench);
        assert.equal(sender.sent.length, 0);
        bench.clock.move(7_200_000);
        await round(bench);
        await round(bench);
        assert.deepEqual(
          sender.sent.map((sent) => [bodyOf(sent).type, bodyOf(sent).alert.rule]),
          [['alert.opened', 'new']],
        );
      },
      { sender },
    );
  });
});
