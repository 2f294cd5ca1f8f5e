/**
 * Drives runs: acts on what is due, takes each outcome to the engine, and
 * acts on what it decided once that is durable. A crash at any point is safe,
 * because what is owed stands in the store as tasks.
 * Keeps invariant 3.
 */
import { LIMITS } from '../../config/limits.js';
import type { DecisionContext } from '../../engine/ids.js';
import type { Decision } from '../../engine/runs/decision.js';
import { ADVANCE_SLOT, CALLBACK_SLOT, type FlowControl, type Run, type Task } from '../../engine/runs/run.js';
import type { Submission } from '../../engine/runs/submissions.js';
import type { CommitResult, CommitUnit } from '../../engine/writes.js';
import { type InstanceLimits, NO_LIMITS } from '../../ports/stores/instance-limits.js';
import { ONE_OWNER } from '../../ports/stores/instance-owners.js';
import type { DueTask } from '../../ports/stores/store.js';
import { joinedNode, type NodeParts } from '../cluster/membership.js';
import { Committer } from '../commits/committer.js';
import { LiveChanges, type RunOfHint } from '../commits/live-changes.js';
import { StoreWrites, sendingWhileOpen, whileOpen } from '../commits/store-writes.js';
import { Deliveries } from '../dispatch/deliveries.js';
import { Departures } from '../dispatch/departures.js';
import { type Delivery, passageOf, passageOfCallback, passageOfDue } from '../dispatch/passages.js';
import { callingInTime, isLong, sendingInTime, timeoutOf, timeoutOfCallback } from '../dispatch/timeouts.js';
import { DueTasks } from '../due/due-tasks.js';
import { DeliveryGates, type Passage, type Ticket } from '../gates/delivery-gates.js';
import { transitOf } from '../gates/rate-window.js';
import { Callbacks, callbackUrlOf } from '../services/callbacks.js';
import { Events } from '../services/events.js';
import { Invocations } from '../services/invocations.js';
import type { QueuedBecause } from '../services/workflow-service.js';
import { Decisions } from './decisions.js';
import { EndWatch } from './end-watch.js';
import { type BegunPayload, type CachedRun, KEPT_PAYLOAD_BYTES, RunCache } from './run-cache.js';
import type { RunDriverOptions } from './run-driver-options.js';

/** An endpoint that submits steps while the store takes no writes waits so long; then it is told to try again. */
const SUBMISSION_WAIT_MS = 10_000;
const NOTHING = Promise.resolve();

export class RunDriver {
  readonly ends: EndWatch;
  readonly gates: DeliveryGates;
  readonly decisions: Decisions;
  readonly events: Events;
  readonly callbacks: Callbacks;
  readonly live: LiveChanges;
  readonly writes: StoreWrites;
  private readonly options: RunDriverOptions;
  private readonly limits: InstanceLimits;
  private readonly committer: Committer;
  private readonly cache: RunCache;
  private readonly invocations: Invocations;
  private readonly departures: Departures;
  private readonly deliveries: Deliveries;
  private readonly due: DueTasks;
  /** Null where this process is alone on its store. */
  private readonly node: NodeParts | null;
  private readonly underWay = new Set<Promise<void>>();
  private readonly stopped = new AbortController();
  private readonly isDeleted: (instanceId: string) => boolean;
  private stopping = false;

  constructor(options: RunDriverOptions) {
    const { store, clock, log } = options;
    this.options = options;
    this.isDeleted = options.isDeleted ?? (() => false);
    this.limits = options.limits ?? NO_LIMITS;
    const cacheLimits = { maxRuns: LIMITS.maxCachedRuns, maxBytes: LIMITS.maxCachedRunBytes };
    this.cache = new RunCache(store, cacheLimits, options.owners);
    this.live = new LiveChanges({ clock, cluster: options.cluster ?? null, runOf: (runKey) => this.hintOf(runKey) });
    this.writes = options.writes ?? new StoreWrites(options);
    const { writes } = this;
    this.committer = new Committer(store, clock, this.live, (error) => writes.failed(error), options.owners);
    this.ends = new EndWatch(clock);
    const context = () => this.context;
    this.decisions = new Decisions({
      cache: this.cache,
      committer: this.committer,
      log,
      writes,
      context,
      messageLimit: (instanceId) => this.limits.messageLimit(instanceId),
      onDurable: (entry, decision, before) => this.actOn(entry, decision, before),
      onLost: () => {
        this.due.restart();
        this.gates.verifyQueues((runKey) => this.decisions.isActive(runKey));
      },
      onMoved: () => this.due.restart(),
      isShared: options.cluster !== undefined,
    });
    const { decisions } = this;
    this.departures = new Departures({
      clock,
      limits: this.limits,
      owners: options.owners ?? ONE_OWNER,
      mayLeave: () => writes.isOpen,
      leave: (host, ticket, passage) => this.track(this.deliveries.make(host, ticket, passage)),
    });
    this.gates = new DeliveryGates({
      store,
      clock,
      log,
      commit: (unit) => this.commitControl(unit),
      pass: (ticket, passage, counted) => this.enqueue(ticket, passage, counted),
      places: this.departures.places,
      transitMs: transitOf,
    });
    this.events = new Events({ store, decisions, context, isDeleted: this.isDeleted });
    this.invocations = new Invocations({
      store,
      decisions,
      context,
      limits: this.limits,
      begin: (run, payload) => this.begin(run, payload),
    });
    const stepCaller = whileOpen(callingInTime(options.stepCaller, this.limits), writes);
    const messageSender = sendingWhileOpen(sendingInTime(options.messageSender, this.limits), writes);
    this.callbacks = new Callbacks({
      store,
      sender: messageSender,
      writes,
      decisions,
      context,
      expect: (run, task) => this.scheduleCallback(run, task),
    });
    // Perhaps there is room now for what waits, and nothing else would come to tell.
    this.limits.onChange(() => this.roomMayBe());
    const { cluster } = options;
    this.due = new DueTasks({
      store,
      clock,
      log,
      take: (task, deciding) => this.takeDue(task, deciding),
      backlog: this.departures.backlog,
      owners: options.owners ?? ONE_OWNER,
      writes,
      ...(cluster ? { claims: cluster } : {}),
    });
    const { cache, gates, due, ends, departures, callbacks, live } = this;
    this.deliveries = new Deliveries({
      ...options,
      ...{ cache, gates, due, departures, callbacks, decisions, writes },
      owners: options.owners ?? ONE_OWNER,
      ...{ stepCaller, messageSender },
      isLong: (instanceId, timeoutMs) => isLong(timeoutMs, instanceId, this.limits),
      stopped: this.stopped.signal,
      isStopping: () => this.stopping,
      schedule: (entry, task) => this.schedule(entry, task),
      admit: (ticket, passage) => this.admit(ticket, passage),
      isDeleted: this.isDeleted,
    });
    const { deliveries } = this;
    writes.onOpen(() => {
      due.restartNow();
      departures.drainSoon();
    });
    const isLimited = (instanceId: string) => this.limits.maxParallelism(instanceId) !== null;
    this.node = cluster
      ? joinedNode({
          ...{ cluster, store, clock, log, cache, decisions, gates, due, ends, departures, deliveries, isLimited, live },
          ...options,
          offer: (ticket, passage) => this.atGates(ticket, passage),
        })
      : null;
  }

  get context(): DecisionContext {
    const { clock, random, publicUrl } = this.options;
    return { now: clock.now(), random, publicUrl: publicUrl() };
  }

  async start(): Promise<void> {
    await this.node?.membership.start();
    await this.due.start();
  }

  /** Takes on nothing new, waits at most `graceMs` for what is under way, then gives it up; it is delivered again at the next start. */
  async stop(graceMs: number): Promise<void> {
    this.stopping = true;
    this.node?.membership.stop();
    this.departures.stop();
    this.live.stop();
    await this.due.stop();
    await this.gates.stop();
    const { clock } = this.options;
    const stopGiving = await this.node?.membership.giveBackMeanwhile();
    await new Promise<void>((resolve) => {
      const cancel = clock.setTimer(clock.now() + graceMs, resolve);
      void Promise.allSettled([...this.underWay]).then(() => {
        cancel();
        resolve();
      });
    });
    await stopGiving?.();
    this.writes.stop();
    this.deliveries.forgetAsked();
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
  begin(run: Run, payload: BegunPayload): void {
    const { clock } = this.options;
    if (this.isDeleted(run.instanceId)) return;
    this.departures.triggered(run.instanceId);
    this.limits.messagesCounted(run.instanceId);
    const { flowControl } = run.settings;
    if (flowControl) this.noteLimits(run.instanceId, flowControl);
    // A scan may have found it already: what is visible in the store is not always answered yet. Then that state counts.
    const entry = this.cache.peek(run.key) ?? this.cache.add(run, payload);
    const now = clock.now();
    // Kept in memory only until it is sent, and only when that is soon and it is small.
    const bodyBytes = payload.body?.length ?? 0;
    if (bodyBytes > KEPT_PAYLOAD_BYTES || [...run.tasks.values()].every(({ dueAt }) => dueAt === null || dueAt > now)) {
      entry.payload = null;
    }
    for (const task of run.tasks.values()) this.schedule(entry, task);
  }

  /** Cancels an active run. False when it is not active (any more). */
  async cancel(runKey: string): Promise<boolean> {
    const canceled = (await this.decisions.decideOn(runKey, { kind: 'cancel' })) !== null;
    // Its delivery may be out on another node.
    if (canceled) this.options.cluster?.tell({ kind: 'run-canceled', runKey });
    return canceled;
  }

  /** The queue instance was deleted: gives up what is out for it, and forgets what waits. */
  stopInstance(instanceId: string): void {
    for (const entry of this.cache.ofInstance(instanceId)) {
      this.decisions.forget(entry);
      this.ends.ended(entry.run.key);
    }
    this.gates.drop(instanceId);
    this.departures.drainSoon();
  }

  /** Takes what an endpoint submits. False when the run is not active (any more); else it is durable. */
  async submit(runKey: string, submission: Submission): Promise<boolean> {
    const deliveryStartedAt = this.cache.peek(runKey)?.deliveryStartedAt;
    return this.writes.persistWithin(SUBMISSION_WAIT_MS, submission, async () => {
      let active = false;
      const look = (): void => {
        active = true;
      };
      await this.decisions.decideOn(runKey, { kind: 'submitted', submission, deliveryStartedAt }, { look });
      return active;
    });
  }

  /** Deliveries of the instance that may be in flight. */
  mostInFlight(instanceId: string): number {
    return this.departures.mostInFlight(instanceId);
  }

  /** Deliveries of the instance in flight. */
  inFlight(instanceId: string): number {
    return this.departures.inFlight(instanceId);
  }

  get standing(): { readonly deliveries: number; readonly instances: number } {
    return { deliveries: this.departures.flights.length, instances: this.gates.size };
  }

  /** Why a delivery waits for a slot here; null when it does not. */
  queuedBecause(ticket: Ticket): QueuedBecause | null {
    return this.departures.queuedBecause(ticket) ?? (this.deliveries.waitsForMemory(ticket) ? 'memory' : null);
  }

  isInFlight(ticket: Ticket): boolean {
    return this.departures.isInFlight(ticket);
  }

  private actOn(entry: CachedRun, decision: Decision, before: Run): void {
    const { run, outcome, writes } = decision;
    for (const { run: made, payload } of decision.newRuns ?? []) this.begin(made, payload);
    if (outcome) {
      const queue = run.settings.message?.queue;
      if (queue !== undefined) this.gates.leaveQueue({ instanceId: run.instanceId, queue, runKey: run.key });
      // An endpoint that submits the end is still about to answer the delivery in which it came to it.
      const submitted = outcome.status === 'succeeded' && run.settings.steps !== undefined;
      this.decisions.forget(entry, submitted ? 'let-finish' : 'give-up');
      for (const slot of before.tasks.keys()) this.gates.withdraw({ runKey: run.key, slot });
      this.ends.ended(run.key);
      if (run.origin?.kind === 'invoke') {
        this.track(this.invocations.childEnded(run.key));
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
      if (write.kind === 'put-flow-control') this.noteLimits(write.instanceId, write.flowControl);
      if (write.kind !== 'put-task') continue;
      const task = entry.run.tasks.get(write.task.slot);
      if (task) this.schedule(entry, task);
    }
  }

  /** Whether the gates of the instance are this process's. */
  holdsGates(instanceId: string): boolean {
    return this.node?.holders.holds(instanceId) ?? true;
  }

  private hintOf(runKey: string): RunOfHint | undefined {
    const run = this.cache.peek(runKey)?.run;
    return run && { ...run, isLimited: run.settings.flowControl !== null };
  }

  /** What the gates write down. Others keep settings and holds in memory too. */
  private async commitControl(unit: CommitUnit): Promise<CommitResult> {
    const result = await this.committer.submit(unit);
    for (const write of unit.writes) {
      if (write.kind !== 'set-hold' && write.kind !== 'set-instance-settings') continue;
      this.options.cluster?.tell({ kind: 'settings', instanceId: write.instanceId });
    }
    return result;
  }

  private noteLimits(instanceId: string, flowControl: FlowControl): void {
    this.gates.noteLimits(instanceId, flowControl);
    this.node?.membership.limitsBrought(instanceId, flowControl);
  }

  /** Acts on a task of an active run, now or when it is due. Resolves when what is decided on it now is durable. */
  private schedule(entry: CachedRun, task: Task): Promise<void> {
    const { slot, dueAt } = task;
    if (dueAt === null || this.isDeleted(entry.run.instanceId)) return NOTHING;
    if (dueAt > this.options.clock.now()) {
      this.due.expect(dueAt);
      return NOTHING;
    }
    switch (task.kind) {
      case 'sleep':
      case 'wait':
        return this.track(this.decisions.apply(entry, { kind: 'due', slot }));
      case 'notify':
        return this.track(this.events.carryOut(entry, task));
      case 'invoke':
        return this.track(this.invocations.take(entry, task));
      case 'callback':
        return NOTHING;
      default:
        this.offer(entry.run, task);
        return NOTHING;
    }
  }

  private offer(run: Run, task: Delivery): void {
    const passage = passageOf(run, task, isLong(timeoutOf(run, task), run.instanceId, this.limits));
    if (this.node && passage.queue !== undefined) this.node.holders.call(run.instanceId);
    else this.admit({ runKey: run.key, slot: task.slot }, passage);
  }

  private admit(ticket: Ticket, passage: Passage): void {
    if (this.stopping || this.isDeleted(passage.instanceId)) return;
    if (this.node) this.node.holders.offer(ticket, passage);
    else this.atGates(ticket, passage);
  }

  private atGates(ticket: Ticket, passage: Passage): void {
    if (!this.gates.offer(ticket, passage)) this.deliveries.asked(ticket, passage);
  }

  private scheduleCallback(run: Run, task: Task): void {
    if (task.dueAt === null) return;
    if (task.dueAt > this.options.clock.now()) {
      this.due.expect(task.dueAt);
      return;
    }
    const long = isLong(timeoutOfCallback(run), run.instanceId, this.limits);
    this.admit({ runKey: run.key, slot: task.slot }, passageOfCallback(run, callbackUrlOf(run), long));
  }

  /** A due task as the store tells of it: the run may have moved on since. Who delivers it looks again. */
  private async takeDue(task: DueTask, deciding: (decided: Promise<void>) => void): Promise<void> {
    const { runKey, slot } = task;
    if (this.isDeleted(task.instanceId)) return;
    this.cache.atLeast(runKey, task.runVersion);
    switch (task.kind) {
      case 'advance':
      case 'step':
      case 'call':
      case 'callback':
      case 'message':
        if (task.queue !== undefined) this.node?.holders.queuedClaimed(task.instanceId);
        this.admit({ runKey, slot }, passageOfDue(task));
        return;
      default: {
        const open = await this.decisions.openTask(runKey, slot);
        // The due time of an invocation was written by the run that ended, past the state in memory.
        if (open?.task.kind === 'invoke') deciding(this.track(this.invocations.take(open.entry, open.task)));
        else if (open) deciding(this.schedule(open.entry, open.task));
      }
    }
  }

  /** It may go: now it waits for a place among the deliveries in flight. */
  private enqueue(ticket: Ticket, passage: Passage, counted: boolean): void {
    const run = this.cache.peek(ticket.runKey)?.run;
    const begun = ticket.slot !== ADVANCE_SLOT || (run !== undefined && run.journalLength > 0);
    const urgency = counted ? 'counted' : begun ? 'begun' : 'fresh';
    if (this.departures.add(ticket, passage, urgency)) return;
    this.deliveries.asked(ticket, passage);
    this.gates.done(ticket, passage, { kind: 'not-made' });
  }

  private roomMayBe(): void {
    if (this.stopping) return;
    this.gates.roomFreed();
    this.departures.drainSoon();
  }

  private track(work: Promise<unknown>): Promise<void> {
    const settled: Promise<void> = work.then(
      () => {},
      (error: unknown) => {
        if (!this.writes.failed(error)) {
          const details = error instanceof Error ? (error.stack ?? error.message) : String(error);
          this.options.log.error({ error: details }, 'task processing failed, retrying');
        }
        this.due.restart();
      },
    );
    this.underWay.add(settled);
    void settled.then(() => this.underWay.delete(settled));
    return settled;
  }
}
