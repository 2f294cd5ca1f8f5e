/**
 * Drives runs: acts on what is due, takes each outcome to the engine, and
 * acts on what it decided once that is durable. A crash at any point is safe,
 * because what is owed stands in the store as tasks.
 */
import { LIMITS } from '../config/limits.js';
import type { RunEvent } from '../engine/decide.js';
import type { Decision } from '../engine/decision.js';
import type { DecisionContext } from '../engine/ids.js';
import { ADVANCE_SLOT, CALLBACK_SLOT, type Run, type RunPayload, type Task } from '../engine/run.js';
import type { Submission } from '../engine/submissions.js';
import type { Clock } from '../ports/clock.js';
import { type InstanceLimits, NO_LIMITS } from '../ports/instance-limits.js';
import type { Log } from '../ports/log.js';
import type { MessageSender } from '../ports/message-sender.js';
import type { Random } from '../ports/random.js';
import type { StepCaller } from '../ports/step-caller.js';
import type { DueTask, Store } from '../ports/store.js';
import { Callbacks, callbackUrlOf } from './callbacks.js';
import { Committer } from './committer.js';
import { Decisions } from './decisions.js';
import { deliver } from './deliverer.js';
import { Departures } from './departures.js';
import { DueTasks } from './due-tasks.js';
import { EndWatch } from './end-watch.js';
import { Events } from './events.js';
import { DeliveryGates, type DeliveryResult, type Passage, type Ticket } from './gates/delivery-gates.js';
import { transitOf } from './gates/rate-window.js';
import { Invocations } from './invocations.js';
import { sendMessage } from './message-delivery.js';
import { makeCall } from './messages.js';
import { originOf, resultOfEvent, resultOfFailure } from './passages.js';
import { type CachedRun, RunCache } from './run-cache.js';

const CACHE_CAPACITY = 5_000;
const KEPT_PAYLOAD_BYTES = 64 * 1024;

export interface RunDriverOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly stepCaller: StepCaller;
  readonly messageSender: MessageSender;
  readonly log: Log;
  /** Plans and budgets; nothing is limited when absent. */
  readonly limits?: InstanceLimits;
  /** For upkeep that nobody waits for; when absent it is `clock`. */
  readonly upkeepClock?: Clock;
  /** Where the service is reached from outside, without a slash at the end; known once it listens. */
  readonly publicUrl: () => string;
}

/** What is delivered to somebody, and so has to pass the gates. */
type Delivery = Extract<Task, { readonly kind: 'advance' | 'step' | 'call' | 'message' }>;

export class RunDriver {
  readonly ends: EndWatch;
  readonly gates: DeliveryGates;
  readonly decisions: Decisions;
  readonly events: Events;
  readonly callbacks: Callbacks;
  private readonly options: RunDriverOptions;
  private readonly limits: InstanceLimits;
  private readonly committer: Committer;
  private readonly cache: RunCache;
  private readonly invocations: Invocations;
  private readonly departures: Departures;
  private readonly due: DueTasks;
  private readonly underWay = new Set<Promise<void>>();
  private readonly stopped = new AbortController();
  private stopping = false;

  constructor(options: RunDriverOptions) {
    const { store, clock, log } = options;
    this.options = options;
    this.limits = options.limits ?? NO_LIMITS;
    this.committer = new Committer(store, clock);
    this.cache = new RunCache(store, CACHE_CAPACITY);
    this.ends = new EndWatch(clock);
    const context = () => this.context;
    this.decisions = new Decisions({
      cache: this.cache,
      committer: this.committer,
      log,
      context,
      messageLimit: (instanceId) => this.limits.messageLimit(instanceId),
      onDurable: (entry, decision, before) => this.actOn(entry, decision, before),
      onLost: () => {
        this.due.restart();
        this.gates.verifyQueues((runKey) => this.isActive(runKey));
      },
    });
    const { decisions } = this;
    this.departures = new Departures({
      clock,
      limits: this.limits,
      leave: (host, ticket, passage) => this.track(this.act(host, ticket, passage)),
    });
    this.gates = new DeliveryGates({
      store,
      clock,
      log,
      commit: (unit) => this.committer.submit(unit),
      pass: (ticket, passage, counted) => this.enqueue(ticket, passage, counted),
      places: this.departures.places,
      transitMs: transitOf,
    });
    this.events = new Events({ store, decisions, context });
    this.invocations = new Invocations({ store, decisions, context, begin: (run, payload) => this.begin(run, payload) });
    this.callbacks = new Callbacks({
      store,
      sender: options.messageSender,
      decisions,
      context,
      expect: (run, task) => this.scheduleCallback(run, task),
    });
    // Perhaps there is room now for what waits, and nothing else would come to tell.
    this.limits.onChange(() => this.roomMayBe());
    this.due = new DueTasks({ store, clock, log, take: (task) => this.takeDue(task), backlog: () => this.departures.size });
  }

  get context(): DecisionContext {
    const { clock, random, publicUrl } = this.options;
    return { now: clock.now(), random, publicUrl: publicUrl() };
  }

  start(): Promise<void> {
    return this.due.start();
  }

  /** Takes on nothing new, waits at most `graceMs` for what is under way, then gives it up; it is delivered again at the next start. */
  async stop(graceMs: number): Promise<void> {
    this.stopping = true;
    this.departures.stop();
    await this.due.stop();
    await this.gates.stop();
    const { clock } = this.options;
    await new Promise<void>((resolve) => {
      const cancel = clock.setTimer(clock.now() + graceMs, resolve);
      void Promise.allSettled([...this.underWay]).then(() => {
        cancel();
        resolve();
      });
    });
    this.cache.giveUpDeliveries();
    this.stopped.abort();
    await Promise.allSettled([...this.underWay]);
    this.ends.releaseAll();
    await this.committer.settled();
  }

  /** Resolves when nothing is under way that would go on without time passing. What waits at a gate is not under way. */
  async idle(): Promise<void> {
    for (let quietTurns = 0; quietTurns < 3 && !this.stopping; ) {
      if (this.underWay.size > 0) {
        await Promise.race(this.underWay);
        quietTurns = 0;
        continue;
      }
      const busy = !this.departures.idle || !this.committer.idle || !this.due.idle || !this.gates.idle;
      quietTurns = busy ? 0 : quietTurns + 1;
      await new Promise<void>((resolve) => this.options.clock.endOfTurn(resolve));
    }
  }

  /** A run that was just made durable: keeps it in memory and acts on its first tasks. */
  begin(run: Run, payload: RunPayload): void {
    const { clock } = this.options;
    this.departures.triggered();
    this.limits.messagesCounted(run.instanceId);
    const { flowControl } = run.settings;
    if (flowControl) this.gates.noteLimits(run.instanceId, flowControl);
    // A scan may have found it already: what is visible in the store is not always answered yet. Then that state counts.
    const entry = this.cache.peek(run.key) ?? this.cache.add(run, payload);
    const now = clock.now();
    // Kept in memory only until it is sent, and only when that is soon and it is small.
    if (payload.body.length > KEPT_PAYLOAD_BYTES || [...run.tasks.values()].every(({ dueAt }) => dueAt === null || dueAt > now)) {
      entry.payload = null;
    }
    for (const task of run.tasks.values()) this.schedule(entry, task);
  }

  /** Cancels an active run. False when it is not active (any more). */
  async cancel(runKey: string): Promise<boolean> {
    return (await this.decisions.decideOn(runKey, { kind: 'cancel' })) !== null;
  }

  /** Takes what an endpoint submits. False when the run is not active (any more); else it is durable. */
  async submit(runKey: string, submission: Submission): Promise<boolean> {
    let active = false;
    await this.decisions.decideOn(runKey, { kind: 'submitted', submission }, () => {
      active = true;
    });
    return active;
  }

  async isActive(runKey: string): Promise<boolean> {
    return (await this.cache.load(runKey)) !== null;
  }

  /** Deliveries of the instance that may be in flight. */
  mostInFlight(instanceId: string): number {
    return Math.min(LIMITS.maxDeliveriesInFlight, this.limits.maxParallelism(instanceId) ?? LIMITS.maxDeliveriesInFlight);
  }

  /** Deliveries of the instance in flight. */
  inFlight(instanceId: string): number {
    return this.departures.inFlight(instanceId);
  }

  isInFlight(ticket: Ticket): boolean {
    return this.departures.isInFlight(ticket);
  }

  private actOn(entry: CachedRun, decision: Decision, before: Run): void {
    const { run, outcome, writes } = decision;
    for (const { run: made, payload } of decision.begun ?? []) this.begin(made, payload);
    if (outcome) {
      const queue = run.settings.message?.queue;
      if (queue !== undefined) this.gates.leaveQueue({ instanceId: run.instanceId, queue, runKey: run.key });
      // An endpoint that submits the end is still about to answer the delivery in which it came to it.
      const submitted = outcome.status === 'succeeded' && run.settings.steps !== undefined;
      this.decisions.forget(entry, submitted ? 'let-finish' : 'give-up');
      for (const slot of before.tasks.keys()) this.gates.withdraw({ runKey: run.key, slot });
      this.ends.ended(run.key);
      if (run.origin?.kind === 'invoke') {
        this.track(this.invocations.childEnded(run.key, (runKey) => this.cache.load(runKey)));
      }
      const callback = run.tasks.get(CALLBACK_SLOT);
      if (callback) {
        this.limits.messagesCounted(run.instanceId);
        this.scheduleCallback(run, callback);
      }
      return;
    }
    for (const write of writes) {
      // Before the call that brings them: a decision writes its limits first.
      if (write.kind === 'count-messages') this.limits.messagesCounted(write.instanceId);
      if (write.kind === 'put-flow-control') this.gates.noteLimits(write.instanceId, write.flowControl);
      if (write.kind !== 'put-task') continue;
      const task = entry.run.tasks.get(write.task.slot);
      if (task) this.schedule(entry, task);
    }
  }

  /** Acts on a task of an active run, now or when it is due. */
  private schedule(entry: CachedRun, task: Task): void {
    const { slot, dueAt } = task;
    if (dueAt === null) return;
    if (dueAt > this.options.clock.now()) {
      this.due.expect(dueAt);
      return;
    }
    switch (task.kind) {
      case 'sleep':
      case 'wait':
        this.track(this.decisions.apply(entry, { kind: 'due', slot }));
        break;
      case 'notify':
        this.track(this.events.carryOut(entry, task));
        break;
      case 'invoke':
        this.track(this.invocations.take(entry, task));
        break;
      case 'callback':
        break;
      default:
        this.offer(entry.run, task);
    }
  }

  private offer(run: Run, task: Delivery): void {
    const { settings, instanceId, key: runKey } = run;
    const call = task.kind === 'call' ? task.call : null;
    const flowControl = call ? call.flowControl : settings.flowControl;
    const origin = originOf(call?.url ?? run.workflowUrl);
    const flowControlKey = flowControl?.key ?? null;
    const queue = settings.message?.queue;
    const passage = queue === undefined ? { instanceId, flowControlKey, origin } : { instanceId, flowControlKey, origin, queue };
    this.gates.offer({ runKey, slot: task.slot }, passage);
  }

  private scheduleCallback(run: Run, task: Task): void {
    if (task.dueAt === null) return;
    if (task.dueAt > this.options.clock.now()) {
      this.due.expect(task.dueAt);
      return;
    }
    const { instanceId, key: runKey } = run;
    this.gates.offer({ runKey, slot: task.slot }, { instanceId, flowControlKey: null, origin: originOf(callbackUrlOf(run)) });
  }

  /** A due task as the store tells of it: the run may have moved on since. Who delivers it looks again. */
  private async takeDue(task: DueTask): Promise<void> {
    const { runKey, slot, instanceId, flowControlKey, queue } = task;
    switch (task.kind) {
      case 'advance':
      case 'step':
      case 'call':
      case 'callback':
      case 'message': {
        const origin = originOf(task.workflowUrl);
        const passage =
          queue === undefined ? { instanceId, flowControlKey, origin } : { instanceId, flowControlKey, origin, queue };
        this.gates.offer({ runKey, slot }, passage);
        return;
      }
      case 'invoke': {
        // Its due time was written by the run that ended, past the state in memory.
        const entry = await this.cache.load(runKey);
        const open = entry?.run.tasks.get(slot);
        if (entry && open?.kind === 'invoke') this.track(this.invocations.take(entry, open));
        return;
      }
      default: {
        const entry = await this.cache.load(runKey);
        const open = entry?.run.tasks.get(slot);
        if (entry && open) this.schedule(entry, open);
      }
    }
  }

  /** It may go: now it waits for a place among the deliveries in flight. */
  private enqueue(ticket: Ticket, passage: Passage, counted: boolean): void {
    const run = this.cache.peek(ticket.runKey)?.run;
    const begun = ticket.slot !== ADVANCE_SLOT || (run !== undefined && run.journalLength > 0);
    const urgency = counted ? 'counted' : begun ? 'begun' : 'fresh';
    if (!this.departures.add(ticket, passage, urgency)) this.gates.done(ticket, passage, { kind: 'not-made' });
  }

  private roomMayBe(): void {
    if (this.stopping) return;
    this.gates.roomFreed();
    this.departures.drainSoon();
  }

  private track(work: Promise<unknown>): void {
    const settled: Promise<void> = work.then(
      () => {},
      (error: unknown) => {
        this.options.log.error(
          { error: error instanceof Error ? (error.stack ?? error.message) : String(error) },
          'acting on a task failed',
        );
        this.due.restart();
      },
    );
    this.underWay.add(settled);
    void settled.then(() => this.underWay.delete(settled));
  }

  private async act(host: string, ticket: Ticket, passage: Passage): Promise<void> {
    if (!this.gates.mayStart(ticket)) {
      // Its destination was held while it waited for a place: it waits at the gates again.
      this.departures.done(host, ticket);
      this.roomMayBe();
      return;
    }
    let entry: CachedRun | null = null;
    let event: RunEvent | null = null;
    let result: DeliveryResult = { kind: 'not-made' };
    try {
      if (ticket.slot === CALLBACK_SLOT)
        result = resultOfFailure(await this.callbacks.deliver(ticket.runKey, this.stopped.signal));
      else {
        entry = await this.cache.load(ticket.runKey);
        if (entry) event = await this.deliverTask(entry, ticket.slot);
        result = resultOfEvent(event);
      }
    } finally {
      this.departures.done(host, ticket);
      this.gates.done(ticket, passage, result);
      this.gates.roomFreed();
      this.departures.drainSoon();
      this.due.resume();
    }
    if (!entry) return;
    if (event && this.decisions.isCurrent(entry)) {
      const applied = await this.decisions.apply(entry, event);
      // What it asked for was submitted while it was out, and what follows from that waited for this place.
      if (!applied && this.decisions.isCurrent(entry)) this.offerAgain(entry, ticket.slot);
    }
    // The state was let go while the endpoint worked, so the answer belongs to nothing. If the run goes on, ask again.
    else if (!this.decisions.isCurrent(entry) && !this.stopping) await this.askAgain(ticket);
  }

  /** What stands in the slot now could not be offered while the delivery before it was out. */
  private offerAgain(entry: CachedRun, slot: number): void {
    const task = entry.durable.tasks.get(slot);
    if (task && task === entry.run.tasks.get(slot)) this.schedule(entry, task);
  }

  private async askAgain({ runKey, slot }: Ticket): Promise<void> {
    const entry = await this.cache.load(runKey);
    const task = entry?.run.tasks.get(slot);
    if (entry && task) this.schedule(entry, task);
  }

  /** One attempt of the task; null when there is nothing to do or it was given up. */
  private async deliverTask(entry: CachedRun, slot: number): Promise<RunEvent | null> {
    const { store, stepCaller, messageSender, clock } = this.options;
    const task = entry.durable.tasks.get(slot);
    // A decision that is being written has something else in mind for the slot: whatever that is, it is scheduled
    // once it is durable. To deliver the old task now would also keep the new one out of the queue.
    if (!task || task !== entry.run.tasks.get(slot) || task.dueAt === null || task.dueAt > clock.now()) return null;
    const onLeave = () => this.gates.left({ runKey: entry.run.key, slot });
    switch (task.kind) {
      case 'advance':
      case 'step':
        return deliver(store, stepCaller, entry, task, onLeave);
      case 'call':
        return makeCall(messageSender, entry, task, () => clock.now(), onLeave);
      case 'message':
        return sendMessage({ store, sender: messageSender, now: () => clock.now() }, entry, task, onLeave);
      default:
        return null;
    }
  }
}
