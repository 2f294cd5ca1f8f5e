/**
 * A simulation in simulated time. It contains clients, the server in one life after another, a failing store, a network
 * that loses and repeats requests, and an app that restarts. Everything that happens follows from the seed.
 */
import assert from 'node:assert/strict';
import type { EventContent, InvokeOutcome } from '@everstep/sdk/protocol';
import { SeededRandom } from '../clock/testing/seeded-random.js';
import { SimulatedClock } from '../clock/testing/simulated-clock.js';
import { PART_LIMITS } from '../config/limits.js';
import type { RecordedStep, RunSettings } from '../engine/runs/run.js';
import { withFullResult } from '../ports/stores/history-parts.js';
import type { DeadLetterRecord, FullRunRecord, RunRecord, Store } from '../ports/stores/store.js';
import { ConnectedApp } from './connections/connected-app.js';
import { type ConnectionFaults, FrameNetwork, NO_CONNECTION_FAULTS } from './connections/cut-connection.js';
import { checkCounters } from './counter-check.js';
import { DeliveryLedger } from './delivery-ledger.js';
import { type App, FaultyCaller, type NetworkFaults, type RunningApp } from './faulty-caller.js';
import type { StoreFaults } from './faulty-store.js';
import { MessageLedger } from './message-ledger.js';
import { type NodeFaults, SharedStore, SimulatedNode, type SimulatedNodeOptions } from './simulated-nodes.js';
import { type SimulatedServer, startSimulatedServer } from './simulated-server.js';
import { approvalEvent, expectedResult, LETTER_EVENT } from './workflows.js';

const START_MS = 1_800_000_000_000;
const INSTANCE = 'qi_simulated';
const SETTINGS: RunSettings = {
  maxRetries: 3,
  retryDelay: '1000 * pow(2, retried)',
  deliveryTimeoutMs: 60_000,
  labels: [],
  flowControl: null,
  failureCallback: null,
};

/** Faults of a simulation. */
export interface SimulationFaults {
  readonly network: NetworkFaults;
  readonly store: StoreFaults;
  /** Probability that the server is killed, each time the clock advances. */
  readonly crash: number;
  /** Faults of several nodes that share the store. Absent if there is one process. */
  readonly nodes?: NodeFaults;
  /** Faults of connections, if the workers connect to the server. Absent if the server calls the app over HTTP. */
  readonly connections?: ConnectionFaults;
  /** True if none of the faults can cause an attempt to be delivered twice. */
  readonly deliversAttemptsOnce?: true;
}

const UNRELATED_EVENTS = 60;

export const NO_FAULTS: SimulationFaults = {
  network: { loseRequest: 0, loseResponse: 0, duplicate: 0, garbage: 0, restartApp: 0, maxDelayMs: 20 },
  store: { rejectChance: 0, loseReply: 0 },
  crash: 0,
};

type SharedByNodes = Pick<SimulatedNodeOptions, 'shared' | 'claims' | 'faults'> & { readonly app: RunningApp };

interface Order {
  readonly id: string;
  readonly workflow: string;
  readonly seed: number;
  attempts: number;
  isAcknowledged: boolean;
}

const numberEvent = (value: number): EventContent => ({
  kind: 'data',
  body: { encoding: 'utf8', data: String(value) },
  contentType: 'application/json',
});

/** Returns the result of the workflow. The app also returns what its code has seen. */
const resultOf = (run: FullRunRecord | undefined): unknown => JSON.parse(run?.result ?? 'null')?.result;

/** Returns the problems in the history of a run, one sentence each. */
export type HistoryCheck = (run: FullRunRecord, steps: readonly RecordedStep[]) => readonly string[];

export class Simulation {
  readonly clock = new SimulatedClock(START_MS);
  readonly random: SeededRandom;
  crashCount = 0;
  /** Number of periods in which the store rejected all writes. */
  outageCount = 0;
  readonly deliveries = new DeliveryLedger();
  /** Number of reported notifications of a waiting run, by run key. */
  private readonly notificationCounts = new Map<string, number>();
  /** Number of notifications whose outcome no client received. */
  private lostOutcomeCount = 0;
  /** Number of dead letters that were recovered. */
  recoveryCount = 0;
  forkCount = 0;
  private faults: SimulationFaults;
  private readonly store: Store;
  private readonly messageLedger = new MessageLedger();
  private readonly startApp: () => App;
  private readonly orders: Order[] = [];
  private readonly servers: SimulatedServer[];
  private callers: FaultyCaller[] = [];
  private nodeCount = 0;
  private readonly shared: SharedByNodes | null;
  /** URL of the workflows without their names. */
  private readonly baseUrl: string;
  private readonly network: FrameNetwork | null;
  private readonly connectedApp: ConnectedApp | null;

  constructor(seed: number, faults: SimulationFaults, store: Store, startApp: (store: Store, baseUrl: string) => App) {
    this.random = new SeededRandom(seed);
    this.faults = faults;
    this.baseUrl = faults.connections ? 'worker://app/' : 'http://app/';
    this.network = faults.connections ? new FrameNetwork(this.clock, this.random, faults.connections) : null;
    this.startApp = () => startApp(store, this.baseUrl);
    this.shared = faults.nodes
      ? { shared: new SharedStore(store), claims: new Map(), faults: faults.nodes, app: { current: this.startApp() } }
      : null;
    this.store = this.messageLedger.watch(this.shared?.shared.store ?? store);
    this.servers = Array.from({ length: faults.nodes?.count ?? 1 }, () => this.startSimulatedServer());
    this.connectedApp = this.network && this.connect(this.network);
  }

  /** Number of connections that were cut. */
  get cuts(): number {
    return this.network?.cutCount ?? 0;
  }
  /** Number of messages between workers and the server. */
  get messages(): number {
    return this.network?.messageCount ?? 0;
  }

  private connect(network: FrameNetwork): ConnectedApp {
    const startApp = () => this.startApp().workflows;
    return new ConnectedApp({ app: 'app', network, startApp, currentListener: () => this.server.listener ?? assert.fail() });
  }

  /** The process that a client connects to. */
  private get server(): SimulatedServer {
    return this.servers[this.shared ? this.random.below(this.servers.length) : 0] ?? assert.fail();
  }

  private startSimulatedServer(): SimulatedServer {
    const { clock, random, shared, faults, store } = this;
    // Requests that were already sent reach the app anyway.
    const caller = new FaultyCaller(clock, random, faults.network, this.startApp, shared?.app);
    this.callers.push(caller);
    return startSimulatedServer({
      ...{ instanceId: INSTANCE, clock, random, store, caller, faults: faults.store, deliveries: this.deliveries },
      nodeOf: (isDead) => shared && new SimulatedNode({ ...shared, nodeId: `n_${++this.nodeCount}`, clock, random, isDead }),
      onOutage: () => this.outageCount++,
      acceptsWorkers: this.network !== null,
    });
  }

  private crash(): void {
    const index = this.shared ? this.random.below(this.servers.length) : 0;
    this.replace(index);
    this.crashCount++;
  }

  private replace(index: number): void {
    const server = this.servers[index] ?? assert.fail();
    server.kill();
    this.servers[index] = this.startSimulatedServer();
  }

  /** Runs everything that can run now, and then advances the clock, until `isDone` holds. */
  async run(isDone: () => Promise<boolean>, maxMoves = 200_000): Promise<void> {
    for (let moves = 0; moves < maxMoves; moves++) {
      for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
      if (this.clock.runTurn()) continue;
      if (this.callers.some((caller) => caller.busyCount > 0) || (this.connectedApp?.busyCount ?? 0) > 0) continue;
      if (await isDone()) return;
      if (this.random.chance(this.faults.crash)) this.crash();
      else assert.ok(this.clock.advance(), 'no event is pending, but the simulation is not done');
    }
    assert.fail('the simulation does not come to rest');
  }

  /** Simulates a client that triggers a run and retries with the same id until it receives a response. */
  order(workflow: string, afterMs: number): void {
    const order: Order = {
      id: `order-${this.orders.length}`,
      workflow,
      seed: this.random.below(1_000_000),
      attempts: 0,
      isAcknowledged: false,
    };
    this.orders.push(order);
    const attempt = (): void => {
      if (order.isAcknowledged) return;
      order.attempts++;
      this.clock.setTimer(this.clock.now() + 5000, attempt);
      this.server.runtime.runs
        .trigger({
          instanceId: INSTANCE,
          dialect: 'native',
          workflowUrl: `${this.baseUrl}${workflow}`,
          payload: {
            body: new TextEncoder().encode(JSON.stringify({ seed: order.seed })),
            contentType: 'application/json',
            forwardHeaders: {},
          },
          settings: SETTINGS,
          callerIp: '127.0.0.1',
          workflowRunId: order.id,
          notBefore: null,
          deduplicationId: null,
        })
        .then(
          () => {
            order.isAcknowledged = true;
          },
          () => {},
        );
    };
    this.clock.setTimer(this.clock.now() + afterMs, attempt);
    if (workflow === 'approval')
      this.clock.setTimer(this.clock.now() + afterMs + this.random.below(10_000), () => this.approve(order.seed));
    if (workflow === 'disturbed') this.clock.setTimer(this.clock.now() + afterMs, () => this.disturb(order));
    if (workflow === 'letter')
      this.clock.setTimer(this.clock.now() + afterMs + this.random.below(10_000), () => this.sendLetter(order));
  }

  /** Sends the run a series of events, none of which it waits for. */
  private disturb(order: Order, remaining = UNRELATED_EVENTS): void {
    if (remaining === 0) return;
    const content = numberEvent(remaining);
    this.server.runtime.events
      .notify({ instanceId: INSTANCE, eventId: 'no use', workflowRunId: order.id, content })
      .catch(() => {});
    this.clock.setTimer(this.clock.now() + this.random.below(1_000), () => this.disturb(order, remaining - 1));
  }

  /** Notifies an event once, at about the time at which the wait for it ends. */
  private approve(seed: number): void {
    const event = { instanceId: INSTANCE, eventId: approvalEvent(seed), workflowRunId: null, content: numberEvent(seed) };
    this.server.runtime.events.notify(event).then(
      (outcome) => {
        if (outcome.kind !== 'notified') return;
        for (const { waiter } of outcome.notified)
          this.notificationCounts.set(waiter.runKey, (this.notificationCounts.get(waiter.runKey) ?? 0) + 1);
      },
      () => {
        this.lostOutcomeCount++;
      },
    );
  }

  /**
   * Sends an event to a run by id, at growing intervals, until the run has succeeded. A recovered run needs the event
   * again.
   */
  private sendLetter(order: Order, delayMs = 20_000): void {
    const cancel = this.clock.setTimer(this.clock.now() + delayMs, () => this.sendLetter(order, delayMs * 2));
    const { id, seed } = order;
    const send = async (): Promise<void> => {
      const run = await this.currentRun(id);
      if (run?.status === 'succeeded') return cancel();
      const workflowRunId = run?.workflowRunId ?? id;
      const content = numberEvent(seed);
      await this.server.runtime.events.notify({ instanceId: INSTANCE, eventId: LETTER_EVENT, workflowRunId, content });
    };
    // The response may be lost. The event is sent again later.
    send().catch(() => {});
  }

  /** Returns the last run of this order, after all resumes and restarts. */
  private async currentRun(orderId: string): Promise<RunRecord | null> {
    let record = await this.store.findRun({ instanceId: INSTANCE, workflowRunId: orderId });
    while (record?.recoveredAs) record = await this.store.findRun({ runKey: record.recoveredAs.runKey });
    return record;
  }

  /**
   * Checks that each wait ended either with a notification or with a timeout, and that the sender received the
   * correct outcome.
   */
  private async checkWaits(runs: readonly RunRecord[]): Promise<void> {
    for (const run of runs) {
      if (run.origin !== null || run.workflowUrl !== `${this.baseUrl}approval`) continue;
      const steps = await this.store.loadJournal({ runKey: run.key, from: 0 });
      const notificationCount = this.notificationCounts.get(run.key) ?? 0;
      const wait = steps.find(({ type }) => type === 'Wait');
      const hasTimedOut = wait === undefined || JSON.parse(wait.out ?? '{}').timeout;
      assert.ok(notificationCount <= 1, `${run.workflowRunId} was notified ${notificationCount} times`);
      if (hasTimedOut) assert.equal(notificationCount, 0, `${run.workflowRunId} timed out, but was notified`);
      else
        assert.ok(
          notificationCount === 1 || this.lostOutcomeCount > 0 || this.crashCount > 0,
          `${run.workflowRunId} was notified by no client`,
        );
    }
  }

  /** Checks that each invocation created exactly one run, and recorded how that run ended. */
  private async checkInvocations(runs: readonly RunRecord[]): Promise<void> {
    for (const run of runs) {
      const steps = await this.store.loadJournal({ runKey: run.key, from: 0 });
      for (const step of steps.filter(({ type }) => type === 'Invoke')) {
        const outcome: InvokeOutcome = JSON.parse(step.out ?? '{}');
        const invokedRuns = runs.filter(({ workflowRunId }) => workflowRunId === outcome.workflowRunId);
        assert.deepEqual(
          invokedRuns.map(({ status }) => status),
          [outcome.state],
          `${step.name} of ${run.workflowRunId} created one run, and recorded how it ended`,
        );
      }
    }
  }

  private async hasActiveRuns(): Promise<boolean> {
    const activeOnly = { filter: { statuses: ['active'] }, order: 'oldest-first', after: null, horizon: null, limit: 1 } as const;
    return (await this.store.listRuns({ instanceId: INSTANCE, ...activeOnly })).items.length > 0;
  }

  private async runs(): Promise<readonly FullRunRecord[]> {
    const records: FullRunRecord[] = [];
    let after: string | null = null;
    do {
      const page = await this.store.listRuns({
        instanceId: INSTANCE,
        filter: {},
        order: 'oldest-first',
        after,
        horizon: null,
        limit: 100,
      });
      for (const run of page.items) records.push((await withFullResult(this.store, run)) ?? assert.fail());
      after = page.next;
    } while (after !== null);
    return records;
  }

  private async deadLetters(): Promise<readonly DeadLetterRecord[]> {
    const page = await this.store.listDeadLetters({
      instanceId: INSTANCE,
      filter: {},
      order: 'oldest-first',
      after: null,
      horizon: null,
      limit: 100,
    });
    return page.items;
  }

  /** Returns whether every order is acknowledged and no run is active. */
  async isAtRest(): Promise<boolean> {
    if (this.orders.some((order) => !order.isAcknowledged)) return false;
    return !(await this.hasActiveRuns());
  }

  /** Stops all faults. Resumes or restarts the runs in the DLQ until it is empty. */
  async heal(): Promise<void> {
    this.faults = NO_FAULTS;
    const { network } = this;
    if (network) network.faults = { ...NO_CONNECTION_FAULTS, maxConcurrency: network.faults.maxConcurrency };
    this.crashCount++;
    for (const index of this.servers.keys()) this.replace(index);
    await this.run(() => this.isAtRest());
    for (;;) {
      const deadLetters = await this.deadLetters();
      if (deadLetters.length === 0) return;
      for (const deadLetter of deadLetters) {
        const kind = this.random.chance(0.5) ? 'resume' : 'restart';
        const command = { kind, instanceId: INSTANCE, dlqIds: [deadLetter.dlqId], onMissing: 'fail', overrides: {} } as const;
        // Of two concurrent callers, one creates a run and the other finds no entry.
        const outcomes: string[] = [];
        for (let i = 0; i < 2; i++)
          void this.server.runtime.deadLetters.recover(command).then((outcome) => outcomes.push(outcome.kind));
        await this.run(async () => outcomes.length === 2);
        assert.deepEqual(outcomes.sort(), ['missing', 'recovered']);
        this.recoveryCount++;
      }
      await this.run(() => this.isAtRest());
    }
  }

  /** Forks runs, whatever their outcome, each from a random step. Every fork must reach the result of its workflow. */
  async fork(count: number): Promise<void> {
    // Forks receive no events, so the workflow that waits for one by id is excluded.
    const runs = (await this.runs()).filter(({ workflowUrl }) => workflowUrl !== `${this.baseUrl}letter`);
    for (let i = 0; i < count && runs.length > 0; i++) {
      const { key: runKey } = runs[this.random.below(runs.length)] ?? assert.fail();
      const steps = await this.store.loadJournal({ runKey, from: 0 });
      const fromStep = 1 + this.random.below(steps.length + 1);
      const forkOptions = { input: null, results: [], workflowRunId: null, note: null, by: { actor: 'a client', address: '' } };
      // The response may be lost.
      this.server.runtime.runs.fork({ runKey, fromStep, ...forkOptions }).catch(() => {});
    }
    await this.run(() => this.isAtRest());
  }

  private async checkForks(runs: readonly FullRunRecord[]): Promise<void> {
    for (const run of runs) {
      if (run.origin?.kind !== 'fork') continue;
      this.forkCount++;
      const payload = await this.store.loadPayload({ runKey: run.key });
      const { seed } = JSON.parse(Buffer.from(payload?.body ?? []).toString());
      let lastRun: FullRunRecord | undefined = run;
      while (lastRun?.recoveredAs) {
        const key: string = lastRun.recoveredAs.runKey;
        lastRun = runs.find((other) => other.key === key);
      }
      const forkName = `the fork of ${run.origin.workflowRunId} from step ${run.origin.stepId} (${run.workflowUrl})`;
      assert.equal(lastRun?.status, 'succeeded', `${forkName} succeeded: ${lastRun?.error}`);
      const expected = await expectedResult(new URL(run.workflowUrl).pathname.slice(1), { seed });
      assert.deepEqual(resultOf(lastRun), expected, `${forkName} has the correct result`);
    }
  }

  /** Checks that every acknowledged order has a run that succeeded with the correct result, and that each journal is valid. */
  async check(problemsOf: HistoryCheck): Promise<void> {
    const runs = await this.runs();
    for (const run of runs) {
      const history = await this.store.runHistory({ runKey: run.key, bounds: PART_LIMITS, maxOutBytes: 0 });
      assert.ok(history);
      assert.deepEqual(
        history.steps.map((step) => step.index),
        history.steps.map((_, index) => index),
        'journal indexes have no gaps',
      );
      assert.equal(new Set(history.steps.map((step) => step.stepId)).size, history.steps.length, 'each step is recorded once');
      assert.deepEqual(problemsOf(run, history.steps), []);
    }
    this.deliveries.check();
    await checkCounters(this.store, INSTANCE, runs, { from: START_MS, to: this.clock.now() });
    await this.checkWaits(runs);
    await this.checkInvocations(runs);
    await this.checkForks(runs);
    await this.messageLedger.check(this.store, INSTANCE);
    for (const order of this.orders) {
      const ownRuns = runs.filter((run) => run.workflowRunId === order.id);
      // An id is free again after its run has ended. A client that lost the response and retries may start another
      // run.
      assert.ok(ownRuns.length >= 1 && ownRuns.length <= order.attempts, `${order.id} was acknowledged, so it exists`);
      const expected = await expectedResult(order.workflow, { seed: order.seed });
      for (const run of ownRuns) {
        let lastRun: FullRunRecord | undefined = run;
        while (lastRun?.recoveredAs) {
          const key: string = lastRun.recoveredAs.runKey;
          lastRun = runs.find((other) => other.key === key);
        }
        assert.equal(lastRun?.status, 'succeeded', `${order.id} (${order.workflow}) succeeded: ${lastRun?.error}`);
        assert.deepEqual(resultOf(lastRun), expected, `${order.id} (${order.workflow}) has the correct result`);
      }
    }
  }
}
