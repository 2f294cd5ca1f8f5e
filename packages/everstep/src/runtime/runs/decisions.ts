/**
 * Passes events to the engine, one after the other for each run, and makes each decision durable before anything acts on it.
 * Decisions are made on the state in memory, without waiting for the disk.
 *
 * Keeps invariants 22 and 23.
 */
import { lifecycleNotices, type Notice } from '../../engine/alerts/lifecycle.js';
import type { DecisionContext } from '../../engine/ids.js';
import { decide, type RunEvent } from '../../engine/runs/decide.js';
import type { Decision, NewRun } from '../../engine/runs/decision.js';
import type { Run, Task } from '../../engine/runs/run.js';
import type { CommitResult, CommitUnit } from '../../engine/writes.js';
import type { Cluster } from '../../ports/cluster.js';
import type { Log } from '../../ports/log.js';
import type { InstanceLimits } from '../../ports/stores/instance-limits.js';
import type { StoreWritesState } from '../../ports/stores/store-writes.js';
import type { CachedAlertSettings } from '../alerts/alert-settings-cache.js';
import type { Committer } from '../commits/committer.js';
import type { CachedRun, RunCache } from './run-cache.js';

export interface DecisionsDeps {
  readonly log: Log;
  readonly writes: StoreWritesState;
  readonly context: () => DecisionContext;
  readonly limits: Pick<InstanceLimits, 'messageLimit'>;
  /**
   * The connection to other nodes; null if no other process decides on the runs. If there are others, a state in memory may be
   * out of date.
   */
  readonly cluster: Cluster | null;
  readonly cache: RunCache;
  readonly committer: Committer;
  readonly alerts: CachedAlertSettings;
}

/** What a decision was made on. */
export interface DecisionBasis {
  readonly run: Run;
  readonly event: RunEvent;
}

export interface DecisionListener {
  /** Called when a decision is durable. */
  onDecisionDurable(entry: CachedRun, decision: Decision, basis: DecisionBasis): void;
  /** Called when a notice about the start of a run is durable. */
  onNoticeCreated(notice: NewRun): void;
  /** Called when the response to a batch was lost: pending tasks must be read again. */
  onBatchLost(): void;
  /** Called when another process has decided on a run: tasks that were looked up in the earlier state must be read again. */
  onRunMoved(): void;
}

/**
 * Events that are not repeated, or whose senders learn that they had no effect. They must not be decided on an outdated state.
 */
const MUST_NOT_MISS: ReadonlySet<RunEvent['kind']> = new Set<RunEvent['kind']>([
  'cancel',
  'event-received',
  'invoke-ended',
  'invoke-started',
  'notified',
  'notify-done',
  // An endpoint submits once, to any node.
  'submitted',
]);

/** Called when a decision is durable, before anything acts on it. */
export type OnDurable = (entry: CachedRun, decision: Decision) => void;

interface DecideOptions {
  /** Called with the run on which the decision is made. */
  readonly inspect?: (run: Run) => void;
  readonly onDurable?: OnDurable | undefined;
}

export class Decisions {
  private readonly deps: DecisionsDeps;
  private readonly listener: DecisionListener;

  constructor(deps: DecisionsDeps, listener: DecisionListener) {
    this.deps = deps;
    this.listener = listener;
  }

  /** Commits a unit that belongs to no active run. If the response is lost, the unit may still have been written. */
  async commit(unit: CommitUnit): Promise<CommitResult> {
    const notices = this.startNotices(unit);
    try {
      const noticeWrites = notices.flatMap(({ writes }) => writes);
      const result = await this.deps.committer.submit(
        noticeWrites.length === 0 ? unit : { ...unit, writes: [...unit.writes, ...noticeWrites] },
      );
      if (result.kind === 'applied') for (const notice of notices) this.listener.onNoticeCreated(notice);
      return result;
    } catch (error) {
      this.listener.onBatchLost();
      throw error;
    }
  }

  /** Returns the notices of lifecycle webhooks about the runs that the unit creates. */
  private startNotices({ writes }: CommitUnit): readonly Notice[] {
    const { alerts, context } = this.deps;
    if (alerts.isEmpty) return [];
    return writes.flatMap((write) => {
      const settings = write.kind === 'create-run' ? alerts.of(write.run.instanceId) : null;
      return write.kind === 'create-run' && settings ? lifecycleNotices(write.run, null, settings, context()) : [];
    });
  }

  /** Returns false once the state was dropped, for example after a lost batch. Then no decision may be made on it. */
  isCurrent(entry: CachedRun): boolean {
    return this.deps.cache.peek(entry.run.key) === entry;
  }

  /**
   * Checks that no other process has decided on the run since this state. The store responds after the writes in progress. An
   * outdated state is dropped. Rejects if the store cannot be reached.
   */
  async isLatest(entry: CachedRun): Promise<boolean> {
    if (!this.deps.cluster) return this.isCurrent(entry);
    const { key: runKey, version, instanceId } = entry.run;
    const guards = [{ kind: 'run-active' as const, runKey, version }];
    const result = await this.deps.committer.submit({ guards, writes: [] }, undefined, instanceId);
    if (result.kind === 'applied') return this.isCurrent(entry);
    if (entry.run.version === version) this.forget(entry, 'let-finish');
    return false;
  }

  async isActive(runKey: string): Promise<boolean> {
    return (await this.deps.cache.load(runKey)) !== null;
  }

  /** Resolves with the task in the slot, in the latest state of the run; null if the run is not active or has no task there. */
  async openTask(runKey: string, slot: number): Promise<{ readonly entry: CachedRun; readonly task: Task } | null> {
    for (;;) {
      const entry = await this.deps.cache.load(runKey);
      if (!entry) return null;
      const task = entry.run.tasks.get(slot);
      if (task) return { entry, task };
      if (await this.isLatest(entry)) return null;
    }
  }

  /** Drops the state. Aborts the deliveries in flight, unless they may still finish. */
  forget(entry: CachedRun, deliveries: 'give-up' | 'let-finish' = 'give-up'): void {
    if (this.isCurrent(entry)) this.deps.cache.drop(entry.run.key);
    if (entry.deliveries > 0 && deliveries === 'give-up') entry.abortController?.abort();
  }

  /**
   * Decides on this state, makes the decision durable and acts on it. Resolves with null if the event had no effect, or if its
   * batch was lost and the run is read again.
   */
  async apply(entry: CachedRun, event: RunEvent, onDurable?: OnDurable): Promise<Decision | null> {
    try {
      return await this.applyOrReject(entry, event, onDurable);
    } catch (error) {
      this.logLostBatch(entry.run.key, error);
      return null;
    }
  }

  /** Like `apply`, but rejects if the batch was lost. */
  async applyOrReject(entry: CachedRun, event: RunEvent, onDurable?: OnDurable): Promise<Decision | null> {
    const decision = await this.tryApply(entry, event, onDurable);
    return decision === 'moved' ? this.decideOn(entry.run.key, event, { onDurable }) : decision;
  }

  /** Logs a lost batch, unless the store is unavailable: that is logged once, when it starts. */
  logLostBatch(runKey: string, error: unknown): void {
    if (this.deps.writes.reportFailure(error)) return;
    this.deps.log.error({ runKey, error: String(error) }, 'batch write failed, reloading the run');
  }

  /**
   * Decides on the current state of the run, makes the decision durable and acts on it. Resolves with null if the run is not
   * active, or if the event had no effect. Rejects if the batch was lost.
   */
  async decideOn(runKey: string, event: RunEvent, { inspect, onDurable }: DecideOptions = {}): Promise<Decision | null> {
    for (;;) {
      const entry = await this.deps.cache.load(runKey);
      if (!entry) return null;
      if (!this.isCurrent(entry)) continue;
      inspect?.(entry.run);
      const decision = await this.tryApply(entry, event, onDurable);
      if (decision !== 'moved') return decision;
    }
  }

  /** Resolves with `moved` and decides nothing if the state is no longer the one in memory. */
  private async tryApply(entry: CachedRun, event: RunEvent, onDurable?: OnDurable): Promise<Decision | 'moved' | null> {
    const { committer, context, limits, cache, alerts } = this.deps;
    // The state was dropped, or only removed from memory.
    if (!this.isCurrent(entry)) return 'moved';
    const previousRun = entry.run;
    const { instanceId } = previousRun;
    const decision = decide(previousRun, event, {
      ...context(),
      messageLimit: limits.messageLimit(instanceId),
      alerts: alerts.of(instanceId),
    });
    if (decision.writes.length === 0) {
      return !MUST_NOT_MISS.has(event.kind) || (await this.isLatest(entry)) ? null : 'moved';
    }
    entry.run = decision.run;
    entry.uncommitted++;
    cache.stateChanged(entry, previousRun, decision.writes);
    let result: CommitResult;
    try {
      const { key: runKey, version } = previousRun;
      const guards = [{ kind: 'run-active' as const, runKey, version, next: decision.run.version }];
      const unit = { guards, writes: decision.writes };
      // If the batch is lost, the state in memory is ahead of the disk: it is dropped before another decision is made on it.
      // Deliveries in flight finish. Their responses are decided on the state that is then read, so no step is executed twice.
      result = await committer.submit(unit, () => this.forget(entry, 'let-finish'), previousRun.instanceId);
    } catch (error) {
      this.listener.onBatchLost();
      throw error;
    } finally {
      entry.uncommitted--;
    }
    if (result.kind === 'run-moved') {
      // Deliveries in flight finish: their responses are decided on the state that is then read.
      this.forget(entry, 'let-finish');
      this.listener.onRunMoved();
      return 'moved';
    }
    if (result.kind !== 'applied') {
      this.forget(entry);
      return null;
    }
    entry.durableRun = decision.run;
    onDurable?.(entry, decision);
    this.listener.onDecisionDurable(entry, decision, { run: previousRun, event });
    return decision;
  }
}
