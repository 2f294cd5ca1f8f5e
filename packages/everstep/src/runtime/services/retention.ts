/**
 * Removes runs that ended and need not be kept any longer, as the settings of
 * their instance say, and gives the space back. It works in steps of a few
 * milliseconds and pauses after each of them for several times as long, so
 * that runs are hardly slower during a sweep. Accounts take turns after each
 * step, then their instances. Whatever a sweep does not finish, for example
 * because the disk fails, is left to the next one.
 */
import { LIMITS } from '../../config/limits.js';
import {
  DEFAULT_INSTANCE_SETTINGS,
  type RetentionRule,
  type RetentionSettings,
  type RetentionState,
} from '../../engine/runs/run.js';
import { byOwner } from '../../fairness/turns.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { RetentionBounds } from '../../ports/stores/instance-limits.js';
import { type InstanceOwners, ONE_OWNER } from '../../ports/stores/instance-owners.js';
import type { RemovalQuery, Store } from '../../ports/stores/store.js';
import { StepPace } from '../turns/step-pace.js';

/** Turns of the event loop that are left to others after each step: few when nothing goes on, long ones when much does. */
const TURNS_BETWEEN_STEPS = 32;
const REPAIR_ITEMS_PER_STEP = 1_000;
const PACE = {
  stepMs: LIMITS.retentionStepMs,
  minItems: LIMITS.minRetentionBatch,
  maxItems: LIMITS.maxRetentionBatch,
  pauseRatio: 4,
  maxPauseMs: 250,
};
/** Dead letters first: their runs need not be looked at again as failed ones. */
const STATES: readonly RetentionState[] = ['deadLetter', 'failed', 'canceled', 'succeeded'];

export interface RetentionOptions {
  readonly store: Pick<Store, 'removeEndedRuns' | 'releaseSpace' | 'removeStagedSteps' | 'instanceSettings'> & {
    readonly repairs: Pick<Store['repairs'], 'removeBefore'>;
    readonly accounts: Pick<Store['accounts'], 'listInstances'>;
  };
  readonly clock: Clock;
  /** Measures steps and times the pauses after them; also runs while a virtual clock is moved. `clock` when absent. */
  readonly paceClock?: Clock;
  readonly log: Log;
  /** What the plan of an instance keeps at the longest, whatever the instance has set; none when absent. */
  readonly bounds?: (instanceId: string) => RetentionBounds;
  /** Who takes turns; absent: everything belongs to one instance. */
  readonly owners?: InstanceOwners;
  /** Where several nodes share the store: does the work unless another one is at it; false then. */
  readonly tryExclusively?: (work: () => Promise<void>) => Promise<boolean>;
}

interface StepResult {
  /** It did something, so there may be more of the same. */
  readonly more: boolean;
  readonly removed: number;
}

/** What is left to remove of one instance. */
interface InstanceSweep {
  readonly instanceId: string;
  readonly steps: AsyncGenerator<StepResult, undefined>;
  removed: number;
}

export class Retention {
  private readonly options: RetentionOptions;
  private cancelTimer: () => void = () => {};
  private sweeping: Promise<void> | null = null;
  private stopped = false;
  private readonly paceClock: Clock;
  /** Kept from one sweep to the next: the machine is the same. */
  private readonly pace = new StepPace(PACE);
  /** When the present sweep started, by the pace clock. */
  private sweepStartedAt = 0;
  private endPause: () => void = () => {};

  constructor(options: RetentionOptions) {
    this.options = options;
    this.paceClock = options.paceClock ?? options.clock;
  }

  /** Sweeps now and every few minutes from then on; does not wait for it. */
  start(): void {
    this.next();
  }

  /** Resolves when the step that is under way is done. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.cancelTimer();
    this.endPause();
    await this.sweeping;
  }

  /** Whether no sweep is under way. */
  get idle(): boolean {
    return this.sweeping === null;
  }

  /** Resolves when the sweep that is under way is done. */
  async settled(): Promise<void> {
    await this.sweeping;
  }

  /** Removes all that may go now, unless another node does. Never rejects; one that is under way is joined. */
  sweep(): Promise<void> {
    const { tryExclusively } = this.options;
    const swept = tryExclusively ? () => tryExclusively(() => this.sweepAll()).then(() => {}) : () => this.sweepAll();
    this.sweeping ??= swept()
      .catch((error: unknown) => this.report(error, {}))
      .finally(() => {
        this.sweeping = null;
      });
    return this.sweeping;
  }

  private next(): void {
    if (this.stopped) return;
    const { clock } = this.options;
    void this.sweep();
    // From one beginning to the next: a sweep that takes longer is joined.
    this.cancelTimer = clock.setTimer(clock.now() + LIMITS.retentionEveryMs, () => this.next());
  }

  private async sweepAll(): Promise<void> {
    const { store } = this.options;
    this.sweepStartedAt = this.paceClock.now();
    while (!this.stopped && (await this.step(() => store.removeStagedSteps())));
    const sweeps = (await store.accounts.listInstances()).map(({ instanceId }) => ({
      ...{ instanceId, removed: 0 },
      steps: this.stepsOf(instanceId),
    }));
    let accounts = byOwner<InstanceSweep>(sweeps, this.options.owners ?? ONE_OWNER).map((instances) => instances.flat());
    while (accounts.length > 0 && !this.stopped) {
      for (const waiting of accounts) {
        const sweep = waiting.shift();
        if (sweep && !this.stopped && (await this.takeTurn(sweep))) waiting.push(sweep);
      }
      accounts = accounts.filter(({ length }) => length > 0);
    }
    // Also what an earlier sweep freed and did not get to give back.
    while (!this.stopped && (await this.step(() => store.releaseSpace())));
  }

  /** False when nothing is left of the instance, or it fails: then it is left to the next sweep. */
  private async takeTurn(sweep: InstanceSweep): Promise<boolean> {
    const { instanceId } = sweep;
    try {
      if (await this.takeStep(sweep)) return true;
      const { removed } = sweep;
      if (removed > 0) this.options.log.info({ instanceId, runs: removed }, 'removed runs after their retention');
    } catch (error) {
      this.report(error, { instanceId });
    }
    return false;
  }

  /** One step that does something, and what comes before it that has nothing to do. False when nothing is left. */
  private async takeStep(sweep: InstanceSweep): Promise<boolean> {
    while (!this.stopped) {
      let next: StepResult | undefined;
      const more = await this.step(async () => {
        next = (await sweep.steps.next()).value;
        return next?.more ?? false;
      });
      if (!next) return false;
      sweep.removed += next.removed;
      if (more) return true;
    }
    return false;
  }

  private async *stepsOf(instanceId: string): AsyncGenerator<StepResult, undefined> {
    const { store, clock } = this.options;
    const settings = (await store.instanceSettings({ instanceId })) ?? DEFAULT_INSTANCE_SETTINGS;
    const bounds = this.options.bounds?.(instanceId);
    const retention = bounds ? bounded(settings.retention, bounds) : settings.retention;
    for (const state of STATES) {
      const query = removalOf(instanceId, state, retention[state], clock.now());
      for (let more = query !== null; query && more; ) {
        const since = this.paceClock.now();
        const removed = await store.removeEndedRuns({ ...query, limit: this.pace.items });
        this.pace.stepTook(this.paceClock.now() - since);
        more = removed > 0;
        yield { more, removed };
      }
    }
    // What is known of repairs stays as long as dead letters do, and for a month at the least; a plan that is not started is removed then.
    const now = clock.now();
    const plannedBefore = now - LIMITS.repairReportMs;
    const { maxAgeMs } = retention.deadLetter;
    const before = maxAgeMs === null ? null : Math.min(plannedBefore, now - maxAgeMs);
    for (let more = true; more; ) {
      more = await store.repairs.removeBefore({ instanceId, before, plannedBefore, limit: REPAIR_ITEMS_PER_STEP });
      yield { more, removed: 0 };
    }
  }

  /** One step of a sweep. When the step did something, everything else gets its time before the next one. */
  private async step(work: () => Promise<boolean>): Promise<boolean> {
    const since = this.paceClock.now();
    const more = await work();
    if (more) await this.yieldAfter(this.paceClock.now() - since);
    return more;
  }

  private async yieldAfter(tookMs: number): Promise<void> {
    const clock = this.paceClock;
    for (let turn = 0; turn < TURNS_BETWEEN_STEPS && !this.stopped; turn++) {
      await new Promise<void>((resolve) => clock.endOfTurn(resolve));
    }
    // Removal must keep up with whatever ends: a sweep that is still running when the next one is due takes shorter pauses.
    const late = clock.now() - this.sweepStartedAt >= LIMITS.retentionEveryMs;
    const pauseMs = this.pace.pauseMs(tookMs, late);
    if (pauseMs < 1 || this.stopped) return;
    await new Promise<void>((resolve) => {
      const cancel = clock.setTimer(clock.now() + pauseMs, resolve);
      this.endPause = () => {
        cancel();
        resolve();
      };
    });
  }

  private report(error: unknown, about: { readonly instanceId?: string }): void {
    this.options.log.error({ ...about, error: String(error) }, 'retention sweep failed, retrying at the next sweep');
  }
}

/** The rules, none of which keeps anything longer than the bounds allow. */
function bounded(retention: RetentionSettings, { runsMs, deadLettersMs }: RetentionBounds): RetentionSettings {
  const within = (rule: RetentionRule, boundMs: number | null): RetentionRule => {
    if (boundMs === null) return rule;
    return { ...rule, maxAgeMs: Math.min(rule.maxAgeMs ?? boundMs, boundMs) };
  };
  return {
    succeeded: within(retention.succeeded, runsMs),
    failed: within(retention.failed, runsMs),
    canceled: within(retention.canceled, runsMs),
    deadLetter: within(retention.deadLetter, deadLettersMs),
  };
}

/** Null when the rule keeps everything. */
function removalOf(
  instanceId: string,
  state: RetentionState,
  rule: RetentionRule,
  now: number,
): Omit<RemovalQuery, 'limit'> | null {
  const { maxAgeMs, maxCount } = rule;
  if (maxAgeMs === null && maxCount === null) return null;
  return {
    instanceId,
    state,
    endedBefore: maxAgeMs === null ? null : now - maxAgeMs,
    keepNewest: maxCount,
  };
}
