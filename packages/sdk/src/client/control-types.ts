/**
 * Responses about events, flow control, schedules, destinations and settings. Times are Unix milliseconds unless
 * stated otherwise.
 */

import type { StepType } from '../protocol.js';
import type { PublicSigningKey } from '../signature/cryptography.js';
import type { HeaderMap, RunReference, RunState } from './types.js';

/** A run that waits for an event. */
export interface Waiter {
  readonly url: string;
  readonly headers: HeaderMap;
  /** Time at which the wait ends, Unix seconds; 0 if the event is kept for a later wait. */
  readonly deadline: number;
}

/** A run that waits for an event, with the event and its step. */
export interface EventWaiter extends Waiter, RunReference {
  readonly eventId: string;
  readonly workflowUrl: string;
  readonly stepName: string;
  /** Time at which the wait started. */
  readonly since: number;
  /** Time at which the wait times out. */
  readonly deadlineAt: number;
}

/** One page of waits for events. */
export interface EventWaiterPage {
  /** Absent at the end. */
  readonly cursor?: string;
  /** By event id, then the longest wait first. */
  readonly waiters: readonly EventWaiter[];
}

/** A run that was notified. */
export interface NotifiedWaiter {
  readonly waiter: Waiter;
  readonly messageId: string;
  /** The run does not wait for the event yet; the event is kept for it. */
  readonly kept?: true;
}

/** The limits and the current state of a flow control key. */
export interface FlowControlEntry {
  readonly flowControlKey: string;
  readonly waitListSize: number;
  /** Absent if there is no limit; the same applies to rateMax. */
  readonly parallelismMax?: number;
  /** Number of deliveries in flight. */
  readonly parallelismCount: number;
  readonly rateMax?: number;
  /** Number of starts in the current window. */
  readonly rateCount?: number;
  /** Seconds. */
  readonly ratePeriod?: number;
  /** Start of the current window, Unix seconds; absent if there is none. */
  readonly ratePeriodStart?: number;
  readonly isPaused: boolean;
  readonly isPinnedParallelism: boolean;
  readonly isPinnedRate: boolean;
}

/** A delivery that waits for a flow control key. */
export interface FlowControlWaiter extends RunReference {
  readonly kind: 'workflow' | 'message';
  readonly workflowUrl: string;
  readonly stepName?: string;
  /** Time at which it became due. */
  readonly since: number;
  /** Position in the wait list, from 1. */
  readonly place: number;
}

/** Deliveries that wait for a flow control key. */
export interface FlowControlWaitList {
  readonly waiting: readonly FlowControlWaiter[];
  /** Total number of waiting deliveries. */
  readonly waitListSize: number;
}

/** Limit and number of deliveries in flight, over all keys. */
export interface GlobalParallelism {
  readonly parallelismMax: number;
  readonly parallelismCount: number;
}

/** A schedule. */
export interface ScheduleEntry {
  readonly scheduleId: string;
  readonly cron: string;
  readonly timezone: string;
  readonly destination: string;
  readonly method: 'POST';
  readonly header: HeaderMap;
  readonly body?: string;
  /** Replaces `body` if the body is not UTF-8 text. */
  readonly bodyBase64?: string;
  /** Size in bytes of a body that is too long for a list; `schedules.get` returns it. */
  readonly bodyLeftOut?: number;
  readonly retries: number;
  readonly retryDelay?: string;
  readonly timeoutMs: number;
  /** Seconds. */
  readonly delay?: number;
  readonly failureCallback?: string;
  readonly callerIP: string;
  /** The first label. */
  readonly label?: string;
  readonly labels: readonly string[];
  readonly flowControlKey?: string;
  readonly isPaused: boolean;
  readonly createdAt: number;
  /** Absent while the schedule is paused. */
  readonly nextScheduleTime?: number;
  readonly lastScheduleTime?: number;
  readonly lastScheduleRunId?: string;
}

/**
 * A run that was started manually from a schedule. For a message, the id is that of the message; for several
 * messages, of the last one.
 */
export interface ScheduleRun extends RunReference {
  readonly started: number;
}

/** The state of a destination. */
export interface DestinationEntry {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly isHeld: boolean;
  readonly heldBy?: 'breaker' | 'hand';
  readonly reason?: string;
  readonly heldSince?: number;
  /** Number of consecutive failed deliveries. */
  readonly failures: number;
  readonly lastError?: string;
  readonly waitListSize: number;
  /** Time at which the next probe delivery is sent. */
  readonly nextProbeAt?: number;
}

/** Whether a destination is held. */
export interface DestinationHeld {
  readonly origin: string;
  readonly isHeld: boolean;
}

/** Settings of the circuit breaker for destinations that keep failing. */
export interface BreakerSettings {
  /** Whether a destination that keeps failing is held. */
  readonly enabled: boolean;
  /** Number of consecutive failed deliveries that trip the breaker. */
  readonly failures: number;
  /** Time between two probe deliveries in milliseconds. */
  readonly probeEveryMs: number;
}

/** How long ended runs are kept. Null: no limit. */
export interface RetentionRule {
  /** Time after their end for which runs are kept, in milliseconds. */
  readonly maxAgeMs: number | null;
  /** Number of newest runs to keep. */
  readonly maxCount: number | null;
}

/** By the outcome of the run. `deadLetter`: failed runs whose entry is still in the dead letter queue. */
export type RetentionSettings = Readonly<Record<'succeeded' | 'failed' | 'canceled' | 'deadLetter', RetentionRule>>;

/** Settings of a queue instance. */
export interface InstanceSettings {
  readonly breaker: BreakerSettings;
  readonly retention: RetentionSettings;
}

/** Settings to change. Absent settings keep their value. */
export interface InstanceSettingsUpdate {
  readonly breaker?: Partial<BreakerSettings>;
  readonly retention?: { readonly [State in keyof RetentionSettings]?: Partial<RetentionRule> };
}

/** A reason why a run waits. The kind determines which fields are present. */
export interface WaitReason {
  readonly kind:
    | 'not-before'
    | 'sleeping'
    | 'waiting-for-event'
    | 'waiting-for-run'
    | 'retry'
    | 'flow-control'
    | 'destination-held'
    | 'queued'
    | 'in-flight';
  /** One sentence for people. */
  readonly message: string;
  readonly at?: number;
  readonly until?: number;
  readonly eventIds?: readonly string[];
  readonly workflowRunId?: string;
  readonly workflowCreatedAt?: number;
  /** Number of the next retry, from 1. */
  readonly retry?: number;
  readonly maxRetries?: number;
  /** Error of the last attempt. */
  readonly error?: string;
  readonly flowControlKey?: string;
  /** Position in the wait list of the key, from 1. */
  readonly place?: number;
  readonly waitListSize?: number;
  /** The limit that it waits for. */
  readonly because?: 'parallelism' | 'rate' | 'paused' | 'slots' | 'plan' | 'fair-share' | 'long-deliveries' | 'host' | 'memory';
  readonly origin?: string;
  readonly heldBy?: 'breaker' | 'hand';
  readonly heldSince?: number;
  readonly reason?: string;
  readonly nextProbeAt?: number;
  readonly url?: string;
}

/** Explains why a run is waiting. */
export interface RunExplanation extends RunReference {
  readonly workflowState: RunState;
  /** A short summary of all reasons. */
  readonly summary: string;
  /** Pending tasks of the run; empty if there are none. */
  readonly tasks: readonly {
    /** Absent for the code between steps, and for a failure callback. */
    readonly stepId?: number;
    readonly stepName?: string;
    readonly stepType?: 'Initial' | StepType;
    readonly what: 'workflow' | 'step' | 'failure-callback';
    /** In the order in which they must be resolved. */
    readonly reasons: readonly WaitReason[];
  }[];
  /** There are more tasks than the response lists. */
  readonly shortened?: true;
}

/** Settings of signatures of a queue instance, besides its signing keys. */
export interface SignatureSettings {
  /** Origins whose plain messages are signed with the signing keys; null: not set. */
  readonly origins: readonly string[] | null;
  /** Origins that steps were delivered to. Their plain messages are also signed with the signing keys. */
  readonly workflowOrigins: readonly string[];
  /** Keys that sign plain messages to all other origins. */
  readonly messageKeys: SigningKeyPair;
  /** Null: requests have no Ed25519 signatures. */
  readonly ed25519: {
    /** Value for the option `jwksUrl` of `serve`. */
    readonly jwksUrl: string;
    readonly current: PublicSigningKey;
    readonly next: PublicSigningKey;
  } | null;
}

/** Settings to change. Absent settings keep their value. */
export interface SignatureSettingsUpdate {
  /** Such as `https://app.example.com`, `https://*.example.com` for all subdomains, or `*` for all origins. */
  readonly origins?: readonly string[] | null;
  /** True creates key pairs if there are none; false deletes them. */
  readonly ed25519?: boolean;
}

/** The current key and the key that replaces it at the next rotation. */
export interface SigningKeyPair {
  readonly current: string;
  readonly next: string;
}
