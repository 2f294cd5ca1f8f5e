/**
 * Drives runs: acts on due tasks, passes each outcome of a delivery to the engine, and acts on the decision once it is
 * durable. A crash at any point is safe, because pending work is stored as tasks. `Dispatcher` makes the deliveries.
 *
 * Keeps invariant 3.
 */
import { LIMITS } from '../../config/limits.js';
import type { DecisionContext } from '../../engine/ids.js';
import type { Decision, NewRun } from '../../engine/runs/decision.js';
import { ADVANCE_SLOT, CALLBACK_SLOT, type Run, type Task } from '../../engine/runs/run.js';
import { limitsSetBy, type StartedRun } from '../../engine/runs/start.js';
import type { Submission } from '../../engine/runs/submissions.js';
import type { CommitResult, CommitUnit } from '../../engine/writes.js';
import { NO_OBSERVER } from '../../ports/observer.js';
import type { DueTask } from '../../ports/stores/store.js';
import { Membership } from '../cluster/membership.js';
import { Committer, type DurableWatcher } from '../commits/committer.js';
import { type HintedRun, LiveChanges } from '../commits/live-changes.js';
import type { StoreWrites } from '../commits/store-writes.js';
import { callbackDeliveryOf, deliveryOf } from '../dispatch/delivery-of-task.js';
import { isDeliveryTask } from '../dispatch/delivery-task.js';
import { type DeliveryOutcome, type DeliveryOutcomes, Dispatcher } from '../dispatch/dispatcher.js';
import type { DeliveredEvent } from '../dispatch/requests/step-delivery.js';
import type { Backlog } from '../due/due-instances.js';
import { type DueTaskHandler, DueTasks } from '../due/due-tasks.js';
import type { Delivery, DeliveryRef } from '../gates/delivery.js';
import type { DeliveryGates } from '../gates/delivery-gates.js';
import type { ControlCommits } from '../gates/gate-deps.js';
import type { SubmissionOutcome } from '../interface/runs.js';
import { Callbacks } from '../services/callbacks.js';
import { Events } from '../services/events.js';
import { Invocations } from '../services/invocations.js';
import { type DecisionBasis, type DecisionListener, Decisions } from './decisions.js';
import { type CachedRun, MAX_KEPT_PAYLOAD_BYTES, RunCache, type RunCacheLimits, type StartPayload } from './run-cache.js';
import type { RunDriverOptions } from './run-driver-options.js';
import { RunEndWatchers } from './run-end-watchers.js';
import { createRuntimeDeps, type RuntimeDeps } from './runtime-deps.js';
import { WorkInProgress } from './work-in-progress.js';

/** How long the request of an endpoint that submits steps waits while the store rejects writes. */
const SUBMISSION_WAIT_MS = 10_000;
const CACHED_RUNS: RunCacheLimits = { maxRuns: LIMITS.maxCachedRuns, maxBytes: LIMITS.maxCachedRunBytes };
const RESOLVED = Promise.resolve();

export class RunDriver implements DecisionListener, DeliveryOutcomes, DueTaskHandler, ControlCommits {
  readonly ends: RunEndWatchers;
  readonly decisions: Decisions;
  readonly events: Events;
  readonly callbacks: Callbacks;
  readonly live: LiveChanges;
  readonly dispatcher: Dispatcher;
  /** Called when a run or message has failed after all retries. */
  onDeadLetter: () => void = () => {};
  private readonly deps: RuntimeDeps;
  private readonly committer: Committer;
  private readonly cache: RunCache;
  private readonly invocations: Invocations;
  private readonly due: DueTasks;
  private readonly work: WorkInProgress;
  /** Membership in the cluster; null if no other process uses the store. */
  private readonly membership: Membership | null;
  private isStopping = false;
  /** Time when this driver was created, Unix ms. Runs that were created later were delivered only by it and by other nodes. */
  private readonly createdAt: number;

  constructor(options: RunDriverOptions) {
    const deps = createRuntimeDeps(options);
    this.createdAt = deps.clock.now();
    const { store, clock, limits, owners, writes, cluster, isDeleted, context, observer, traces } = deps;
    this.deps = deps;
    const cache = new RunCache(store, clock, options.cachedRuns ?? CACHED_RUNS, owners);
    this.cache = cache;
    this.live = new LiveChanges({ clock, cluster, runOf: (runKey) => this.hintOf(runKey) });
    const durableObserver: DurableWatcher = {
      isWanted: observer !== NO_OBSERVER,
      onCommitted: (units) => observer.committed(units, (runKey) => this.observedRun(runKey)),
    };
    this.committer = new Committer(store, clock, [this.live, durableObserver], (error) => writes.reportFailure(error), owners);
    this.ends = new RunEndWatchers(clock);
    const decisions = new Decisions({ ...deps, cache, committer: this.committer }, this);
    this.decisions = decisions;
    const due = new DueTasks({ ...deps, handler: this });
    this.due = due;
    this.work = new WorkInProgress(deps, due);
    this.events = new Events({ store, decisions, context, isDeleted, traces });
    this.invocations = new Invocations({
      ...{ store, decisions, context, limits, traces },
      drive: (run, payload) => this.drive({ run, keepsLimits: false }, payload),
    });
    this.callbacks = new Callbacks({
      ...{ store, writes, decisions, context, traces, sender: deps.messageSender },
      scheduleAttempt: (run, task) => this.scheduleCallback(run, task),
    });
    const { callbacks, work } = this;
    this.dispatcher = new Dispatcher(deps, { cache, decisions, callbacks, due, work, commits: this, outcomes: this });
    const { dispatcher, ends, live } = this;
    this.membership =
      cluster &&
      new Membership({
        ...deps,
        cluster,
        cache,
        decisions,
        dispatcher,
        due,
        ends,
        live,
        onChange: options.onChange ?? (() => {}),
      });
    limits.onChange(() => dispatcher.onLimitsChanged());
    writes.onOpen(() => {
      due.restartNow();
      dispatcher.resume();
    });
  }

  get context(): DecisionContext {
    return this.deps.context();
  }
  get gates(): DeliveryGates {
    return this.dispatcher.gates;
  }
  get writes(): StoreWrites {
    return this.deps.writes;
  }
  get backlog(): Backlog {
    return this.dispatcher.backlog;
  }

  async start(): Promise<void> {
    await this.membership?.start();
    await this.due.start();
  }

  /**
   * Accepts no more work and waits for the work in progress, at most `graceMs`. Remaining work is given up and delivered
   * again after the next start.
   */
  async stop(graceMs: number): Promise<void> {
    this.isStopping = true;
    this.membership?.stop();
    this.dispatcher.stop();
    this.live.stop();
    await this.due.stop();
    await this.gates.stop();
    const { clock } = this.deps;
    const stopReleasing = await this.membership?.releaseWhileStopping();
    await new Promise<void>((resolve) => {
      const cancel = clock.setTimer(clock.now() + graceMs, resolve);
      void this.work.settled().then(() => {
        cancel();
        resolve();
      });
    });
    await stopReleasing?.();
    this.writes.stop();
    this.dispatcher.forgetWaiting();
    this.cache.giveUpDeliveries();
    this.dispatcher.abort();
    await this.work.settled();
    this.ends.releaseAll();
    await this.committer.settled();
  }

  /** Resolves when no work is in progress, except deliveries that wait at a gate and work that waits for time to pass. */
  async idle(): Promise<void> {
    for (let quietTurns = 0; quietTurns < 3 && !this.isStopping; ) {
      if (this.work.size > 0) {
        await this.work.next();
        quietTurns = 0;
        continue;
      }
      const isBusy = !this.dispatcher.isIdle || !this.committer.isIdle || !this.due.isIdle;
      quietTurns = isBusy ? 0 : quietTurns + 1;
      await new Promise<void>((resolve) => this.deps.clock.endOfTurn(resolve));
    }
  }

  /** Adds a run that has just become durable to the cache, and acts on its first tasks. */
  drive(startedRun: Pick<StartedRun, 'run' | 'keepsLimits'>, payload: StartPayload): void {
    const { run } = startedRun;
    const { clock, limits, isDeleted } = this.deps;
    if (isDeleted(run.instanceId)) return;
    this.dispatcher.runCreated(run.instanceId);
    limits.onMessagesCounted(run.instanceId);
    const flowControl = limitsSetBy(startedRun);
    if (flowControl) this.gates.recordLimits(run.instanceId, flowControl);
    // A scan may have found the run before the response to its trigger. Then the state that the scan has read is used.
    const entry = this.cache.peek(run.key) ?? this.cache.add(run, payload);
    const now = clock.now();
    // The payload stays in memory only if it is small and sent soon.
    const bodyBytes = payload.body?.length ?? 0;
    if (bodyBytes > MAX_KEPT_PAYLOAD_BYTES || [...run.tasks.values()].every(({ dueAt }) => dueAt === null || dueAt > now)) {
      entry.payload = null;
    }
    for (const task of run.tasks.values()) this.schedule(entry, task);
  }

  /** Cancels an active run. Resolves with false if it is not active. */
  async cancel(runKey: string): Promise<boolean> {
    const isCanceled = (await this.decisions.decideOn(runKey, { kind: 'cancel' })) !== null;
    // Another node may be delivering the run.
    if (isCanceled) this.deps.cluster?.notify({ kind: 'run-canceled', runKey });
    return isCanceled;
  }

  /** Gives up the deliveries in flight of a deleted queue instance, and removes those that wait. */
  stopInstance(instanceId: string): void {
    for (const entry of this.cache.runsOfInstance(instanceId)) {
      this.decisions.forget(entry);
      this.ends.onRunEnded(entry.run.key);
    }
    this.dispatcher.dropInstance(instanceId);
  }

  /**
   * Records the submission of an endpoint. Resolves with `taken` once the submission is durable. If it is not identified, it may
   * be of an earlier run with the same id.
   */
  async submit(
    runKey: string,
    submission: Submission,
    { isIdentified }: { readonly isIdentified: boolean },
  ): Promise<SubmissionOutcome> {
    const deliveryStartedAt = this.cache.peek(runKey)?.deliveryStartedAt;
    return this.writes.persistWithin(SUBMISSION_WAIT_MS, submission, async () => {
      if (!isIdentified && (await this.isUndelivered(runKey))) return 'not-active';
      let isActive = false;
      const inspect = (): void => {
        isActive = true;
      };
      const decision = await this.decisions.decideOn(runKey, { kind: 'submitted', submission, deliveryStartedAt }, { inspect });
      if (!isActive) return 'not-active';
      const isIgnored = decision === null && submission.end !== undefined;
      return isIgnored && (await this.decisions.isActive(runKey)) ? 'end-not-requested' : 'taken';
    });
  }

  /** Returns whether the run is active and certainly nothing of it was delivered, so that no endpoint works on it. */
  private async isUndelivered(runKey: string): Promise<boolean> {
    const entry = await this.cache.load(runKey);
    const task = entry?.run.tasks.get(ADVANCE_SLOT);
    if (!entry || task?.kind !== 'advance' || task.dueAt === null) return false;
    const { nextStepId, replayedLength, createdAt } = entry.run;
    if (nextStepId > 1 || replayedLength >= 0 || task.retried > 0 || this.dispatcher.isInFlight({ runKey, slot: ADVANCE_SLOT }))
      return false;
    // Another node, or this process before a restart, may have delivered a run that is due.
    return task.dueAt > this.deps.clock.now() || (!this.deps.cluster && createdAt > this.createdAt);
  }

  // ---------------------------------------------------------------- decisions

  onDecisionDurable(entry: CachedRun, decision: Decision, basis: DecisionBasis): void {
    const { outcome, writes } = decision;
    const { limits } = this.deps;
    for (const newRun of decision.newRuns ?? []) this.drive({ run: newRun.run, keepsLimits: false }, newRun.payload);
    if (decision.deadLetter) this.onDeadLetter();
    if (outcome) {
      this.handleEnd(entry, decision, basis);
      return;
    }
    for (const write of writes) {
      // A decision writes limits before the calls that they apply to.
      if (write.kind === 'count-messages') limits.onMessagesCounted(write.instanceId);
      if (write.kind === 'put-flow-control') this.gates.recordLimits(write.instanceId, write.flowControl);
      if (write.kind !== 'put-task') continue;
      const task = entry.run.tasks.get(write.task.slot);
      if (task) this.schedule(entry, task);
    }
  }

  onNoticeCreated({ run, payload }: NewRun): void {
    this.drive({ run, keepsLimits: false }, payload);
  }

  onBatchLost(): void {
    this.due.restart();
    this.gates.verifyQueues((runKey) => this.decisions.isActive(runKey));
  }

  onRunMoved(): void {
    this.due.restart();
  }

  private handleEnd(entry: CachedRun, { run, outcome }: Decision, basis: DecisionBasis): void {
    const queue = run.settings.message?.queue;
    if (queue !== undefined) this.gates.leaveQueue({ instanceId: run.instanceId, queue, runKey: run.key });
    // An endpoint that submits the end must still respond to the delivery in which it did so.
    const isSubmittedEnd = outcome?.status === 'succeeded' && run.settings.steps !== undefined;
    this.decisions.forget(entry, isSubmittedEnd ? 'let-finish' : 'give-up');
    if (this.hasDeliveriesElsewhere(basis)) this.deps.cluster?.notify({ kind: 'run-ended', runKey: run.key });
    for (const slot of basis.run.tasks.keys()) this.dispatcher.withdraw({ runKey: run.key, slot });
    this.ends.onRunEnded(run.key);
    if (run.origin?.kind === 'invoke') {
      this.work.track(this.invocations.childEnded(run.key));
    }
    const callbackTask = run.tasks.get(CALLBACK_SLOT);
    if (callbackTask) {
      this.deps.limits.onMessagesCounted(run.instanceId);
      this.scheduleCallback(run, callbackTask);
    }
  }

  /** Returns whether other nodes may have due deliveries of a run that has ended. The end of a canceled run has its own notice. */
  private hasDeliveriesElsewhere({ run: { key: runKey, tasks }, event }: DecisionBasis): boolean {
    if (!this.deps.cluster || event.kind === 'cancel') return false;
    const now = this.deps.clock.now();
    const endedSlot = 'attempt' in event ? event.attempt.slot : null;
    const otherTasks = [...tasks.values()].filter((task) => isDeliveryTask(task) && task.slot !== endedSlot);
    return otherTasks.some(({ slot, dueAt }) => dueAt !== null && dueAt <= now && !this.gates.has({ runKey, slot }));
  }

  private hintOf(runKey: string): HintedRun | undefined {
    const run = this.cache.peek(runKey)?.run;
    return run && { ...run, isLimited: run.settings.flowControl !== null };
  }

  private observedRun(runKey: string): Run | null {
    return this.cache.peek(runKey)?.run ?? null;
  }

  /** Commits a write of the gates. Other nodes keep settings and holds in memory as well. */
  async commitControl(unit: CommitUnit): Promise<CommitResult> {
    try {
      return await this.committer.submit(unit);
    } finally {
      // After a fault, the write is durable if only the response was lost.
      for (const write of unit.writes)
        if (write.kind === 'set-hold' || write.kind === 'set-instance-settings')
          this.deps.cluster?.notify({ kind: 'settings', instanceId: write.instanceId });
    }
  }

  // ---------------------------------------------------------------- outcomes of deliveries

  async onOutcome({ ref, entry, giveUpCount, response }: DeliveryOutcome): Promise<boolean> {
    const { decisions, due } = this;
    // A scan that read the run since then found this delivery still in flight.
    if (entry.giveUpCount !== giveUpCount && !this.isStopping) due.restart();
    if (decisions.isCurrent(entry)) return response !== null && (await this.record(entry, response)) !== null;
    if (this.isStopping) return false;
    // The state was dropped while the endpoint worked.
    const decision = response && (await this.record(entry, response));
    // With several nodes, the node that has decided in the meantime acts on what follows.
    if (!decision && (response === null || !this.deps.cluster)) await this.scheduleAgain(ref);
    return decision !== null;
  }

  /**
   * Decides on the response as soon as the store accepts writes. By then the state may have been dropped. The response counts
   * if its attempt is still the pending one. It can therefore be decided on again if it is unknown whether it was written.
   */
  private async record(entry: CachedRun, { event, onDurable }: DeliveredEvent): Promise<Decision | null> {
    const { decisions } = this;
    const { key: runKey } = entry.run;
    try {
      return await this.writes.persist(event, () =>
        decisions.isCurrent(entry)
          ? decisions.applyOrReject(entry, event, onDurable)
          : decisions.decideOn(runKey, event, { onDurable }),
      );
    } catch (error) {
      decisions.logLostBatch(runKey, error);
      return null;
    }
  }

  private async scheduleAgain({ runKey, slot }: DeliveryRef): Promise<void> {
    // With several nodes, another node may own the task now: this node reads again what it has claimed.
    if (this.deps.cluster) {
      this.due.restart();
      return;
    }
    const entry = await this.cache.load(runKey);
    const task = entry?.run.tasks.get(slot);
    if (entry && task) this.schedule(entry, task);
  }

  // ---------------------------------------------------------------- tasks

  /** Acts on a task of an active run, now or when it is due. Resolves when any decision that is made now is durable. */
  private schedule(entry: CachedRun, task: Task): Promise<void> {
    const { slot, dueAt } = task;
    const { clock, isDeleted, limits } = this.deps;
    if (dueAt === null || isDeleted(entry.run.instanceId)) return RESOLVED;
    if (dueAt > clock.now()) {
      this.due.scanAt(dueAt);
      return RESOLVED;
    }
    switch (task.kind) {
      case 'sleep':
      case 'wait':
        return this.attempt(entry, task, this.decisions.apply(entry, { kind: 'due', slot }));
      case 'notify':
        return this.attempt(entry, task, this.events.executeNotify(entry, task));
      case 'invoke':
        return this.attempt(entry, task, this.invocations.handleTask(entry, task));
      case 'callback':
        return RESOLVED;
      default:
        this.dispatcher.dispatch(deliveryOf(entry.run, task, limits), dueAt);
        return RESOLVED;
    }
  }

  private attempt({ run }: CachedRun, task: Task, decision: Promise<unknown>): Promise<void> {
    return this.work.track(this.due.attempt(run, task, decision));
  }

  private scheduleCallback(run: Run, task: Task): void {
    const { clock, limits } = this.deps;
    if (task.dueAt === null) return;
    if (task.dueAt > clock.now()) this.due.scanAt(task.dueAt);
    else this.dispatcher.dispatch(callbackDeliveryOf(run, task, limits), task.dueAt);
  }

  onMessageInOrder(delivery: Delivery): void {
    this.dispatcher.redispatch(delivery);
  }

  /** Acts on a task that a scan has found. The run may have changed since, so the state is checked again before it is sent. */
  async handleDue(dueTask: DueTask, onDecision: (decision: Promise<void>) => void): Promise<void> {
    const { runKey, slot } = dueTask;
    if (this.deps.isDeleted(dueTask.instanceId)) return;
    this.cache.dropOlder(runKey, dueTask.runVersion);
    switch (dueTask.kind) {
      case 'advance':
      case 'step':
      case 'call':
      case 'callback':
      case 'message':
        this.dispatcher.dispatchDue(dueTask);
        return;
      default: {
        const openTask = await this.decisions.openTask(runKey, slot);
        if (!openTask) return;
        const { entry, task } = openTask;
        // The due time of an invocation was written by the run that ended, after the state in memory.
        onDecision(
          task.kind === 'invoke'
            ? this.attempt(entry, task, this.invocations.handleTask(entry, task))
            : this.schedule(entry, task),
        );
      }
    }
  }
}
