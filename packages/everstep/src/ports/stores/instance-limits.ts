import type { MessageLimit } from '../../engine/ids.js';
import type { DayCountKind } from '../../engine/writes.js';

/** Limits from the plan and budget of an instance, for the runtime. Synchronous methods use cached data. */
export interface InstanceLimits {
  /** Returns the maximum number of deliveries of the instance in flight; null if it has no separate limit. */
  maxParallelism(instanceId: string): number | null;
  /** Returns the maximum duration of one delivery of the instance, regardless of the timeout of the delivery. */
  maxTimeoutMs(instanceId: string): number;
  /** Returns the maximum retention times of ended runs and of dead letters. */
  retentionBounds(instanceId: string): RetentionBounds;
  /** Returns the maximum body size of a message of the instance; null if it has no separate limit. */
  messageLimit(instanceId: string): MessageLimit | null;
  /**
   * Decides whether a schedule's tick may start this number of runs, each with a body of this size. Either all are admitted and
   * count toward the day's limit, or none.
   */
  admitTick(instanceId: string, tick: { readonly bodyBytes: number; readonly runs: number }): Promise<RunAdmission | TickRefusal>;
  /**
   * Decides whether this number of runs may be started, right before they are started. Either all are admitted and count toward the
   * day's limit, or none.
   */
  admitRuns(instanceId: string, runs: number): Promise<RunAdmission | RunRefusal>;
  /** Returns the refusal if this number of additional bytes may not be stored for the instance, otherwise null. */
  checkStorage(instanceId: string, bytes: number): Promise<RunRefusal | null>;
  /** Releases this number of admitted runs, because they were not started. 0 has no effect. */
  releaseRuns(instanceId: string, runs: number, runAdmission: RunAdmission): void;
  /** Reads the counters from the store again, because it is unknown whether admitted runs were started. */
  recount(instanceId: string): void;
  /** Called when messages were durably counted for the instance, so that a budget alert may be due. */
  onMessagesCounted(instanceId: string): void;
  /** Registers a listener that is called for every instance whose limits may have changed. */
  onChange(listener: (instanceId: string) => void): void;
}

/** The admission of runs that may be started. */
export interface RunAdmission {
  readonly kind: 'admitted';
  /** Time of the admission, Unix ms. The runs count on this day, whenever they are started. Null if the runs are not limited. */
  readonly at: number | null;
}

/** The admission of runs without a limit. */
export const UNBOUNDED: RunAdmission = Object.freeze({ kind: 'admitted', at: null });

/** Reason why a tick starts no run. `message` is for the owner of the instance. */
export interface TickRefusal {
  readonly kind: Extract<DayCountKind, `tick-${string}`>;
  readonly message: string;
}

/** Reason why runs may not be started. `message` is for the owner of the instance. */
export interface RunRefusal {
  readonly kind: 'budget-exceeded' | 'daily-limit' | 'storage-quota-exceeded' | 'too-many-active-runs';
  readonly message: string;
}

/** Maximum retention times in ms; null means that there is no limit. */
export interface RetentionBounds {
  readonly runsMs: number | null;
  readonly deadLettersMs: number | null;
}

const NO_BOUNDS: RetentionBounds = Object.freeze({ runsMs: null, deadLettersMs: null });

/** Limits for a runtime without accounts: nothing is limited. */
export const NO_LIMITS: InstanceLimits = Object.freeze({
  maxParallelism: () => null,
  maxTimeoutMs: () => Number.POSITIVE_INFINITY,
  retentionBounds: () => NO_BOUNDS,
  messageLimit: () => null,
  admitTick: async () => UNBOUNDED,
  admitRuns: async () => UNBOUNDED,
  checkStorage: async () => null,
  releaseRuns: () => {},
  recount: () => {},
  onMessagesCounted: () => {},
  onChange: () => {},
});
