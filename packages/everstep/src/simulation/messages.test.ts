/**
 * Plain messages in a queue, in simulated time. The network loses requests and responses, the store rejects commits
 * and loses their responses, and the server is killed repeatedly. `SIMULATION_SEED=17` replays a seed.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeededRandom } from '../clock/testing/seeded-random.js';
import { SimulatedClock } from '../clock/testing/simulated-clock.js';
import type { RunSettings } from '../engine/runs/run.js';
import type { Message, MessageOutcome, MessageSender } from '../ports/message-sender.js';
import type { StepCaller } from '../ports/step-caller.js';
import type { RunRecord, Store } from '../ports/stores/store.js';
import { createRuntime, type Runtime } from '../runtime/runtime.js';
import { fullHistory } from '../stores/conformance/samples.js';
import { openSqliteStore } from '../stores/sqlite/index.js';
import { faultyStore } from './faulty-store.js';
import { violationsIn } from './simulate.js';

const INSTANCE = 'qi_simulated';
const MESSAGES = 8;
const SETTINGS: RunSettings = {
  maxRetries: 100,
  retryDelay: '1000',
  deliveryTimeoutMs: 60_000,
  labels: [],
  flowControl: null,
  failureCallback: null,
};
const FAULTS = { store: { rejectChance: 0.05, loseReply: 0.05 }, lose: 0.15, refuseMessage: 0.2, crash: 0.02 };

const noSteps: StepCaller = {
  call: () => {
    throw new Error('no step is expected');
  },
  close: async () => {},
};

const failure = (message: string): MessageOutcome => ({
  kind: 'failure',
  failure: {
    cause: 'network',
    message,
    status: null,
    responseHeaders: {},
    responseBody: new Uint8Array(),
    retry: { kind: 'backoff' },
  },
});

class Harness {
  private readonly store: Store;
  private readonly random: SeededRandom;
  private readonly clock = new SimulatedClock(1_800_000_000_000);
  private life: { dead: boolean; readonly runtime: Runtime };
  private faulty = true;
  /** Messages that were sent before their turn, one sentence each. */
  private readonly overtaken: string[] = [];

  constructor(store: Store, seed: number) {
    this.store = store;
    this.random = new SeededRandom(seed);
    this.life = this.begin();
  }

  private begin(): Harness['life'] {
    const { clock, random } = this;
    const life: { dead: boolean; runtime: Runtime | null } = { dead: false, runtime: null };
    const sender: MessageSender = {
      send: (message, _signal, onSent) => {
        onSent?.();
        return this.deliver(message, () => life.dead);
      },
    };
    const store = faultyStore(
      this.store,
      random,
      this.faulty ? FAULTS.store : { rejectChance: 0, loseReply: 0 },
      () => life.dead,
    );
    const runtime = createRuntime({
      store,
      clock,
      upkeepClock: { now: () => clock.now(), setTimer: () => () => {}, endOfTurn: (fire) => clock.endOfTurn(fire) },
      random,
      stepCaller: noSteps,
      messageSender: sender,
      log: { debug() {}, info() {}, warn() {}, error() {} },
      publicUrl: () => 'http://everstep',
    });
    void runtime.start();
    return Object.assign(life, { runtime });
  }

  /** Receives a message of the queue, and checks that all earlier messages have ended. */
  private async deliver({ url, serviceHeaders }: Message, isDead: () => boolean): Promise<MessageOutcome> {
    const { random, clock } = this;
    const lose = this.faulty && random.chance(FAULTS.lose);
    await clock.wait(random.below(50));
    if (lose && random.chance(0.5)) return failure('the connection was refused');
    if (url === 'http://app/queue' && !isDead()) await this.checkTurn(serviceHeaders?.['Message-Id'] ?? '');
    await clock.wait(random.below(2000));
    if (lose) return failure('the connection was closed before the response');
    const status = this.faulty && random.chance(FAULTS.refuseMessage) ? 503 : 200;
    return { kind: 'response', status, headers: {}, body: new Uint8Array() };
  }

  private async checkTurn(messageId: string): Promise<void> {
    const runs = await this.list();
    const before = runs.slice(
      0,
      runs.findIndex(({ workflowRunId }) => workflowRunId === messageId),
    );
    const open = before.filter(({ settings, status }) => settings.message?.queue === 'q' && status === 'active');
    if (open.length > 0)
      this.overtaken.push(`${messageId} overtook ${open.map(({ workflowRunId }) => workflowRunId).join(', ')}`);
  }

  async run(until: () => Promise<boolean>): Promise<void> {
    for (let moves = 0; moves < 100_000; moves++) {
      for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
      if (this.clock.runTurn()) continue;
      if (await until()) return;
      if (this.faulty && this.random.chance(FAULTS.crash)) {
        this.life.dead = true;
        this.life = this.begin();
      } else assert.ok(this.clock.advance(), 'no event is pending, but the simulation is not done');
    }
    assert.fail('the simulation does not come to rest');
  }

  /** Publishes a message until it is acknowledged. The deduplication id prevents a second message. */
  async publish(n: number): Promise<void> {
    let acknowledged = false;
    const attempt = (): void => {
      if (acknowledged) return;
      this.clock.setTimer(this.clock.now() + 5000, attempt);
      const command = {
        instanceId: INSTANCE,
        dialect: 'upstash',
        destination: { kind: 'url', url: 'http://app/queue' },
        payload: { body: Buffer.from(String(n)), contentType: null, forwardHeaders: {} },
        settings: SETTINGS,
        method: 'POST',
        callback: { url: 'http://app/callback', headers: {}, maxRetries: 100, retryDelay: '1000' },
        queue: 'q',
        notBefore: null,
        deduplicationId: `message-${n}`,
        callerIp: '127.0.0.1',
      } as const;
      this.life.runtime.messages.publish([command]).then(
        () => {
          acknowledged = true;
        },
        () => {},
      );
    };
    attempt();
    await this.run(async () => acknowledged);
  }

  async list(): Promise<readonly RunRecord[]> {
    const filter = { kind: 'message' } as const;
    const page = { instanceId: INSTANCE, filter, order: 'oldest-first', after: null, horizon: null, limit: 1000 } as const;
    return (await this.store.listRuns(page)).items;
  }

  async heal(): Promise<void> {
    this.faulty = false;
    this.life.dead = true;
    this.life = this.begin();
    await this.run(async () => (await this.list()).every(({ status }) => status !== 'active'));
  }

  async check(): Promise<void> {
    const runs = await this.list();
    const inQueue = runs.filter(({ settings }) => settings.message?.queue === 'q');
    assert.deepEqual(this.overtaken, [], 'no message overtook another');
    assert.equal(inQueue.length, MESSAGES);
    for (const run of runs) assert.equal(run.status, 'succeeded', `${run.workflowRunId}: ${run.error}`);
    for (const { key, workflowRunId } of inQueue) {
      const history = await fullHistory(this.store, { runKey: key });
      const answered = history?.attempts.filter(({ status }) => status !== null).length ?? 0;
      const callbacks = runs.filter(({ settings }) => settings.message?.callbackOf === workflowRunId).length;
      assert.equal(callbacks, answered + 1, 'the callback receives each recorded response once');
    }
    const usage = await this.store.accounts.usage({ instanceId: INSTANCE, fromMonth: '0000-01' });
    assert.equal(
      usage.reduce((sum, { messages }) => sum + messages, 0),
      runs.length,
      'each message is counted once',
    );
  }
}

const only = process.env.SIMULATION_SEED;
const count = Number(process.env.SIMULATION_SEEDS ?? 40);
const seeds = only === undefined ? Array.from({ length: count }, (_, i) => i + 1) : [Number(only)];

test('all messages of a queue are delivered in order, and each response is reported once, despite all faults', async () => {
  for (const seed of seeds) {
    const store = await openSqliteStore({ file: ':memory:' });
    try {
      const harness = new Harness(store, seed);
      for (let n = 0; n < MESSAGES; n++) await harness.publish(n);
      await harness.heal();
      await harness.check();
      assert.deepEqual(violationsIn(store), []);
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    } finally {
      await store.close();
    }
  }
});
