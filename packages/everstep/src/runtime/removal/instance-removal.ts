/**
 * Cleans up after deleted queue instances: stops their running work immediately, and removes their rows in small steps with pauses.
 * The store contains the deleted instances, so a restart continues. If several nodes share the store, one of them removes rows.
 * Keeps invariant 21.
 */
import { LIMITS } from '../../config/limits.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { DeletedInstance, DeletedInstanceStore } from '../../ports/stores/accounts/deleted-instances.js';
import type { InstallationSecretStore } from '../../ports/stores/accounts/installation-secrets.js';
import { alertSettingsName } from '../../ports/stores/alerts/alert-store.js';
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
    readonly accounts: DeletedInstanceStore & Pick<InstallationSecretStore, 'deleteSecret'>;
  };
  readonly clock: Clock;
  /** Measures steps and the pauses after them. Defaults to `clock`. */
  readonly paceClock?: Clock;
  readonly log: Log;
  /** Stops the running work of the instance in this process. */
  readonly stopInstance: (instanceId: string) => void;
  /**
   * Does the work and resolves with true, or resolves with false if another node is doing it. Absent if no other node
   * shares the store.
   */
  readonly tryExclusively?: (work: () => Promise<void>) => Promise<boolean>;
}

export class InstanceRemoval {
  private readonly options: InstanceRemovalOptions;
  private readonly paceClock: Clock;
  private readonly pace = new StepPace(PACE);
  private deletedInstances: ReadonlyMap<string, DeletedInstance> = new Map();
  private cancelTimer: () => void = () => {};
  private endPause: () => void = () => {};
  private currentRemoval: Promise<void> | null = null;
  private isStopped = false;

  constructor(options: InstanceRemovalOptions) {
    this.options = options;
    this.paceClock = options.paceClock ?? options.clock;
  }

  /** Whether the queue instance was deleted. Nothing is delivered or accepted for it. */
  isDeleted(instanceId: string): boolean {
    return this.deletedInstances.has(instanceId);
  }

  /** Whether no removal is in progress. */
  get isIdle(): boolean {
    return this.currentRemoval === null;
  }

  /** Resolves when the removal in progress is done. */
  async settled(): Promise<void> {
    await this.currentRemoval;
  }

  /**
   * Reads the deleted instances, stops the new ones, and starts to remove their rows. Resolves when they are stopped. Never
   * rejects; a failed read is repeated later.
   */
  async refresh(): Promise<void> {
    if (this.isStopped) return;
    const { store, log, stopInstance } = this.options;
    try {
      const instances = await store.accounts.listDeletedInstances();
      const previous = this.deletedInstances;
      this.deletedInstances = new Map(instances.map((instance) => [instance.instanceId, instance]));
      for (const instanceId of this.deletedInstances.keys()) if (!previous.has(instanceId)) stopInstance(instanceId);
      if (this.deletedInstances.size > 0) void this.remove();
    } catch (error) {
      log.error({ error: String(error), retryAfterMs: this.refreshAfterMs }, 'could not list deleted queue instances');
    }
    this.refreshLater();
  }

  /** Resolves when the step in progress is done. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.cancelTimer();
    this.endPause();
    await this.currentRemoval;
  }

  /**
   * Repeats the read later, because a node can miss the notification of another one. A single process makes all deletions
   * itself.
   */
  private refreshLater(): void {
    this.cancelTimer();
    const { clock } = this.options;
    const delayMs = this.refreshAfterMs;
    if (this.isStopped || delayMs === null) return;
    this.cancelTimer = clock.setTimer(clock.now() + delayMs, () => void this.refresh());
  }

  /** Time until the next read. Null if a single process has nothing to remove; it reads again after the next deletion. */
  private get refreshAfterMs(): number | null {
    if (this.options.tryExclusively !== undefined) return LIMITS.deletedInstancePollMs;
    return this.deletedInstances.size === 0 ? null : LIMITS.deletedInstanceRecheckMs;
  }

  private remove(): Promise<void> {
    const { tryExclusively, log } = this.options;
    const work = tryExclusively ? () => tryExclusively(() => this.removeAll()).then(() => {}) : () => this.removeAll();
    this.currentRemoval ??= work()
      .catch((error: unknown) =>
        log.error(
          { error: String(error), retryAfterMs: this.refreshAfterMs },
          'could not remove rows of deleted queue instances, retrying',
        ),
      )
      .finally(() => {
        this.currentRemoval = null;
      });
    return this.currentRemoval;
  }

  private async removeAll(): Promise<void> {
    const { store, clock, log } = this.options;
    for (const { instanceId, deletedAt } of await store.accounts.listDeletedInstances()) {
      // A request that was admitted before the deletion can have stored them again.
      await store.accounts.deleteSecret({ name: alertSettingsName(instanceId) });
      let removedRows = 0;
      const isEmptied = await this.repeat(async () => {
        const count = await store.removeInstanceRows({ instanceId, limit: this.pace.items });
        removedRows += count;
        return count > 0;
      });
      if (!isEmptied) return;
      if (removedRows > 0) log.info({ instanceId, rows: removedRows }, 'removed rows of a deleted queue instance');
      await store.accounts.markEmptied({ instanceId, at: clock.now() });
      // A request that was admitted before the deletion can still write after it.
      if (clock.now() - deletedAt >= LIMITS.deletedInstanceKeptMs) await store.accounts.removeDeletedInstance({ instanceId });
    }
    await this.repeat(() => store.releaseSpace());
  }

  /** Repeats a step until it removes nothing. Returns false if the removal was stopped before that. */
  private async repeat(step: () => Promise<boolean>): Promise<boolean> {
    while (!this.isStopped) {
      const startedAt = this.paceClock.now();
      const hasMore = await step();
      if (!hasMore) return true;
      const stepMs = this.paceClock.now() - startedAt;
      this.pace.stepTook(stepMs);
      await this.pause(this.pace.pauseMs(stepMs, false));
    }
    return false;
  }

  private async pause(pauseMs: number): Promise<void> {
    const { paceClock } = this;
    for (let turn = 0; turn < TURNS_BETWEEN_STEPS && !this.isStopped; turn++) {
      await new Promise<void>((resolve) => paceClock.endOfTurn(resolve));
    }
    if (pauseMs < 1 || this.isStopped) return;
    await new Promise<void>((resolve) => {
      const cancel = paceClock.setTimer(paceClock.now() + pauseMs, resolve);
      this.endPause = () => {
        cancel();
        resolve();
      };
    });
  }
}
