/**
 * Cleans up after deleted queue instances: stops their running work immediately, and removes their rows in small steps with pauses.
 * The store contains the deleted instances, so a restart continues. If several nodes share the store, one of them removes rows.
 * Keeps invariant 21.
 */
import { LIMITS } from '../../config/limits.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { DeletedInstance, DeletedInstanceStore } from '../../ports/stores/accounts/deleted-instances.js';
import type { UpkeepStore } from '../../ports/stores/upkeep-store.js';
import { StepPace } from '../turns/step-pace.js';

/** Turns of the event loop between two steps. */
const TURNS_BETWEEN_STEPS = 32;
const PACE = {
  stepMs: LIMITS.retentionStepMs,
  minItems: LIMITS.minRemovedRows,
  maxItems: LIMITS.maxRemovedRows,
  pauseRatio: 4,
  maxPauseMs: 250,
};

export interface InstanceRemovalOptions {
  readonly store: UpkeepStore & {
    readonly accounts: DeletedInstanceStore;
  };
  readonly clock: Clock;
  /** Measures steps and the pauses after them. Absent: `clock`. */
  readonly paceClock?: Clock;
  readonly log: Log;
  /** Stops the running work of the instance in this process. */
  readonly stopInstance: (instanceId: string) => void;
  /**
   * Does the work and resolves with true, or resolves with false if another node is doing it. Absent: no other node shares the
   * store.
   */
  readonly tryExclusively?: (work: () => Promise<void>) => Promise<boolean>;
}

export class InstanceRemoval {
  private readonly options: InstanceRemovalOptions;
  private readonly paceClock: Clock;
  private readonly pace = new StepPace(PACE);
  private deleted: ReadonlyMap<string, DeletedInstance> = new Map();
  private cancelTimer: () => void = () => {};
  private endPause: () => void = () => {};
  private removing: Promise<void> | null = null;
  private stopped = false;

  constructor(options: InstanceRemovalOptions) {
    this.options = options;
    this.paceClock = options.paceClock ?? options.clock;
  }

  /** Whether the queue instance was deleted. Nothing is delivered or accepted for it. */
  isDeleted(instanceId: string): boolean {
    return this.deleted.has(instanceId);
  }

  /** Whether no removal is in progress. */
  get idle(): boolean {
    return this.removing === null;
  }

  /** Resolves when the removal in progress is done. */
  async settled(): Promise<void> {
    await this.removing;
  }

  /**
   * Reads the deleted instances, stops the new ones, and starts to remove their rows. Resolves when they are stopped. Never
   * rejects; a failed read is repeated later.
   */
  async refresh(): Promise<void> {
    if (this.stopped) return;
    const { store, log, stopInstance } = this.options;
    try {
      const instances = await store.accounts.listDeletedInstances();
      const previous = this.deleted;
      this.deleted = new Map(instances.map((instance) => [instance.instanceId, instance]));
      for (const instanceId of this.deleted.keys()) if (!previous.has(instanceId)) stopInstance(instanceId);
      if (this.deleted.size > 0) void this.remove();
    } catch (error) {
      log.error({ error: String(error) }, 'could not list deleted queue instances, retrying');
    }
    this.refreshLater();
  }

  /** Resolves when the step in progress is done. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.cancelTimer();
    this.endPause();
    await this.removing;
  }

  /**
   * Repeats the read later, because a node can miss the notification of another one. A single process makes all deletions
   * itself.
   */
  private refreshLater(): void {
    this.cancelTimer();
    const isShared = this.options.tryExclusively !== undefined;
    if (this.stopped || (!isShared && this.deleted.size === 0)) return;
    const { clock } = this.options;
    const delayMs = isShared ? LIMITS.deletedInstancePollMs : LIMITS.deletedInstanceRecheckMs;
    this.cancelTimer = clock.setTimer(clock.now() + delayMs, () => void this.refresh());
  }

  private remove(): Promise<void> {
    const { tryExclusively, log } = this.options;
    const work = tryExclusively ? () => tryExclusively(() => this.removeAll()).then(() => {}) : () => this.removeAll();
    this.removing ??= work()
      .catch((error: unknown) =>
        log.error({ error: String(error) }, 'could not remove rows of deleted queue instances, retrying'),
      )
      .finally(() => {
        this.removing = null;
      });
    return this.removing;
  }

  private async removeAll(): Promise<void> {
    const { store, clock, log } = this.options;
    for (const { instanceId, deletedAt } of await store.accounts.listDeletedInstances()) {
      let removed = 0;
      const isEmptied = await this.repeat(async () => {
        const count = await store.removeInstanceRows({ instanceId, limit: this.pace.items });
        removed += count;
        return count > 0;
      });
      if (!isEmptied) return;
      if (removed > 0) log.info({ instanceId, rows: removed }, 'removed rows of a deleted queue instance');
      await store.accounts.noteEmptied({ instanceId, at: clock.now() });
      // A request that was admitted before the deletion can still write after it.
      if (clock.now() - deletedAt >= LIMITS.deletedInstanceKeptMs) await store.accounts.forgetDeleted({ instanceId });
    }
    await this.repeat(() => store.releaseSpace());
  }

  /** Repeats a step until it removes nothing. Returns false if this was stopped before. */
  private async repeat(step: () => Promise<boolean>): Promise<boolean> {
    while (!this.stopped) {
      const since = this.paceClock.now();
      const more = await step();
      if (!more) return true;
      const tookMs = this.paceClock.now() - since;
      this.pace.stepTook(tookMs);
      await this.pause(this.pace.pauseMs(tookMs, false));
    }
    return false;
  }

  private async pause(pauseMs: number): Promise<void> {
    const { paceClock } = this;
    for (let turn = 0; turn < TURNS_BETWEEN_STEPS && !this.stopped; turn++) {
      await new Promise<void>((resolve) => paceClock.endOfTurn(resolve));
    }
    if (pauseMs < 1 || this.stopped) return;
    await new Promise<void>((resolve) => {
      const cancel = paceClock.setTimer(paceClock.now() + pauseMs, resolve);
      this.endPause = () => {
        cancel();
        resolve();
      };
    });
  }
}
