/**
 * Finds due tasks. Only the store knows the due times: one timer is set to the earliest due time, and a scan reads what
 * became due since the previous scan. Tasks that are due immediately are dispatched by the decision that creates them; they are
 * read here only after a restart or a fault. Queued messages among them are deferred while older messages may be unread.
 *
 * Keeps invariants 3, 10, 15 and 25.
 */
import type { Run, Task } from '../../engine/runs/run.js';
import { interleaveByOwner } from '../../fairness/round-robin.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import { type InstanceOwners, ONE_OWNER } from '../../ports/stores/instance-owners.js';
import type { DueTask, Store } from '../../ports/stores/store.js';
import type { StoreWritesState } from '../../ports/stores/store-writes.js';
import type { Delivery, DeliveryRef } from '../gates/delivery.js';
import { DeferredMessages } from './deferred-messages.js';
import { type Backlog, type DueInstance, DueInstances } from './due-instances.js';
import { type DueSource, StoredTasks, type TaskClaims, UnclaimedTasks } from './due-source.js';
import { FailedTasks } from './failed-tasks.js';

/** Maximum number of tasks that are handled concurrently: some of them have to be read from the store first. */
const MAX_CONCURRENT = 10;
const RETRY_AFTER_FAULT_MS = 1000;
/** With several nodes, a task that another node has released without a notice is found after at most this time. */
const POLL_MS = 1000;

export interface DueTaskHandler {
  /**
   * Acts on the task. `onDecision` receives a promise for each decision, which resolves when it is durable or its `attempt`
   * has failed; deliveries cause none.
   */
  handleDue(task: DueTask, onDecision: (decision: Promise<void>) => void): Promise<void>;
  /** Called with a message that was deferred, when all older messages were handled. */
  onMessageInOrder(delivery: Delivery): void;
  readonly backlog: Backlog;
}

export interface DueTaskOptions {
  readonly store: Pick<Store, 'dueTasks' | 'dueInstances' | 'nextDueAt'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly handler: DueTaskHandler;
  /** The accounts that take turns. If absent, everything belongs to one account. */
  readonly owners?: InstanceOwners;
  /** Nothing is read while this is closed. Call `restartNow` when it opens. */
  readonly writes: StoreWritesState;
  /** Claims due tasks for this node, if several nodes share the store. */
  readonly cluster?: TaskClaims | null;
}

export class DueTasks {
  private readonly options: DueTaskOptions;
  private readonly owners: InstanceOwners;
  private readonly source: DueSource;
  private readonly dueInstances: DueInstances;
  private readonly deferred = new DeferredMessages();
  private readonly failed = new FailedTasks();
  /** Time before which all due tasks were handled, Unix ms, except those of instances whose pages are being read. */
  private handledBefore = Number.NEGATIVE_INFINITY;
  /** Whether tasks may have become due since the last scan. Until the next one, `wakeAt` does not include them. */
  private isBehind = true;
  private shouldRestart = false;
  /** Whether the next restart also reads the tasks that wait for their retries. */
  private shouldForgetFailed = false;
  /** Changes when this node loses all its claims: pages that were read before are stale. */
  private generation = 0;
  private wakeAt = Number.POSITIVE_INFINITY;
  private cancelTimer: () => void = () => {};
  private currentScan: Promise<void> | null = null;
  private shouldScanAgain = false;
  /** Ends the wait of a scan that has nothing to read now. */
  private endWait: () => void = () => {};
  private isStopped = true;

  constructor(options: DueTaskOptions) {
    const { store, cluster, owners = ONE_OWNER, handler } = options;
    this.options = options;
    this.owners = owners;
    this.source = cluster ? new UnclaimedTasks(store, cluster) : new StoredTasks(store);
    this.dueInstances = new DueInstances(owners, handler);
  }

  start(): Promise<void> {
    this.isStopped = false;
    return this.scan();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.cancelTimer();
    this.endWait();
    await this.currentScan;
  }

  /** Whether no scan is in progress. */
  get isIdle(): boolean {
    return this.currentScan === null;
  }

  /** Called when a task was recorded that is due at `dueAt`, in the future. */
  scanAt(dueAt: number): void {
    if (dueAt < this.wakeAt) this.wake(dueAt);
  }

  /**
   * Defers a queued message that was recorded and is due, if older messages of its queue may be unread. Returns false if none
   * is. Only for a process that does not share its store: the nodes of a cluster claim all queued messages in order.
   */
  defer(delivery: Delivery, dueAt: number): boolean {
    if (dueAt < this.handledBeforeOf(delivery.limits.instanceId)) return false;
    this.deferred.add(delivery, dueAt);
    // The timer is late, for example because the machine was suspended.
    if (!this.isBehind && this.wakeAt <= this.options.clock.now()) this.startScan();
    return true;
  }

  /** Removes the message of a task that no longer exists, if it is deferred. */
  withdraw(ref: DeliveryRef): void {
    this.deferred.remove(ref);
  }

  /** Called when a delivery of the instance has ended: its backlog may have space for more. */
  resume(instanceId: string): void {
    if (this.dueInstances.hasCapacityAgain(instanceId)) this.startScan();
  }

  /**
   * Reads all due tasks again, including those that were read before, for example after a lost batch. Tasks that have failed still
   * wait for their retries.
   */
  restart(): void {
    this.shouldRestart = true;
    // A scan that is planned earlier is kept, so that repeated faults do not delay it forever.
    this.scanAt(this.options.clock.now() + RETRY_AFTER_FAULT_MS);
  }

  /** Reads all due tasks again immediately, also those that have failed. */
  restartNow(): void {
    this.shouldRestart = true;
    this.shouldForgetFailed = true;
    this.startScan();
  }

  /** Stops the current scan and starts a new one, because other nodes have taken over all claims of this node. */
  onClaimsLost(): void {
    this.generation++;
    this.restartNow();
  }

  /** Starts a scan, because tasks may be due. */
  startScan(): void {
    if (!this.isStopped) void this.scan();
  }

  private wake(at: number): void {
    if (this.isStopped) return;
    this.cancelTimer();
    this.wakeAt = at;
    this.cancelTimer = this.options.clock.setTimer(at, () => {
      this.wakeAt = Number.POSITIVE_INFINITY;
      void this.scan();
    });
  }

  /** Whether no tasks are read, because their outcome could not be recorded. */
  private get isPaused(): boolean {
    return this.isStopped || !this.options.writes.isOpen;
  }

  private scan(): Promise<void> {
    this.isBehind = true;
    this.shouldScanAgain = true;
    if (this.isPaused) return Promise.resolve();
    this.endWait();
    this.currentScan ??= this.scanAll()
      .catch((error: unknown) => {
        if (!this.options.writes.reportFailure(error))
          this.options.log.error({ error: String(error) }, 'could not read due tasks, retrying in 1 s');
        this.shouldScanAgain = false;
        this.restart();
      })
      .finally(() => {
        this.currentScan = null;
        if (this.shouldScanAgain) void this.scan();
      });
    return this.currentScan;
  }

  /** Reads what is due. Instances with more than a page take turns, and newly due tasks are read between two turns. */
  private async scanAll(): Promise<void> {
    let before = 0;
    while (!this.isPaused) {
      if (this.shouldScanAgain) {
        this.shouldScanAgain = false;
        before = this.options.clock.now();
        await this.readDueTasks(before);
        continue;
      }
      const dueInstance = this.dueInstances.next();
      if (dueInstance) await this.readTasksOf(dueInstance, before);
      else if (!this.dueInstances.isWriting) return;
      else
        await new Promise<void>((resolve) => {
          this.endWait = resolve;
        });
    }
  }

  private async readDueTasks(before: number): Promise<void> {
    const { store, clock, cluster, handler } = this.options;
    // What the timer was set for is read now.
    if (this.wakeAt <= before) {
      this.cancelTimer();
      this.wakeAt = Number.POSITIVE_INFINITY;
    }
    if (cluster) this.scanAt(clock.now() + POLL_MS);
    // Applied only here, so that a scan in progress does not overwrite it.
    if (this.shouldRestart) {
      this.source.restart();
      this.dueInstances.clear();
      this.handledBefore = Number.NEGATIVE_INFINITY;
    }
    this.shouldRestart = false;
    if (this.shouldForgetFailed) this.failed.clear();
    this.shouldForgetFailed = false;
    const { generation } = this;
    const { tasks, unread } = await this.source.readNext(before, this.dueInstances.openInstances);
    if (this.generation !== generation) return;
    for (const [instanceId, readPage] of unread) this.dueInstances.add(instanceId, readPage, this.handledBefore);
    if (!(await this.handleTasks(interleaveByOwner([...this.failed.dueAt(before), ...tasks], this.owners)))) return;
    const nextDueAt = await store.nextDueAt({ after: before });
    this.scanAt(Math.min(nextDueAt ?? Number.POSITIVE_INFINITY, this.failed.nextRetryAt));
    this.handledBefore = before + 1;
    this.isBehind = this.shouldScanAgain;
    const { openInstances } = this.dueInstances;
    for (const instanceId of new Set(tasks.map((task) => task.instanceId)))
      if (!openInstances.has(instanceId) && !handler.backlog.hasCapacity(instanceId))
        this.dueInstances.add(instanceId, this.source.pagesOf(instanceId), this.handledBefore);
    this.passDeferred();
  }

  /** Returns the time before which all due tasks of the instance were handled, Unix ms. */
  private handledBeforeOf(instanceId: string): number {
    const dueInstance = this.dueInstances.of(instanceId);
    if (dueInstance) return dueInstance.handledBefore;
    return this.isBehind ? this.handledBefore : this.wakeAt;
  }

  /** Passes on the deferred messages that are in order now. Must be called in the turn in which more tasks count as handled. */
  private passDeferred(): void {
    for (const delivery of this.deferred.takeBefore((instanceId) => this.handledBeforeOf(instanceId)))
      this.options.handler.onMessageInOrder(delivery);
  }

  private async readTasksOf(dueInstance: DueInstance, before: number): Promise<void> {
    const { generation } = this;
    const { tasks, isLast } = await dueInstance.readPage(before);
    if (this.generation !== generation) return;
    const decisions: Promise<void>[] = [];
    if (!(await this.handleTasks(tasks, (decision) => decisions.push(decision)))) return;
    if (isLast) this.dueInstances.remove(dueInstance);
    else if (decisions.length > 0) {
      dueInstance.isWriting = true;
      void Promise.allSettled(decisions).then(() => {
        dueInstance.isWriting = false;
        this.endWait();
      });
    }
    dueInstance.handledBefore = tasks.at(-1)?.dueAt ?? dueInstance.handledBefore;
    this.passDeferred();
    // Other work of the process gets its turn.
    await new Promise<void>((resolve) => this.options.clock.endOfTurn(resolve));
  }

  /** Acts on the tasks. Resolves with false if the claims were lost in the meantime. */
  private async handleTasks(
    tasks: readonly DueTask[],
    onDecision: (decision: Promise<void>) => void = () => {},
  ): Promise<boolean> {
    const { generation } = this;
    let handledTasks: Promise<void>[] = [];
    for (const task of tasks) {
      if (this.generation !== generation) break;
      this.deferred.remove(task);
      handledTasks.push(this.handleTask(task, onDecision));
      if (handledTasks.length < MAX_CONCURRENT) continue;
      await Promise.all(handledTasks);
      handledTasks = [];
    }
    await Promise.all(handledTasks);
    return this.generation === generation;
  }

  /** Acts on a task. If that fails, only this task is retried. Rejects if the store is unavailable. */
  private async handleTask(task: DueTask, onDecision: (decision: Promise<void>) => void): Promise<void> {
    const { handler, clock } = this.options;
    if (!this.failed.mayHandle(task, clock.now())) return;
    const decisions: Promise<void>[] = [];
    try {
      await handler.handleDue(task, (decision) => {
        decisions.push(decision);
        onDecision(decision);
      });
    } catch (error) {
      this.taskFailed(task, error);
    }
    void Promise.all(decisions).then(() => this.failed.handled(task));
  }

  /**
   * Waits for the decision on a due task that is not a delivery. If it fails, only this task is retried. Rejects if the store is
   * unavailable.
   */
  async attempt(run: Run, { slot, kind }: Task, decision: Promise<unknown>): Promise<void> {
    const { generation } = this;
    const { key: runKey, instanceId, workflowUrl, version: runVersion } = run;
    try {
      await decision;
    } catch (error) {
      // Other nodes have taken over the task.
      if (this.generation !== generation) return;
      const dueAt = this.options.clock.now();
      this.taskFailed({ runKey, slot, kind, instanceId, workflowUrl, runVersion, dueAt, flowControlKey: null }, error);
    }
  }

  /** Plans the retry of a task that has failed. Throws the error if the store is unavailable. */
  private taskFailed(task: DueTask, error: unknown): void {
    const { writes, clock, log } = this.options;
    const isUnavailable = writes.reportFailure(error);
    // With several servers, only the instances of one may be affected.
    if (isUnavailable && !writes.isOpen) throw error;
    const retryAfterMs = this.failed.add(task, clock.now());
    this.scanAt(clock.now() + retryAfterMs);
    const { instanceId, runKey } = task;
    if (!isUnavailable) log.error({ instanceId, runKey, retryAfterMs, error: String(error) }, 'due task failed, retrying');
  }
}
