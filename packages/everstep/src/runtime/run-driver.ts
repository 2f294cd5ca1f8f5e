/**
 * Drives active runs: acts on what is due, takes each outcome to the engine,
 * makes the decision durable, and only then acts on what it said. A crash at
 * any point is safe, because what is owed stands in the store as tasks.
 */
import { LIMITS } from '../config/limits.js';
import { decide, type RunEvent } from '../engine/decide.js';
import type { Decision } from '../engine/decision.js';
import type { DecisionContext } from '../engine/ids.js';
import { ADVANCE_SLOT, type Run, type RunPayload } from '../engine/run.js';
import type { CommitResult, CommitUnit } from '../engine/writes.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { Random } from '../ports/random.js';
import type { StepCaller } from '../ports/step-caller.js';
import type { Store, TaskReference } from '../ports/store.js';
import { BurstGate } from './burst-gate.js';
import { Committer } from './committer.js';
import { deliver } from './deliverer.js';
import { DueTasks } from './due-tasks.js';
import { EndWatch } from './end-watch.js';
import { type Ready, ReadyQueue } from './ready-queue.js';
import { type CachedRun, RunCache } from './run-cache.js';

const CACHE_CAPACITY = 5_000;
const KEPT_PAYLOAD_BYTES = 64 * 1024;

export interface RunDriverOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly stepCaller: StepCaller;
  readonly log: Log;
}

const hostOf = (workflowUrl: string): string => {
  const end = workflowUrl.indexOf('/', workflowUrl.indexOf('//') + 2);
  return end === -1 ? workflowUrl : workflowUrl.slice(0, end);
};

export class RunDriver {
  readonly ends: EndWatch;
  private readonly options: RunDriverOptions;
  private readonly committer: Committer;
  private readonly cache: RunCache;
  private readonly ready = new ReadyQueue({
    maxInFlight: LIMITS.maxDeliveriesInFlight,
    maxInFlightPerHost: LIMITS.maxConnectionsPerHost,
  });
  private readonly due: DueTasks;
  private readonly underWay = new Set<Promise<void>>();
  private readonly burst = new BurstGate();
  private recheck: (() => void) | null = null;
  private drainScheduled = false;
  private stopping = false;

  constructor(options: RunDriverOptions) {
    this.options = options;
    this.committer = new Committer(options.store, options.clock);
    this.cache = new RunCache(options.store, CACHE_CAPACITY);
    this.ends = new EndWatch(options.clock);
    this.due = new DueTasks({
      store: options.store,
      clock: options.clock,
      log: options.log,
      take: (task) => this.takeDue(task),
      backlog: () => this.ready.size,
    });
  }

  get context(): DecisionContext {
    return { now: this.options.clock.now(), random: this.options.random };
  }

  start(): Promise<void> {
    return this.due.start();
  }

  /** Takes on nothing new, waits at most `graceMs` for what is under way, then gives it up; it is delivered again at the next start. */
  async stop(graceMs: number): Promise<void> {
    this.stopping = true;
    await this.due.stop();
    this.recheck?.();
    const { clock } = this.options;
    await new Promise<void>((resolve) => {
      const cancel = clock.setTimer(clock.now() + graceMs, resolve);
      void Promise.allSettled([...this.underWay]).then(() => {
        cancel();
        resolve();
      });
    });
    this.cache.giveUpDeliveries();
    await Promise.allSettled([...this.underWay]);
    this.ends.releaseAll();
    await this.committer.settled();
  }

  /** For units that make runs. When the answer is lost it may have happened all the same, so what is owed is read again. */
  async commit(unit: CommitUnit): Promise<CommitResult> {
    try {
      return await this.committer.submit(unit);
    } catch (error) {
      this.due.restart();
      throw error;
    }
  }

  /** A run that was just made durable: keeps it in memory and acts on its first tasks. */
  begin(run: Run, payload: RunPayload): void {
    this.burst.triggered(this.options.clock.now());
    // A scan may have found it already: what is visible in the store is not always answered yet. Then that state counts.
    const entry = this.cache.peek(run.key) ?? this.cache.add(run, payload);
    const now = this.options.clock.now();
    // Kept in memory only until it is sent, and only when that is soon and it is small.
    if (payload.body.length > KEPT_PAYLOAD_BYTES || [...run.tasks.values()].every(({ dueAt }) => dueAt === null || dueAt > now)) {
      entry.payload = null;
    }
    for (const task of run.tasks.values()) this.schedule(entry, task.slot, task.dueAt);
  }

  /** Cancels an active run. False when it is not active (any more). */
  async cancel(runKey: string): Promise<boolean> {
    for (;;) {
      const entry = await this.cache.load(runKey);
      if (!entry) return false;
      if (this.isCurrent(entry)) return this.apply(entry, { kind: 'cancel' });
    }
  }

  async isActive(runKey: string): Promise<boolean> {
    return (await this.cache.load(runKey)) !== null;
  }

  /** False once the state was let go, after a lost batch for instance: nothing may be decided on it any more. */
  private isCurrent(entry: CachedRun): boolean {
    return this.cache.peek(entry.run.key) === entry;
  }

  /** Decides, makes durable, acts. True when the event had an effect. */
  private async apply(entry: CachedRun, event: RunEvent): Promise<boolean> {
    if (!this.isCurrent(entry)) return false;
    const decision = decide(entry.run, event, this.context);
    if (decision.writes.length === 0) return false;
    const runKey = entry.run.key;
    entry.run = decision.run;
    entry.uncommitted++;
    let result: CommitResult;
    try {
      const unit = { guards: [{ kind: 'run-active' as const, runKey }], writes: decision.writes };
      // The state in memory is ahead of the disk: forget it before anything else is decided on it.
      result = await this.committer.submit(unit, () => this.forget(entry));
    } catch (error) {
      this.options.log.error({ runKey, error: String(error) }, 'a batch could not be written; its runs are read again');
      this.due.restart();
      return false;
    } finally {
      entry.uncommitted--;
    }
    if (result.kind !== 'applied') {
      this.forget(entry);
      return false;
    }
    entry.durable = decision.run;
    this.actOn(entry, decision);
    return true;
  }

  private forget(entry: CachedRun): void {
    if (this.isCurrent(entry)) this.cache.drop(entry.run.key);
    if (entry.deliveries > 0) entry.control?.abort();
  }

  private actOn(entry: CachedRun, decision: Decision): void {
    if (decision.outcome) {
      this.forget(entry);
      this.ends.ended(decision.run.key);
      return;
    }
    for (const write of decision.writes) {
      if (write.kind === 'put-task') this.schedule(entry, write.task.slot, entry.run.tasks.get(write.task.slot)?.dueAt ?? null);
    }
  }

  private schedule(entry: CachedRun, slot: number, dueAt: number | null): void {
    if (dueAt === null) return;
    if (dueAt > this.options.clock.now()) this.due.expect(dueAt);
    else if (entry.run.tasks.get(slot)?.kind === 'sleep') this.track(this.apply(entry, { kind: 'due', slot }));
    else this.enqueue(entry.run, slot);
  }

  private enqueue(run: Run, slot: number): void {
    const begun = slot !== ADVANCE_SLOT || run.journalLength > 0;
    const { clock } = this.options;
    if (this.ready.add(hostOf(run.workflowUrl), { runKey: run.key, slot }, begun, clock.now())) this.drainSoon();
  }

  /** A due task as the store tells of it: the run may have moved on since. */
  private async takeDue(reference: TaskReference): Promise<void> {
    const entry = await this.cache.load(reference.runKey);
    const task = entry?.run.tasks.get(reference.slot);
    if (entry && task) this.schedule(entry, task.slot, task.dueAt);
  }

  /** What becomes due together is handed out together. */
  private drainSoon(): void {
    if (this.drainScheduled || this.stopping) return;
    this.drainScheduled = true;
    queueMicrotask(() => {
      this.drainScheduled = false;
      this.drain();
    });
  }

  private drain(): void {
    if (this.stopping) return;
    const { clock } = this.options;
    const fresh = this.ready.fresh;
    const allowed = this.burst.allowance(clock.now(), fresh);
    this.ready.drain(allowed, (host, task) => this.track(this.act(host, task)));
    if (fresh.count <= allowed || this.recheck) return;
    this.recheck = clock.setTimer(clock.now() + this.burst.recheckMs, () => {
      this.recheck = null;
      this.drainSoon();
    });
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

  private async act(host: string, reference: Ready): Promise<void> {
    let entry: CachedRun | null = null;
    let event: RunEvent | null = null;
    try {
      entry = await this.cache.load(reference.runKey);
      const task = entry?.durable.tasks.get(reference.slot);
      // A decision that is being written has something else in mind for the slot: whatever that is, it is scheduled
      // once it is durable. To deliver the old task now would also keep the new one out of the queue.
      const settled = task === entry?.run.tasks.get(reference.slot);
      if (entry && task && settled && task.kind !== 'sleep' && task.dueAt !== null && task.dueAt <= this.options.clock.now()) {
        event = await deliver(this.options.store, this.options.stepCaller, entry, task);
      }
    } finally {
      this.ready.done(host, reference);
      this.drainSoon();
      this.due.resume();
    }
    if (!entry) return;
    if (event && this.isCurrent(entry)) await this.apply(entry, event);
    // The state was let go while the endpoint worked, so the answer belongs to nothing. If the run goes on, ask again.
    else if (!this.isCurrent(entry) && !this.stopping) this.enqueue(entry.run, reference.slot);
  }
}
