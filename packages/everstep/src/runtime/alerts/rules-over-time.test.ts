/**
 * Alert rules that check the current state, from the cause to the notices. An alert opens once, even if the process is
 * restarted, and ends once. The time is simulated.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import type { AlertCondition } from '../../engine/alerts/alert-settings.js';
import type { Store } from '../../ports/stores/store.js';
import { NO_WORKERS } from '../../ports/workers.js';
import { commandFor } from '../messages/plain-messages.fixture.js';
import { type Bench, progress, ScriptedCaller, ScriptedSender, SETTINGS, settle, withRuntime } from '../runtime.fixture.js';
import { command, HOUR_MS, MINUTE_MS, putSchedule } from '../services/schedules.fixture.js';

const OF = { instanceId: 'qi_1' };
const HOOK = 'http://ops/hook';

/** What the test controls. */
class Harness {
  readonly bench: Bench;
  private readonly sender: ScriptedSender;

  constructor(bench: Bench, sender: ScriptedSender) {
    this.bench = bench;
    this.sender = sender;
  }

  /** Types of the notices so far, oldest first. */
  get notices(): readonly string[] {
    const bodies = this.sender.sent.filter(({ url }) => url === HOOK).map(({ body }) => Buffer.from(body ?? []).toString());
    return bodies.map((body) => JSON.parse(body).type.replace('alert.', ''));
  }

  async watch(condition: AlertCondition): Promise<void> {
    const { alerts } = this.bench.runtime;
    await alerts.putDestination({ ...OF, name: 'hook', kind: 'webhook', url: HOOK, rotateSecret: false });
    await alerts.putRule({ ...OF, rule: { name: 'r', isEnabled: true, condition, destinations: ['hook'] } });
  }

  /** Advances the clock, with rounds of the rules. */
  async pass(ms: number): Promise<void> {
    const every = LIMITS.alertRoundEveryMs;
    for (let left = ms; left > 0; left -= every) {
      await settle();
      this.bench.clock.move(Math.min(left, every));
      await this.bench.runtime.idle();
    }
    await settle();
  }

  /** Restarts the process. Nothing is sent again. */
  async restart(): Promise<void> {
    const { notices } = this;
    await this.bench.restart();
    await this.pass(MINUTE_MS / 2);
    assert.deepEqual(this.notices, notices);
  }
}

interface Simulated {
  /** Returns the time since which no worker has served the workflow; null if one serves it. */
  missingSince: () => number | null;
  /** Whether runs fail. */
  isBroken: boolean;
  /** Whether schedules fail to start their runs. */
  isStuck: boolean;
  /** Whether the store does not record that a notice was sent. */
  isForgetful: boolean;
}

async function withHarness(work: (harness: Harness, simulated: Simulated) => Promise<void>): Promise<void> {
  const simulated: Simulated = { missingSince: () => null, isBroken: false, isStuck: false, isForgetful: false };
  const caller = new ScriptedCaller(({ request }) =>
    simulated.isBroken
      ? {
          ...{ protocol: 1, kind: 'failed', base: request.journal.length, done: [] },
          ...{ error: { name: 'Error', message: 'card declined' }, retry: { kind: 'never' } },
        }
      : progress(request, { end: { kind: 'finished', result: '1' } }),
  );
  const sender = new ScriptedSender(() => ({ kind: 'response', status: 200, headers: {}, body: new Uint8Array() }));
  const wrap = (store: Store): Store => ({
    ...store,
    alerts: {
      ...store.alerts,
      moveNotice: async (query) => {
        if (simulated.isForgetful) throw new Error('the process ends');
        await store.alerts.moveNotice(query);
      },
    },
    // The rules read the schedules of one instance.
    dueSchedules: async (query) => (simulated.isStuck && query.instanceId === undefined ? [] : await store.dueSchedules(query)),
  });
  const workers = { ...NO_WORKERS, missingSince: () => simulated.missingSince() };
  await withRuntime(caller, (bench) => work(new Harness(bench, sender), simulated), { sender, wrap, workers });
}

test('a failure rate over a window opens an alert once, and ends it when runs succeed again', () =>
  withHarness(async (harness, simulated) => {
    await harness.watch({ kind: 'failure-rate', percent: 50, windowMs: 5 * MINUTE_MS, minRuns: 4 });
    simulated.isBroken = true;
    for (let n = 0; n < 3; n++) await harness.bench.trigger();
    await harness.pass(MINUTE_MS);
    assert.deepEqual(harness.notices, [], 'there are too few runs');
    await harness.bench.trigger();
    await harness.pass(MINUTE_MS);
    assert.deepEqual(harness.notices, ['opened']);
    await harness.restart();
    simulated.isBroken = false;
    for (let n = 0; n < 5; n++) await harness.bench.trigger();
    await harness.pass(MINUTE_MS);
    assert.deepEqual(harness.notices, ['opened', 'ended'], '4 of 9 failed');
    await harness.restart();
    await harness.pass(10 * MINUTE_MS);
    simulated.isBroken = true;
    for (let n = 0; n < 4; n++) await harness.bench.trigger();
    await harness.pass(MINUTE_MS);
    assert.deepEqual(harness.notices, ['opened', 'ended', 'opened'], 'this is another alert');
    await harness.pass(7 * MINUTE_MS);
    assert.deepEqual(harness.notices.slice(3), ['ended'], 'the window has passed');
  }));

test('the oldest message of a queue opens an alert when it is too old; the alert ends when the message is sent', () =>
  withHarness(async (harness) => {
    await harness.watch({ kind: 'pending-age', queue: 'q', maxAgeMs: 10 * MINUTE_MS });
    const queue = (isPaused: boolean) => harness.bench.runtime.queues.put({ ...OF, name: 'q', parallelism: 1, paused: isPaused });
    await queue(true);
    await harness.bench.runtime.messages.publish([commandFor('late', { queue: 'q' })]);
    await harness.pass(9 * MINUTE_MS);
    assert.deepEqual(harness.notices, []);
    await harness.pass(2 * MINUTE_MS);
    assert.deepEqual(harness.notices, ['opened']);
    await harness.restart();
    await harness.pass(10 * MINUTE_MS);
    assert.deepEqual(harness.notices, ['opened']);
    await queue(false);
    await harness.pass(MINUTE_MS);
    assert.deepEqual(harness.notices, ['opened', 'ended']);
    await harness.restart();
  }));

test('the oldest delivery of a flow control key opens an alert when it is too old; the alert ends when it is sent', () =>
  withHarness(async (harness) => {
    await harness.watch({ kind: 'pending-age', flowControlKey: 'k', maxAgeMs: 10 * MINUTE_MS });
    const settings = { ...SETTINGS, flowControl: { key: 'k', parallelism: 1 } };
    const change = (kind: 'pause' | 'resume') => harness.bench.runtime.flowControl.change({ ...OF, key: 'k', change: { kind } });
    await harness.bench.trigger({ settings });
    await settle();
    await change('pause');
    await harness.bench.trigger({ settings });
    await harness.pass(9 * MINUTE_MS);
    assert.deepEqual(harness.notices, []);
    await harness.pass(2 * MINUTE_MS);
    assert.deepEqual(harness.notices, ['opened']);
    await harness.restart();
    await change('resume');
    await harness.pass(MINUTE_MS);
    assert.deepEqual(harness.notices, ['opened', 'ended']);
    await harness.restart();
  }));

test('a run that is active for too long opens an alert, which ends with the run', () =>
  withHarness(async (harness) => {
    await harness.watch({ kind: 'run-age', maxAgeMs: HOUR_MS });
    await harness.bench.trigger({ notBefore: harness.bench.clock.now() + 3 * HOUR_MS });
    await harness.pass(HOUR_MS - MINUTE_MS);
    assert.deepEqual(harness.notices, []);
    await harness.pass(2 * MINUTE_MS);
    assert.deepEqual(harness.notices, ['opened']);
    await harness.restart();
    await harness.pass(HOUR_MS);
    assert.deepEqual(harness.notices, ['opened']);
    await harness.pass(HOUR_MS);
    assert.deepEqual(harness.notices, ['opened', 'ended']);
    await harness.restart();
  }));

test('a late schedule opens an alert, which ends when the schedule has ticked', () =>
  withHarness(async (harness, simulated) => {
    await harness.watch({ kind: 'schedule-missed', forMs: 5 * MINUTE_MS });
    await putSchedule(harness.bench.runtime, command());
    simulated.isStuck = true;
    await harness.pass(HOUR_MS + 4 * MINUTE_MS);
    assert.deepEqual(harness.notices, []);
    await harness.pass(2 * MINUTE_MS);
    assert.deepEqual(harness.notices, ['opened']);
    await harness.restart();
    simulated.isStuck = false;
    await harness.bench.restart();
    await harness.pass(MINUTE_MS);
    assert.deepEqual(harness.notices, ['opened', 'ended']);
    await harness.restart();
  }));

test('a missing worker opens an alert, which stays open after a restart and ends when a worker connects', () =>
  withHarness(async (harness, simulated) => {
    const { clock } = harness.bench;
    await harness.watch({ kind: 'no-worker', workflowUrl: 'worker://shop/order', forMs: 5 * MINUTE_MS });
    const lostAt = clock.now();
    simulated.missingSince = () => lostAt;
    await harness.pass(4 * MINUTE_MS);
    assert.deepEqual(harness.notices, []);
    await harness.pass(2 * MINUTE_MS);
    assert.deepEqual(harness.notices, ['opened']);
    // The new process, or another node, knows only the time since its own start.
    const startedAt = clock.now();
    simulated.missingSince = () => startedAt;
    await harness.restart();
    await harness.pass(10 * MINUTE_MS);
    assert.deepEqual(harness.notices, ['opened']);
    simulated.missingSince = () => null;
    await harness.pass(MINUTE_MS);
    assert.deepEqual(harness.notices, ['opened', 'ended']);
    await harness.restart();
  }));

test('a notice that was sent before a crash is not sent again', () =>
  withHarness(async (harness, simulated) => {
    await harness.watch({ kind: 'run-age', maxAgeMs: HOUR_MS });
    await harness.bench.trigger({ notBefore: harness.bench.clock.now() + 3 * HOUR_MS });
    simulated.isForgetful = true;
    await harness.pass(HOUR_MS + MINUTE_MS);
    assert.deepEqual(harness.notices, ['opened']);
    await harness.restart();
    simulated.isForgetful = false;
    await harness.restart();
    await harness.pass(2 * HOUR_MS);
    assert.deepEqual(harness.notices, ['opened', 'ended']);
  }));
