/**
 * Takes events to the engine, one after the other for each run, and makes
 * what it decides durable before anybody acts on it. Decisions are taken on
 * the state in memory without waiting for the disk.
 * Keeps invariants 22 and 23.
 */

import type { DecisionContext, MessageLimit } from '../../engine/ids.js';
import { decide, type RunEvent } from '../../engine/runs/decide.js';
import type { Decision } from '../../engine/runs/decision.js';
import type { Run, Task } from '../../engine/runs/run.js';
import type { CommitResult, CommitUnit } from '../../engine/writes.js';
import type { Log } from '../../ports/log.js';
import type { StoreWritesState } from '../../ports/stores/store-writes.js';
import type { Committer } from '../commits/committer.js';
import type { CachedRun, RunCache } from './run-cache.js';

export interface DecisionsOptions {
  readonly cache: RunCache;
  readonly committer: Committer;
  readonly log: Log;
  readonly writes: StoreWritesState;
  readonly context: () => DecisionContext;
  /** Of the instance that a run belongs to. */
  readonly messageLimit: (instanceId: string) => MessageLimit | null;
  /** A decision is durable; `before` is the run as it was decided on. */
  readonly onDurable: (entry: CachedRun, decision: Decision, before: Run) => void;
  /** A batch was lost: what is owed has to be read again. */
  readonly onLost: () => void;
  /** Another process has decided on a run: what is owed since may have been looked for in the state before that. */
  readonly onMoved: () => void;
  /** Other processes decide on the runs, too: then a state in memory is what was known last, and may be old. */
  readonly isShared: boolean;
}

/** Of these somebody else hears that there was nothing to do, or nobody comes again: not to be told of an old state. */
const MUST_NOT_MISS: ReadonlySet<RunEvent['kind']> = new Set<RunEvent['kind']>([
  'cancel',
  'event-received',
  'invoke-ended',
  'invoke-started',
  'notified',
  'notify-done',
]);

/** Told of a decision when it is durable, before anybody acts on it. */
export type OnDurable = (entry: CachedRun, decision: Decision) => void;

interface DecideOptions {
  /** Shown the run as it is decided on. */
  readonly look?: (run: Run) => void;
  readonly onDurable?: OnDurable | undefined;
}

export class Decisions {
  private readonly options: DecisionsOptions;

  constructor(options: DecisionsOptions) {
    this.options = options;
  }

  /** For units that belong to no active run. When the answer is lost it may have happened all the same. */
  async commit(unit: CommitUnit): Promise<CommitResult> {
    try {
      return await this.options.committer.submit(unit);
    } catch (error) {
      this.options.onLost();
      throw error;
    }
  }

  /** False once the state was let go, after a lost batch for instance: nothing may be decided on it any more. */
  isCurrent(entry: CachedRun): boolean {
    return this.options.cache.peek(entry.run.key) === entry;
  }

  /**
   * Whether nobody has decided on the run since this state: the store is asked, behind what is being written. A state that
   * is not the latest is let go. Rejects when the store cannot be asked.
   */
  async isLatest(entry: CachedRun): Promise<boolean> {
    if (!this.options.isShared) return this.isCurrent(entry);
    const { key: runKey, version, instanceId } = entry.run;
    const guards = [{ kind: 'run-active' as const, runKey, version }];
    const result = await this.options.committer.submit({ guards, writes: [] }, undefined, instanceId);
    if (result.kind === 'applied') return this.isCurrent(entry);
    if (entry.run.version === version) this.forget(entry, 'let-finish');
    return false;
  }

  async isActive(runKey: string): Promise<boolean> {
    return (await this.options.cache.load(runKey)) !== null;
  }

  /** What the run owes in the slot, by its latest state. Null when it is not active, or owes nothing there. */
  async openTask(runKey: string, slot: number): Promise<{ readonly entry: CachedRun; readonly task: Task } | null> {
    for (;;) {
      const entry = await this.options.cache.load(runKey);
      if (!entry) return null;
      const task = entry.run.tasks.get(slot);
      if (task) return { entry, task };
      if (await this.isLatest(entry)) return null;
    }
  }

  /** Lets the state go, and gives up what is out for it, unless that may still finish. */
  forget(entry: CachedRun, deliveries: 'give-up' | 'let-finish' = 'give-up'): void {
    if (this.isCurrent(entry)) this.options.cache.drop(entry.run.key);
    if (entry.deliveries > 0 && deliveries === 'give-up') entry.control?.abort();
  }

  /** Decides on this state, makes durable, acts. Null when the event had no effect, or its batch was lost: then the run is read again. */
  async apply(entry: CachedRun, event: RunEvent, onDurable?: OnDurable): Promise<Decision | null> {
    try {
      return await this.applyOrReject(entry, event, onDurable);
    } catch (error) {
      this.lost(entry.run.key, error);
      return null;
    }
  }

  /** The same, but rejects when its batch was lost. */
  async applyOrReject(entry: CachedRun, event: RunEvent, onDurable?: OnDurable): Promise<Decision | null> {
    const decision = await this.applyOrThrow(entry, event, onDurable);
    return decision === 'moved' ? this.decideOn(entry.run.key, event, { onDurable }) : decision;
  }

  /** Logs a lost batch, except when the store is unavailable: that is logged once, when it begins. */
  lost(runKey: string, error: unknown): void {
    if (this.options.writes.failed(error)) return;
    this.options.log.error({ runKey, error: String(error) }, 'batch write failed, reading its runs again');
  }

  /**
   * The same for whoever has no state of the run yet. Null when the run is not active, or the event had no effect.
   * Rejects when its batch was lost.
   */
  async decideOn(runKey: string, event: RunEvent, { look, onDurable }: DecideOptions = {}): Promise<Decision | null> {
    for (;;) {
      const entry = await this.options.cache.load(runKey);
      if (!entry) return null;
      if (!this.isCurrent(entry)) continue;
      look?.(entry.run);
      const decision = await this.applyOrThrow(entry, event, onDurable);
      if (decision !== 'moved') return decision;
    }
  }

  /** `moved`: another process has decided on the run meanwhile, so this state is no more, and nothing was decided on it. */
  private async applyOrThrow(entry: CachedRun, event: RunEvent, noted?: OnDurable): Promise<Decision | 'moved' | null> {
    // Let go since: where others decide, too, because one of them has, and then nobody here reads again what is owed.
    if (!this.isCurrent(entry)) return this.options.isShared ? 'moved' : null;
    const { committer, context, messageLimit, onDurable, onLost, onMoved } = this.options;
    const before = entry.run;
    const decision = decide(before, event, { ...context(), messageLimit: messageLimit(before.instanceId) });
    if (decision.writes.length === 0) {
      return !MUST_NOT_MISS.has(event.kind) || (await this.isLatest(entry)) ? null : 'moved';
    }
    entry.run = decision.run;
    entry.uncommitted++;
    this.options.cache.changed(entry, before, decision.writes);
    let result: CommitResult;
    try {
      const { key: runKey, version } = before;
      const guards = [{ kind: 'run-active' as const, runKey, version, next: decision.run.version }];
      const unit = { guards, writes: decision.writes };
      // The state in memory is ahead of the disk: forget it before anything else is decided on it. Deliveries that are in
      // flight finish: their answers are decided on the state that is read again, so nothing is executed twice.
      result = await committer.submit(unit, () => this.forget(entry, 'let-finish'), before.instanceId);
    } catch (error) {
      onLost();
      throw error;
    } finally {
      entry.uncommitted--;
    }
    if (result.kind === 'run-moved') {
      // What is out for it goes on: its answer is decided on the state that it finds.
      this.forget(entry, 'let-finish');
      onMoved();
      return 'moved';
    }
    if (result.kind !== 'applied') {
      this.forget(entry);
      return null;
    }
    entry.durable = decision.run;
    noted?.(entry, decision);
    onDurable(entry, decision, before);
    return decision;
  }
}
