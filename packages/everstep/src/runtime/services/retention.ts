/**
 * Removes ended runs by the retention settings of their instances, and releases the disk space. It works in steps of a few
 * milliseconds with pauses several times as long, so that a sweep hardly slows down runs. Accounts take turns after each step,
 * then their instances. The next sweep continues what a sweep did not finish, for example because of a disk error.
 */
import { LIMITS } from '../../config/limits.js';
import {
  DEFAULT_INSTANCE_SETTINGS,
  type RetentionRule,
  type RetentionSettings,
  type RetentionState,
} from '../../engine/runs/run.js';
import { groupByOwner } from '../../fairness/round-robin.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { InstanceStore } from '../../ports/stores/accounts/instances.js';
import type { ControlStore } from '../../ports/stores/control-store.js';
import type { InsightRetention, InsightStore } from '../../ports/stores/insights/insight-store.js';
import type { RetentionBounds } from '../../ports/stores/instance-limits.js';
import { type InstanceOwners, ONE_OWNER } from '../../ports/stores/instance-owners.js';
import type { RepairStore } from '../../ports/stores/repair-store.js';
import type { RemovalQuery } from '../../ports/stores/store.js';
import type { UpkeepStore } from '../../ports/stores/upkeep-store.js';
import { StepPace } from '../turns/step-pace.js';

/** Turns of the event loop between two steps. They are short when the process is idle and long when it is busy. */
const TURNS_BETWEEN_STEPS = 32;
const REPAIR_ITEMS_PER_STEP = 1_000;
const PACE = {
  stepMs: LIMITS.retentionStepMs,
  minItems: LIMITS.minRetentionBatch,
  maxItems: LIMITS.maxRetentionBatch,
  pauseRatio: 4,
  maxPauseMs: 250,
};
/**
 * The states in the order in which their runs are removed. Dead letters are first, so that their runs are not examined again as
 * failed runs.
 */
const STATES: readonly RetentionState[] = ['deadLetter', 'failed', 'canceled', 'succeeded'];

export interface RetentionOptions {
  readonly store: UpkeepStore &
    Pick<ControlStore, 'instanceSettings'> & {
      readonly repairs: Pick<RepairStore, 'removeBefore'>;
      readonly accounts: Pick<InstanceStore, 'listInstances'>;
      readonly insights: Pick<InsightStore, 'tidy'>;
    };
  readonly clock: Clock;
  /** Measures steps and the pauses after them. It also runs while a virtual clock is moved. Defaults to `clock`. */
  readonly paceClock?: Clock;
  readonly log: Log;
  /** Maximum retention by the plan of an instance, whatever its settings are. If absent, there is no maximum. */
  readonly bounds?: (instanceId: string) => RetentionBounds;
  /** Retention of insights. Defaults to `LIMITS`. */
  readonly insights?: InsightRetention;
  /** The accounts that take turns. If absent, all runs belong to one account. */
  readonly owners?: InstanceOwners;
  /**
   * Does the work and resolves with true, or resolves with false if another node is doing it. Absent if no other node
   * shares the store.
   */
  readonly tryExclusively?: (work: () => Promise<void>) => Promise<boolean>;
}

interface StepResult {
  /** Whether the step removed something, so that there may be more to remove. */
  readonly hasMore: boolean;
  /** Number of removed runs. */
  readonly removedRuns: number;
}

/** The remaining steps of one instance. */
interface InstanceSweep {
  readonly instanceId: string;
  readonly steps: AsyncGenerator<StepResult, undefined>;
  /** Number of removed runs. */
  removedRuns: number;
}

export class Retention {
  private readonly options: RetentionOptions;
  private cancelTimer: () => void = () => {};
  private currentSweep: Promise<void> | null = null;
  private isStopped = false;
  private readonly paceClock: Clock;
  /** Pace that is kept between sweeps, because the speed of the machine does not change. */
  private readonly pace = new StepPace(PACE);
  /** Start of the current sweep, by the pace clock. */
  private sweepStartedAt = 0;
  private endPause: () => void = () => {};

  constructor(options: RetentionOptions) {
    this.options = options;
    this.paceClock = options.paceClock ?? options.clock;
  }

  /** Starts a sweep now and every few minutes. Does not wait for it. */
  start(): void {
    this.sweepRegularly();
  }

  /** Resolves when the step in progress is done. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.cancelTimer();
    this.endPause();
    await this.currentSweep;
  }

  /** Whether no sweep is in progress. */
  get isIdle(): boolean {
    return this.currentSweep === null;
  }

  /** Resolves when the sweep in progress is done. */
  async settled(): Promise<void> {
    await this.currentSweep;
  }

  /** Removes all expired runs, unless another node does. Never rejects. If a sweep is in progress, waits for it instead. */
  sweep(): Promise<void> {
    const { tryExclusively } = this.options;
    const runSweep = tryExclusively ? () => tryExclusively(() => this.sweepAll()).then(() => {}) : () => this.sweepAll();
    this.currentSweep ??= runSweep()
      .catch((error: unknown) => this.logFailure(error, {}))
      .finally(() => {
        this.currentSweep = null;
      });
    return this.currentSweep;
  }

  private sweepRegularly(): void {
    if (this.isStopped) return;
    const { clock } = this.options;
    void this.sweep();
    // Measured from start to start. If a sweep takes longer, the next one joins it.
    this.cancelTimer = clock.setTimer(clock.now() + LIMITS.retentionEveryMs, () => this.sweepRegularly());
  }

  private async sweepAll(): Promise<void> {
    const { store } = this.options;
    this.sweepStartedAt = this.paceClock.now();
    await this.removeStagedSteps();
    const sweeps = (await store.accounts.listInstances()).map(({ instanceId }) => ({
      ...{ instanceId, removedRuns: 0 },
      steps: this.stepsOf(instanceId),
    }));
    let accounts = groupByOwner<InstanceSweep>(sweeps, this.options.owners ?? ONE_OWNER).map((instances) => instances.flat());
    while (accounts.length > 0 && !this.isStopped) {
      for (const accountSweeps of accounts) {
        const sweep = accountSweeps.shift();
        if (sweep && !this.isStopped && (await this.takeTurn(sweep))) accountSweeps.push(sweep);
      }
      accounts = accounts.filter(({ length }) => length > 0);
    }
    // Includes space that an earlier sweep freed and did not release.
    while (!this.isStopped && (await this.step(() => store.releaseSpace())));
  }

  /** Never rejects: the staged steps of all instances are read together, and one server of a cluster may be unavailable. */
  private async removeStagedSteps(): Promise<void> {
    try {
      while (!this.isStopped && (await this.step(() => this.options.store.removeStagedSteps())));
    } catch (error) {
      this.logFailure(error, {});
    }
  }

  /**
   * Removes expired data of one instance for a turn. Returns false if nothing remains to be removed, or if a step failed; the next
   * sweep then continues.
   */
  private async takeTurn(sweep: InstanceSweep): Promise<boolean> {
    const { instanceId } = sweep;
    try {
      if (await this.removeSome(sweep)) return true;
      const { removedRuns } = sweep;
      if (removedRuns > 0) this.options.log.info({ instanceId, runs: removedRuns }, 'removed runs past their retention period');
    } catch (error) {
      this.logFailure(error, { instanceId });
    }
    return false;
  }

  /** Executes the next step that removes something. Returns false if there is none. */
  private async removeSome(sweep: InstanceSweep): Promise<boolean> {
    while (!this.isStopped) {
      let stepResult: StepResult | undefined;
      const hasMore = await this.step(async () => {
        stepResult = (await sweep.steps.next()).value;
        return stepResult?.hasMore ?? false;
      });
      if (!stepResult) return false;
      sweep.removedRuns += stepResult.removedRuns;
      if (hasMore) return true;
    }
    return false;
  }

  /** Removes each kind of data. If one fails, the others are removed before the error is thrown. */
  private async *stepsOf(instanceId: string): AsyncGenerator<StepResult, undefined> {
    const settings = (await this.options.store.instanceSettings({ instanceId })) ?? DEFAULT_INSTANCE_SETTINGS;
    const bounds = this.options.bounds?.(instanceId);
    const retention = bounds ? limitRetention(settings.retention, bounds) : settings.retention;
    const failures: unknown[] = [];
    for (const removal of [
      ...STATES.map((state) => this.runRemoval(instanceId, state, retention[state])),
      this.repairRemoval(instanceId, retention.deadLetter),
      this.counterRemoval(instanceId),
    ]) {
      try {
        yield* removal;
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Removes the runs in one state that the rule does not keep. */
  private async *runRemoval(instanceId: string, state: RetentionState, rule: RetentionRule): AsyncGenerator<StepResult> {
    const { store, clock } = this.options;
    const query = removalQueryOf(instanceId, state, rule, clock.now());
    for (let hasMore = query !== null; query && hasMore; ) {
      const startedAt = this.paceClock.now();
      const removedRuns = await store.removeEndedRuns({ ...query, limit: this.pace.items });
      this.pace.stepTook(this.paceClock.now() - startedAt);
      hasMore = removedRuns > 0;
      yield { hasMore, removedRuns };
    }
  }

  /** Keeps repairs as long as dead letters, and for at least a month. Removes plans that were not started after a month. */
  private async *repairRemoval(instanceId: string, { maxAgeMs }: RetentionRule): AsyncGenerator<StepResult> {
    const { store, clock } = this.options;
    const now = clock.now();
    const plannedBefore = now - LIMITS.repairReportMs;
    const before = maxAgeMs === null ? null : Math.min(plannedBefore, now - maxAgeMs);
    for (let hasMore = true; hasMore; ) {
      hasMore = await store.repairs.removeBefore({ instanceId, before, plannedBefore, limit: REPAIR_ITEMS_PER_STEP });
      yield { hasMore, removedRuns: 0 };
    }
  }

  /** Sums the counters of insights up to longer periods, and removes those past their retention. */
  private async *counterRemoval(instanceId: string): AsyncGenerator<StepResult> {
    const { store, clock } = this.options;
    const now = clock.now();
    const { minutesMs, hoursMs } = this.options.insights ?? {
      minutesMs: LIMITS.insightMinutesMs,
      hoursMs: LIMITS.insightHoursMs,
    };
    const counters = { instanceId, daysUntil: now, minutesBefore: now - minutesMs, hoursBefore: now - hoursMs };
    for (let hasMore = true; hasMore; ) {
      hasMore = (await store.insights.tidy(counters)) > 0;
      yield { hasMore, removedRuns: 0 };
    }
  }

  /** Executes one step. If it removed something, waits before the next one so that other work can continue. */
  private async step(work: () => Promise<boolean>): Promise<boolean> {
    const startedAt = this.paceClock.now();
    const hasMore = await work();
    if (hasMore) await this.yieldAfter(this.paceClock.now() - startedAt);
    return hasMore;
  }

  private async yieldAfter(stepMs: number): Promise<void> {
    const clock = this.paceClock;
    for (let turn = 0; turn < TURNS_BETWEEN_STEPS && !this.isStopped; turn++) {
      await new Promise<void>((resolve) => clock.endOfTurn(resolve));
    }
    // Removal must keep up with new ended runs. A sweep that is still in progress when the next one is due takes shorter pauses.
    const isLate = clock.now() - this.sweepStartedAt >= LIMITS.retentionEveryMs;
    const pauseMs = this.pace.pauseMs(stepMs, isLate);
    if (pauseMs < 1 || this.isStopped) return;
    await new Promise<void>((resolve) => {
      const cancel = clock.setTimer(clock.now() + pauseMs, resolve);
      this.endPause = () => {
        cancel();
        resolve();
      };
    });
  }

  private logFailure(error: unknown, fields: { readonly instanceId?: string }): void {
    this.options.log.error({ ...fields, error: String(error) }, 'retention sweep failed, retrying at the next sweep');
  }
}

/** Returns the rules of the instance, limited by the bounds of its plan. */
function limitRetention(retention: RetentionSettings, { runsMs, deadLettersMs }: RetentionBounds): RetentionSettings {
  const limitRule = (rule: RetentionRule, boundMs: number | null): RetentionRule => {
    if (boundMs === null) return rule;
    return { ...rule, maxAgeMs: Math.min(rule.maxAgeMs ?? boundMs, boundMs) };
  };
  return {
    succeeded: limitRule(retention.succeeded, runsMs),
    failed: limitRule(retention.failed, runsMs),
    canceled: limitRule(retention.canceled, runsMs),
    deadLetter: limitRule(retention.deadLetter, deadLettersMs),
  };
}

/** Returns the query for the runs that the rule removes; null if it keeps everything. */
function removalQueryOf(
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
