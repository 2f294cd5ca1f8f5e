/**
 * Takes events to the engine, one after the other for each run, and makes
 * what it decides durable before anybody acts on it. Decisions are taken on
 * the state in memory without waiting for the disk.
 */
import { decide, type RunEvent } from '../engine/decide.js';
import type { Decision } from '../engine/decision.js';
import type { DecisionContext, MessageLimit } from '../engine/ids.js';
import type { Run } from '../engine/run.js';
import type { CommitResult, CommitUnit } from '../engine/writes.js';
import type { Log } from '../ports/log.js';
import type { Committer } from './committer.js';
import type { CachedRun, RunCache } from './run-cache.js';

export interface DecisionsOptions {
  readonly cache: RunCache;
  readonly committer: Committer;
  readonly log: Log;
  readonly context: () => DecisionContext;
  /** Of the instance that a run belongs to. */
  readonly messageLimit: (instanceId: string) => MessageLimit | null;
  /** A decision is durable; `before` is the run as it was decided on. */
  readonly onDurable: (entry: CachedRun, decision: Decision, before: Run) => void;
  /** A batch was lost: what is owed has to be read again. */
  readonly onLost: () => void;
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

  /** Lets the state go, and gives up what is out for it, unless that may still finish. */
  forget(entry: CachedRun, deliveries: 'give-up' | 'let-finish' = 'give-up'): void {
    if (this.isCurrent(entry)) this.options.cache.drop(entry.run.key);
    if (entry.deliveries > 0 && deliveries === 'give-up') entry.control?.abort();
  }

  /** Decides on this state, makes durable, acts. Null when the event had no effect, or its batch was lost: then the run is read again. */
  async apply(entry: CachedRun, event: RunEvent): Promise<Decision | null> {
    try {
      return await this.applyOrThrow(entry, event);
    } catch (error) {
      this.options.log.error(
        { runKey: entry.run.key, error: String(error) },
        'a batch could not be written; its runs are read again',
      );
      return null;
    }
  }

  /**
   * The same for whoever has no state of the run yet. Null when the run is not active, or the event had no effect.
   * Rejects when its batch was lost. `look` is shown the run as it is decided on.
   */
  async decideOn(runKey: string, event: RunEvent, look?: (run: Run) => void): Promise<Decision | null> {
    for (;;) {
      const entry = await this.options.cache.load(runKey);
      if (!entry) return null;
      if (!this.isCurrent(entry)) continue;
      look?.(entry.run);
      return this.applyOrThrow(entry, event);
    }
  }

  private async applyOrThrow(entry: CachedRun, event: RunEvent): Promise<Decision | null> {
    if (!this.isCurrent(entry)) return null;
    const { committer, context, messageLimit, onDurable, onLost } = this.options;
    const before = entry.run;
    const decision = decide(before, event, { ...context(), messageLimit: messageLimit(before.instanceId) });
    if (decision.writes.length === 0) return null;
    entry.run = decision.run;
    entry.uncommitted++;
    let result: CommitResult;
    try {
      const unit = { guards: [{ kind: 'run-active' as const, runKey: before.key }], writes: decision.writes };
      // The state in memory is ahead of the disk: forget it before anything else is decided on it.
      result = await committer.submit(unit, () => this.forget(entry));
    } catch (error) {
      onLost();
      throw error;
    } finally {
      entry.uncommitted--;
    }
    if (result.kind !== 'applied') {
      this.forget(entry);
      return null;
    }
    entry.durable = decision.run;
    onDurable(entry, decision, before);
    return decision;
  }
}
