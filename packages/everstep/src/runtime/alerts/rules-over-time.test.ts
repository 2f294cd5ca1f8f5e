/**
 * Alert rules that check the current state, from the cause to the notices. An alert opens once, even if the process is
 * restarted, and ends once. The time is simulated.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../config/limits.js';
import type { AlertCondition } from '../../engine/alerts/alert-settings.js';
import type { Store } from '../../ports/stores/store.js';
import { commandFor } from '../messages/plain-messages.fixture.js';
import { type Bench, progress, ScriptedCaller, ScriptedSender, SETTINGS, settle, withRuntime } from '../runtime.fixture.js';
import { command, HOUR_MS, MINUTE_MS, scheduled } from '../services/schedules.fixture.js';

const OF = { instanceId: 'qi_1' };
const HOOK = 'http://ops/hook';

/** What the test controls. */
class World {
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
  /** Whether runs fail. */
  isBroken: boolean;
  /** Whether schedules fail to start their runs. */
  isStuck: boolean;
  /** Whether the store does not record that a notice was sent. */
  isForgetful: boolean;
}

async function withWorld(work: (world: World, simulated: Simulated) => Promise<void>): Promise<void> {
  const simulated: Simulated = { isBroken: false, isStuck: false, isForgetful: false };
  const caller = new ScriptedCaller(({ request }) =>
    simulated.isBroken
      ? {
          ...{ protocol: 1, kind: 'failed', base: request.journal.length, done: [] },
          ...{ error: { name: 'Error', message: 'card declined' }, retry: { kind: 'never' } },
        }
      : progress(request, { end: { kind: 'finished', result: '1' } }),
  );
  const sender = new ScriptedSender(() => ({ kind: 'answered', status: 200, headers: {}, body: new Uint8Array() }));
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
  await withRuntime(caller, (bench) => work(new World(bench, sender), simulated), { sender, wrap });
}

test('a failure rate over a window opens an alert once, and ends it when runs succeed again', () =>
  withWorld(async (world, simulated) => {
    await world.watch({ kind: 'failure-rate', percent: 50, windowMs: 5 * MINUTE_MS, minRuns: 4 });
    simulated.isBroken = true;
    for (let n = 0; n < 3; n++) await world.bench.trigger();
    await world.pass(MINUTE_MS);
    assert.deepEqual(world.notices, [], 'there are too few runs');
    await world.bench.trigger();
    await world.pass(MINUTE_MS);
    assert.deepEqual(world.notices, ['opened']);
    await world.restart();
    simulated.isBroken = false;
    for (let n = 0; n < 5; n++) await world.bench.trigger();
    await world.pass(MINUTE_MS);
    assert.deepEqual(world.notices, ['opened', 'ended'], '4 of 9 failed');
    await world.restart();
    await world.pass(10 * MINUTE_MS);
    simulated.isBroken = true;
    for (let n = 0; n < 4; n++) await world.bench.trigger();
    await world.pass(MINUTE_MS);
    assert.deepEqual(world.notices, ['opened', 'ended', 'opened'], 'this is another alert');
    await world.pass(7 * MINUTE_MS);
    assert.deepEqual(world.notices.slice(3), ['ended'], 'the window has passed');
  }));

test('the oldest message of a queue opens an alert when it is too old; the alert ends when the message is sent', () =>
  withWorld(async (world) => {
    await world.watch({ kind: 'pending-age', queue: 'q', maxAgeMs: 10 * MINUTE_MS });
    const queue = (isPaused: boolean) => world.bench.runtime.queues.put({ ...OF, name: 'q', parallelism: 1, paused: isPaused });
    await queue(true);
    await world.bench.runtime.messages.publish([commandFor('late', { queue: 'q' })]);
    await world.pass(9 * MINUTE_MS);
    assert.deepEqual(world.notices, []);
    await world.pass(2 * MINUTE_MS);
    assert.deepEqual(world.notices, ['opened']);
    await world.restart();
    await world.pass(10 * MINUTE_MS);
    assert.deepEqual(world.notices, ['opened']);
    await queue(false);
    await world.pass(MINUTE_MS);
    assert.deepEqual(world.notices, ['opened', 'ended']);
    await world.restart();
  }));

test('the oldest delivery of a flow control key opens an alert when it is too old; the alert ends when it is sent', () =>
  withWorld(async (world) => {
    await world.watch({ kind: 'pending-age', flowControlKey: 'k', maxAgeMs: 10 * MINUTE_MS });
    const settings = { ...SETTINGS, flowControl: { key: 'k', parallelism: 1 } };
    const change = (kind: 'pause' | 'resume') => world.bench.runtime.flowControl.change({ ...OF, key: 'k', change: { kind } });
    await world.bench.trigger({ settings });
    await settle();
    await change('pause');
    await world.bench.trigger({ settings });
    await world.pass(9 * MINUTE_MS);
    assert.deepEqual(world.notices, []);
    await world.pass(2 * MINUTE_MS);
    assert.deepEqual(world.notices, ['opened']);
    await world.restart();
    await change('resume');
    await world.pass(MINUTE_MS);
    assert.deepEqual(world.notices, ['opened', 'ended']);
    await world.restart();
  }));

test('a run that is active for too long opens an alert, which ends with the run', () =>
  withWorld(async (world) => {
    await world.watch({ kind: 'run-age', maxAgeMs: HOUR_MS });
    await world.bench.trigger({ notBefore: world.bench.clock.now() + 3 * HOUR_MS });
    await world.pass(HOUR_MS - MINUTE_MS);
    assert.deepEqual(world.notices, []);
    await world.pass(2 * MINUTE_MS);
    assert.deepEqual(world.notices, ['opened']);
    await world.restart();
    await world.pass(HOUR_MS);
    assert.deepEqual(world.notices, ['opened']);
    await world.pass(HOUR_MS);
    assert.deepEqual(world.notices, ['opened', 'ended']);
    await world.restart();
  }));

test('a late schedule opens an alert, which ends when the schedule has ticked', () =>
  withWorld(async (world, simulated) => {
    await world.watch({ kind: 'schedule-missed', forMs: 5 * MINUTE_MS });
    await scheduled(world.bench.runtime, command());
    simulated.isStuck = true;
    await world.pass(HOUR_MS + 4 * MINUTE_MS);
    assert.deepEqual(world.notices, []);
    await world.pass(2 * MINUTE_MS);
    assert.deepEqual(world.notices, ['opened']);
    await world.restart();
    simulated.isStuck = false;
    await world.bench.restart();
    await world.pass(MINUTE_MS);
    assert.deepEqual(world.notices, ['opened', 'ended']);
    await world.restart();
  }));

test('a notice that was sent before a crash is not sent again', () =>
  withWorld(async (world, simulated) => {
    await world.watch({ kind: 'run-age', maxAgeMs: HOUR_MS });
    await world.bench.trigger({ notBefore: world.bench.clock.now() + 3 * HOUR_MS });
    simulated.isForgetful = true;
    await world.pass(HOUR_MS + MINUTE_MS);
    assert.deepEqual(world.notices, ['opened']);
    await world.restart();
    simulated.isForgetful = false;
    await world.restart();
    await world.pass(2 * HOUR_MS);
    assert.deepEqual(world.notices, ['opened', 'ended']);
  }));
