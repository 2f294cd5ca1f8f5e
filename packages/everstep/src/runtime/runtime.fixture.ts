/** The runtime on a real store in memory, with a clock and endpoints that a test controls. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  EMPTY_JOURNAL_DIGEST,
  extendJournalDigest,
  type ProgressReply,
  type StepReply,
  type StepRequest,
} from '@everstep/sdk/protocol';
import type { RunSettings } from '../engine/runs/run.js';
import { NO_SLICES, type WorkSlices } from '../fairness/work-slices.js';
import type { Clock } from '../ports/clock.js';
import type { Cluster } from '../ports/cluster.js';
import type { Log } from '../ports/log.js';
import type { Message, MessageOutcome, MessageSender } from '../ports/message-sender.js';
import { NO_OBSERVER, type Observer } from '../ports/observer.js';
import type { StepCall, StepCaller, StepOutcome } from '../ports/step-caller.js';
import { withFullResult } from '../ports/stores/history-parts.js';
import { type InstanceLimits, NO_LIMITS } from '../ports/stores/instance-limits.js';
import { type InstanceOwners, ONE_OWNER } from '../ports/stores/instance-owners.js';
import type { DueTask, Store } from '../ports/stores/store.js';
import { NO_TRACES, type Traces } from '../ports/traces.js';
import { NO_WORKERS, type WorkerPresence } from '../ports/workers.js';
import { openSqliteStore } from '../stores/sqlite/index.js';
import { createRuntime, type Runtime } from './runtime.js';
import type { TriggerCommand } from './services/workflow-service.js';

export const quiet: Log = { debug() {}, info() {}, warn() {}, error() {} };
export const random = { bytes: (count: number) => randomBytes(count) };
export const SETTINGS: RunSettings = {
  maxRetries: 0,
  retryDelay: null,
  deliveryTimeoutMs: 60_000,
  labels: [],
  flowControl: null,
  failureCallback: null,
};

/** A clock that a test moves. Turns of the event loop are real. */
export class ManualClock implements Clock {
  private time = 1_800_000_000_000;
  private timers: { at: number; fire: () => void }[] = [];
  now(): number {
    return this.time;
  }
  setTimer(at: number, fire: () => void): () => void {
    const timer = { at, fire };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((other) => other !== timer);
    };
  }
  endOfTurn(fire: () => void): void {
    setImmediate(fire);
  }
  move(ms: number): void {
    this.time += ms;
    const due = this.timers.filter((timer) => timer.at <= this.time);
    this.timers = this.timers.filter((timer) => timer.at > this.time);
    for (const timer of due) timer.fire();
  }
}

/** Waits for several turns of the event loop, so that work that needs no time is done. */
export const settle = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
};

const GIVEN_UP: StepReply = { protocol: 1, kind: 'journal-needed' };

/** An endpoint written by the test. It counts the calls in flight and can keep them open. */
export class ScriptedCaller implements StepCaller {
  readonly calls: StepCall[] = [];
  /** Number of calls in flight. */
  inFlight = 0;
  /** Largest number of calls that were in flight at the same time. */
  maxInFlight = 0;
  private readonly respond: (call: StepCall, signal: AbortSignal) => Promise<StepReply> | StepReply;
  constructor(respond: (call: StepCall, signal: AbortSignal) => Promise<StepReply> | StepReply) {
    this.respond = respond;
  }
  async call(call: StepCall, signal: AbortSignal, onSent?: () => void): Promise<StepOutcome> {
    this.calls.push(call);
    onSent?.();
    this.inFlight++;
    this.maxInFlight = Math.max(this.maxInFlight, this.inFlight);
    try {
      const givenUp = new Promise<StepReply>((resolve) => signal.addEventListener('abort', () => resolve(GIVEN_UP)));
      const reply = await Promise.race([this.respond(call, signal), givenUp]);
      return { kind: 'reply', reply, status: 200, responseHeaders: {}, responseBody: new Uint8Array() };
    } finally {
      this.inFlight--;
    }
  }
  async close(): Promise<void> {}
}

/** An endpoint that submits everything separately. Each of its responses is empty, and sent when the test says so. */
export class SilentCaller implements StepCaller {
  readonly calls: StepCall[] = [];
  readonly pendingReplies: (() => void)[] = [];
  call(call: StepCall, signal: AbortSignal, onSent?: () => void): Promise<StepOutcome> {
    this.calls.push(call);
    onSent?.();
    return new Promise((resolve) => {
      const respond = () => resolve({ kind: 'silent', status: 200, responseHeaders: {}, responseBody: new Uint8Array() });
      this.pendingReplies.push(respond);
      signal.addEventListener('abort', respond);
    });
  }
  async close(): Promise<void> {}
}

/** The recipient of plain messages, written by the test. */
export class ScriptedSender implements MessageSender {
  readonly sent: Message[] = [];
  private readonly respond: (message: Message) => Promise<MessageOutcome> | MessageOutcome;
  constructor(respond: (message: Message) => Promise<MessageOutcome> | MessageOutcome) {
    this.respond = respond;
  }
  async send(message: Message, _signal?: AbortSignal, onSent?: () => void): Promise<MessageOutcome> {
    this.sent.push(message);
    onSent?.();
    return this.respond(message);
  }
}

/** A sender for tests that send only steps. */
export const noMessages = new ScriptedSender(({ url }) => {
  throw new Error(`unexpected message to ${url}`);
});
export const publicUrl = (): string => 'http://everstep';

export const progress = (request: StepRequest, overrides: Partial<ProgressReply>): ProgressReply => ({
  protocol: 1,
  kind: 'progress',
  base: request.journal.length,
  done: [],
  advanced: true,
  planned: [],
  ...overrides,
});

/** Returns a workflow of `length` sequential steps, whose worker can hold the run. */
export const inARow =
  (length: number, hold: string | null = null) =>
  ({ request }: StepCall): StepReply => {
    const stepId = request.journal.length + 1;
    const through = hold === null ? {} : { hold: { worker: hold, through: stepId } };
    const done = [{ stepId, name: `s${stepId}`, type: 'Run' as const, out: String(stepId) }];
    if (stepId === length) return progress(request, { done, end: { kind: 'finished', result: String(length) } });
    return progress(request, { done, planned: [{ stepId: stepId + 1, name: `s${stepId + 1}`, type: 'Run' }], ...through });
  };

/** Returns the digest of the first `length` recorded steps of the run. */
export async function recordedDigest(store: Store, runKey: string, length: number): Promise<number> {
  const steps = await store.loadJournal({ runKey, from: 0 });
  return steps
    .slice(0, length)
    .reduce((digest, { stepId, out }) => extendJournalDigest(digest, { stepId, out: out ?? undefined }), EMPTY_JOURNAL_DIGEST);
}

export interface Bench {
  readonly store: Store;
  readonly clock: ManualClock;
  /** The runtime in use. `restart` replaces it. */
  readonly runtime: Runtime;
  /** Stops the runtime and starts another one on the same store, as a restart of the process does. */
  restart(): Promise<void>;
  trigger(overrides?: Partial<TriggerCommand>): ReturnType<Runtime['runs']['trigger']>;
}

export async function withRuntime(
  caller: StepCaller,
  work: (bench: Bench) => Promise<void>,
  {
    wrap = (store: Store) => store,
    sender = noMessages as MessageSender,
    limits = NO_LIMITS,
    owners = ONE_OWNER,
    cluster,
    workers = NO_WORKERS,
    observer = NO_OBSERVER,
    traces = NO_TRACES,
    slices = NO_SLICES,
  }: {
    readonly wrap?: (store: Store) => Store;
    readonly sender?: MessageSender;
    readonly limits?: InstanceLimits;
    readonly owners?: InstanceOwners;
    readonly cluster?: Cluster;
    readonly workers?: WorkerPresence;
    readonly observer?: Observer;
    readonly traces?: Traces;
    readonly slices?: Pick<WorkSlices, 'run'>;
  } = {},
): Promise<void> {
  const store = await openSqliteStore({ file: ':memory:' });
  const clock = new ManualClock();
  const open = async (): Promise<Runtime> => {
    const opened = createRuntime({
      ...{ store: wrap(store), clock, random, stepCaller: caller, messageSender: sender, log: quiet, publicUrl },
      ...{ limits, owners, workers, observer, traces, slices },
      ...(cluster ? { cluster } : {}),
    });
    await opened.start();
    return opened;
  };
  const stop = async (): Promise<void> => {
    const stopping = bench.runtime.stop({ graceMs: 10 });
    await settle();
    clock.move(1000);
    await stopping;
  };
  const trigger: Bench['trigger'] = (overrides = {}) =>
    bench.runtime.runs.trigger({
      instanceId: 'qi_1',
      dialect: 'native',
      workflowUrl: 'http://app/flow',
      payload: { body: new TextEncoder().encode('{"n":1}'), contentType: 'application/json', forwardHeaders: { 'x-a': 'b' } },
      settings: SETTINGS,
      callerIp: '127.0.0.1',
      workflowRunId: null,
      notBefore: null,
      deduplicationId: null,
      ...overrides,
    });
  const bench = {
    ...{ store, clock, runtime: await open(), trigger },
    async restart() {
      await stop();
      bench.runtime = await open();
    },
  };
  try {
    await work(bench);
  } finally {
    await stop();
    await store.close();
  }
}

/** A cluster of one node, which claims the tasks that the test returns. */
export function aloneInCluster(claim: () => readonly DueTask[]): Cluster {
  return {
    nodeId: 'n_1',
    canStartWork: true,
    now: () => 0,
    async join() {},
    claimDue: async () => claim(),
    claimQueued: async () => [],
    handOver: async () => {},
    openLoans: async () => [],
    wake() {},
    gateHolderOf: async () => 'n_1',
    publishGateStatus: async () => {},
    gateStatusOf: async () => null,
    nodes: async () => [],
    notify() {},
    confirm: async () => {},
    async tryExclusively(_name, work) {
      await work();
      return true;
    },
    release: async () => {},
    leave: async () => {},
  };
}

/** Waits until the run has ended, and returns it with its whole result. */
export async function endOf(bench: Bench, run: { runKey: string; workflowRunId: string; createdAt: number }) {
  const record = await bench.runtime.runs.awaitEnd({ instanceId: 'qi_1', run, timeoutMs: 1000 });
  return record && withFullResult(bench.store, record);
}

/** Returns the only dead letter. */
export async function letterOf(bench: Bench) {
  const page = { instanceId: 'qi_1', filter: {}, order: 'oldest-first', after: null, horizon: null, limit: 10 } as const;
  const [letter] = (await bench.store.listDeadLetters(page)).items;
  assert.ok(letter);
  return letter;
}
