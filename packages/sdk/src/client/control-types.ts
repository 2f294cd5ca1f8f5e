/** What the API answers about events, flow control, schedules, destinations and settings. All times are Unix ms unless said otherwise. */

import type { StepType } from '../protocol.js';
import type { PublicSigningKey } from '../signature/cryptography.js';
import type { HeaderMap, RunReference, RunState } from './types.js';

/** A run that waits for an event. */
export interface Waiter {
  readonly url: string;
  readonly headers: HeaderMap;
  /** Unix seconds; 0 when the event is kept for a wait to come. */
  readonly deadline: number;
}

/** The same, told without asking for an event. */
export interface EventWaiter extends Waiter, RunReference {
  readonly eventId: string;
  readonly workflowUrl: string;
  readonly stepName: string;
  /** When it began to wait. */
  readonly since: number;
  /** When the wait times out. */
  readonly deadlineAt: number;
}

export interface EventWaiterPage {
  /** Absent at the end. */
  readonly cursor?: string;
  /** By event id, then who has waited longest. */
  readonly waiters: readonly EventWaiter[];
}

export interface NotifiedWaiter {
  readonly waiter: Waiter;
  readonly messageId: string;
  /** The run does not wait for it yet: it has it kept. */
  readonly kept?: true;
}

export interface FlowControlEntry {
  readonly flowControlKey: string;
  readonly waitListSize: number;
  /** Absent when it is not limited, as is rateMax. */
  readonly parallelismMax?: number;
  /** How many deliveries are in flight. */
  readonly parallelismCount: number;
  readonly rateMax?: number;
  /** How many have started in the window. */
  readonly rateCount?: number;
  /** Seconds. */
  readonly ratePeriod?: number;
  /** When the window began, Unix seconds; absent while there is none. */
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
  /** When it fell due. */
  readonly since: number;
  /** From 1. */
  readonly place: number;
}

export interface FlowControlWaitList {
  readonly waiting: readonly FlowControlWaiter[];
  /** How many wait in all. */
  readonly waitListSize: number;
}

export interface GlobalParallelism {
  readonly parallelismMax: number;
  readonly parallelismCount: number;
}

export interface ScheduleEntry {
  readonly scheduleId: string;
  readonly cron: string;
  readonly timezone: string;
  readonly destination: string;
  readonly method: 'POST';
  readonly header: HeaderMap;
  readonly body?: string;
  /** In place of body, when that is no UTF-8 text. */
  readonly bodyBase64?: string;
  /** Bytes of a payload that is too long for a list; the schedule alone shows it. */
  readonly bodyLeftOut?: number;
  readonly retries: number;
  readonly retryDelay?: string;
  readonly timeoutMs: number;
  /** Seconds. */
  readonly delay?: number;
  readonly failureCallback?: string;
  readonly callerIP: string;
  /** The first of the labels. */
  readonly label?: string;
  readonly labels: readonly string[];
  readonly flowControlKey?: string;
  readonly isPaused: boolean;
  readonly createdAt: number;
  /** Absent while it is paused. */
  readonly nextScheduleTime?: number;
  readonly lastScheduleTime?: number;
  readonly lastScheduleRunId?: string;
}

/** What was started by hand. Of a message the id is that of the message; of several messages the last. */
export interface ScheduleRun extends RunReference {
  readonly started: number;
}

export interface DestinationEntry {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly isHeld: boolean;
  readonly heldBy?: 'breaker' | 'hand';
  readonly reason?: string;
  readonly heldSince?: number;
  /** Failed deliveries in a row. */
  readonly failures: number;
  readonly lastError?: string;
  readonly waitListSize: number;
  /** When one delivery is let through next. */
  readonly nextProbeAt?: number;
}

export interface DestinationHeld {
  readonly origin: string;
  readonly isHeld: boolean;
}

export interface BreakerSettings {
  /** Whether a destination that keeps failing is held back. */
  readonly enabled: boolean;
  /** So many failed deliveries in a row hold it back. */
  readonly failures: number;
  readonly probeEveryMs: number;
}

/** Null: no limit. */
export interface RetentionRule {
  /** How long after their end runs are kept. */
  readonly maxAgeMs: number | null;
  /** How many of the newest are kept. */
  readonly maxCount: number | null;
}

/** By how the run ended; `deadLetter`: a failed run whose entry nobody has handled. */
export type RetentionSettings = Readonly<Record<'succeeded' | 'failed' | 'canceled' | 'deadLetter', RetentionRule>>;

export interface InstanceSettings {
  readonly breaker: BreakerSettings;
  readonly retention: RetentionSettings;
}

/** What is absent stays as it is. */
export interface InstanceSettingsUpdate {
  readonly breaker?: Partial<BreakerSettings>;
  readonly retention?: { readonly [State in keyof RetentionSettings]?: Partial<RetentionRule> };
}

/** Something that a run waits for; which fields are there depends on the kind. */
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
  /** Which retry it will be, from 1. */
  readonly retry?: number;
  readonly maxRetries?: number;
  /** Why the last attempt failed. */
  readonly error?: string;
  readonly flowControlKey?: string;
  /** Place in the wait list of the key, from 1. */
  readonly place?: number;
  readonly waitListSize?: number;
  /** Which limit it waits for. */
  readonly because?: 'parallelism' | 'rate' | 'paused' | 'slots' | 'plan' | 'fair-share' | 'long-deliveries' | 'host' | 'memory';
  readonly origin?: string;
  readonly heldBy?: 'breaker' | 'hand';
  readonly heldSince?: number;
  readonly reason?: string;
  readonly nextProbeAt?: number;
  readonly url?: string;
}

export interface RunExplanation extends RunReference {
  readonly workflowState: RunState;
  /** All of it in a few words. */
  readonly summary: string;
  /** What the service owes the run; empty when it owes nothing. */
  readonly tasks: readonly {
    /** Absent for the code between steps, and for a failure callback. */
    readonly stepId?: number;
    readonly stepName?: string;
    readonly stepType?: 'Initial' | StepType;
    readonly what: 'workflow' | 'step' | 'failure-callback';
    /** In the order in which they have to come true. */
    readonly reasons: readonly WaitReason[];
  }[];
  /** More is pending than the answer lists. */
  readonly shortened?: true;
}

/** What the signatures of a queue instance go by, besides its signing keys. */
export interface SignatureSettings {
  /** Origins whose plain messages are signed with the signing keys; null: not set. */
  readonly origins: readonly string[] | null;
  /** Origins that steps were delivered to: their plain messages are signed with the signing keys too. */
  readonly workflowOrigins: readonly string[];
  /** They sign plain messages to all other origins. */
  readonly messageKeys: SigningKeyPair;
  /** Null: requests carry no Ed25519 signatures. */
  readonly ed25519: {
    /** For the option `jwksUrl` of `serve`. */
    readonly jwksUrl: string;
    readonly current: PublicSigningKey;
    readonly next: PublicSigningKey;
  } | null;
}

/** What is absent stays as it is. */
export interface SignatureSettingsUpdate {
  /** Such as `https://app.example.com`, `https://*.example.com` for all subdomains, or `*` for all origins. */
  readonly origins?: readonly string[] | null;
  /** True makes key pairs if there are none; false deletes them. */
  readonly ed25519?: boolean;
}

export interface SigningKeyPair {
  readonly current: string;
  readonly next: string;
}
