import type { MessageLimit } from '../engine/ids.js';
import type { DayCountKind } from '../engine/writes.js';

/** What the runtime asks of an instance's plan and budget. The synchronous questions are answered from memory. */
export interface InstanceLimits {
  /** Deliveries of the instance that may be in flight at once; null: no limit of its own. */
  maxParallelism(instanceId: string): number | null;
  /** The longest that one delivery of the instance may take, whatever its own timeout says. */
  maxTimeoutMs(instanceId: string): number;
  /** The longest that what has ended is kept, ms; null: no such bound. */
  retentionBounds(instanceId: string): RetentionBounds;
  /** The largest body that a message of the instance may have; null: no limit of its own. */
  messageLimit(instanceId: string): MessageLimit | null;
  /** Asked before a tick of a schedule starts a run with this body. When it may, the run counts for the day. */
  letTickIn(instanceId: string, bodyBytes: number): Promise<LetIn | TickRefusal>;
  /** Asked right before so many runs are started. When they may, they count for the day; else none may. */
  letRunsIn(instanceId: string, runs: number): Promise<LetIn | RunRefusal>;
  /** Whether so many bytes more may be stored for the instance. Null when they may. */
  refuseStorage(instanceId: string, bytes: number): Promise<RunRefusal | null>;
  /** So many of the runs that were let in came to nothing. */
  notStarted(instanceId: string, runs: number, letIn: LetIn): void;
  /** Nobody knows whether runs that were let in were started: the store does. */
  recount(instanceId: string): void;
  /** Messages were counted for the instance, durably: what it has spent may be news to somebody. */
  messagesCounted(instanceId: string): void;
  /** Tells of every instance whose limits may be others from now on. */
  onChange(changed: (instanceId: string) => void): void;
}

/** It may begin. */
export interface LetIn {
  readonly kind: 'let-in';
  /** Unix ms at which that was decided: its runs count for this day, whenever they are started. Null: nobody bounds them. */
  readonly at: number | null;
}

export const UNBOUNDED: LetIn = Object.freeze({ kind: 'let-in', at: null });

/** Why a tick starts no run; `message` is for the owner. */
export interface TickRefusal {
  readonly kind: Extract<DayCountKind, `tick-${string}`>;
  readonly message: string;
}

/** Why runs may not be started; `message` is for the owner. */
export interface RunRefusal {
  readonly kind: 'budget-exceeded' | 'daily-limit' | 'storage-quota-exceeded' | 'too-many-active-runs';
  readonly message: string;
}

export interface RetentionBounds {
  readonly runsMs: number | null;
  readonly deadLettersMs: number | null;
}

const NO_BOUNDS: RetentionBounds = Object.freeze({ runsMs: null, deadLettersMs: null });

/** For a runtime without accounts: nothing is limited. */
export const NO_LIMITS: InstanceLimits = Object.freeze({
  maxParallelism: () => null,
  maxTimeoutMs: () => Number.POSITIVE_INFINITY,
  retentionBounds: () => NO_BOUNDS,
  messageLimit: () => null,
  letTickIn: async () => UNBOUNDED,
  letRunsIn: async () => UNBOUNDED,
  refuseStorage: async () => null,
  notStarted: () => {},
  recount: () => {},
  messagesCounted: () => {},
  onChange: () => {},
});
