/**
 * What the service can be asked to do with runs: the interface between the
 * HTTP API (and anything else that speaks for users) and the runtime. Inputs
 * are already validated; expected outcomes are values, not exceptions. Every
 * promise that resolves with a change does so after the change is durable.
 */
import type { EventContent } from '@everstep/sdk/protocol';
import type { IdPrefix } from '../../engine/ids.js';
import type { Forked, ForkRequest } from '../../engine/runs/fork.js';
import type {
  DestinationHold,
  FlowControl,
  FlowControlState,
  InstanceSettings,
  Run,
  RunPayload,
  RunSettings,
  Schedule,
} from '../../engine/runs/run.js';
import type { Overrides, StartCommand } from '../../engine/runs/start.js';
import type { Submission } from '../../engine/runs/submissions.js';
import type { LiveHint, LiveTopic } from '../../ports/live-hints.js';
import type { RunRecord, RunReference, WaiterRecord } from '../../ports/stores/store.js';
import type { MessageService } from '../messages/message-service.js';
import type { RepairService } from '../repairs/repair-service.js';

export * from '../messages/message-service.js';
export * from '../repairs/repair-service.js';

/** What a trigger asks for: what the engine starts a run with. */
export type TriggerCommand = StartCommand;

export type TriggerOutcome =
  | { readonly kind: 'started'; readonly run: RunReference }
  | { readonly kind: 'deduplicated'; readonly run: RunReference };

/** Overrides of a resume or restart; what is undefined stays as it was. */
export type RunOverrides = Overrides;

export interface RecoverCommand {
  readonly kind: 'resume' | 'restart';
  readonly instanceId: string;
  readonly dlqIds: readonly string[];
  /** `fail`: one missing entry and nothing happens. `skip`: those that others took meanwhile are left out. */
  readonly whenMissing: 'fail' | 'skip';
  readonly overrides: RunOverrides;
  /** Only with one dlqId. */
  readonly workflowRunId?: string;
  /** Unix ms at which the runs were let in: they count for this day. Absent or null: for the day on which they are started. */
  readonly admittedAt?: number | null;
}

export type RecoverOutcome =
  | { readonly kind: 'recovered'; readonly runs: readonly RunReference[] }
  | { readonly kind: 'missing'; readonly dlqIds: readonly string[] }
  | { readonly kind: 'run-id-taken'; readonly run: RunReference }
  /** Flow control limits were given for a run that has no key, and none was given. */
  | { readonly kind: 'no-flow-control-key'; readonly dlqId: string };

export interface ForkCommand extends ForkRequest {
  readonly runKey: string;
  /** Who asks, as the audit log names it, and from which address. */
  readonly by: { readonly actor: string; readonly address: string };
}

export type ForkOutcome =
  | { readonly kind: 'forked'; readonly run: RunReference }
  /** The run was removed. */
  | { readonly kind: 'not-found' }
  | { readonly kind: 'run-id-taken'; readonly run: RunReference }
  | Extract<Forked, { readonly kind: 'refused' }>
  /** The account may not store that much more. */
  | { readonly kind: 'over-quota'; readonly message: string };

/** Whether the present code of a run's endpoint would replay it; `stepId` and `stepName` where it differs. */
export interface CheckedRun {
  readonly outcome: 'fits' | 'differs' | 'cannot-tell';
  readonly stepId: number | null;
  readonly stepName: string | null;
  /** In words, for people. */
  readonly message: string;
}

export type CancelOutcome = { readonly kind: 'canceled' } | { readonly kind: 'not-found' } | { readonly kind: 'not-active' };

/** A run that was notified; its messageId names what it owes to that. */
export interface Notified {
  readonly waiter: WaiterRecord;
  readonly messageId: string;
}

export type NotifyOutcome =
  /** Those that waited, each exactly once; perhaps nobody. */
  | { readonly kind: 'notified'; readonly notified: readonly Notified[] }
  /** The named run does not wait for it yet: it has it kept. */
  | { readonly kind: 'kept'; readonly messageId: string }
  | { readonly kind: 'run-not-found' }
  | { readonly kind: 'run-not-active' }
  /** The named run has as many events kept as it may. */
  | { readonly kind: 'too-many-kept' };

/** A flow control key with what is going on at it now. */
export interface FlowControlStatus extends FlowControlState {
  readonly waiting: number;
  readonly inFlight: number;
}

export type FlowControlChange =
  | { readonly kind: 'pause' }
  | { readonly kind: 'resume' }
  /** These limits count until they are unpinned; the others stay as they are. Without any, those that the key has are pinned. */
  | { readonly kind: 'pin'; readonly limits: Omit<FlowControl, 'key'> }
  /** Which limits are unpinned. */
  | { readonly kind: 'unpin'; readonly parallelism: boolean; readonly rate: boolean }
  /** The rate window ends now. */
  | { readonly kind: 'reset-rate' };

export interface DestinationStatus {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly hold: DestinationHold | null;
  /** Failures in a row. */
  readonly failures: number;
  readonly lastError: string | null;
  readonly waiting: number;
  /** Unix ms of the next probe; null when none is planned. */
  readonly probeAt: number | null;
}

export interface ScheduleCommand {
  readonly instanceId: string;
  readonly dialect: Schedule['dialect'];
  /** Replaces the schedule of this id; null makes a new one. */
  readonly scheduleId: string | null;
  readonly cron: string;
  readonly timeZone: string;
  /** With `settings.message` its ticks publish messages: to this URL, or to `settings.message.urlGroup`, whose name then stands here. */
  readonly workflowUrl: string;
  readonly payload: RunPayload;
  readonly settings: RunSettings;
  readonly delayMs: number;
  readonly callerIp: string;
  /** So many schedules the instance may have, this one with them; absent: no limit. */
  readonly most?: number;
}

/** Why a run is where it is: what it waits for, in the order in which it has to come true. */
/** Why a delivery that is due has no slot. */
export type QueuedBecause =
  /** All slots are in use. */
  | 'slots'
  /** Its instance has as many deliveries in flight as its plan allows. */
  | 'plan'
  /** Its account or its instance has its fair share of the slots. */
  | 'fair-share'
  /** Its timeout is long, and its account or its instance has its share of the slots for such deliveries. */
  | 'long-deliveries'
  /** Its host has as many deliveries in flight as allowed, of all accounts or of its own. */
  | 'host'
  /** Its run carries so much that it has to wait for memory. */
  | 'memory';

export type WaitReason =
  | { readonly kind: 'not-before'; readonly at: number }
  | { readonly kind: 'sleeping'; readonly until: number }
  | { readonly kind: 'waiting-for-event'; readonly eventIds: readonly string[]; readonly until: number }
  | { readonly kind: 'waiting-for-run'; readonly workflowRunId: string; readonly workflowCreatedAt: number }
  | {
      readonly kind: 'retry';
      /** Which retry this will be, from 1. */
      readonly retry: number;
      readonly maxRetries: number;
      readonly at: number;
      readonly error: string | null;
    }
  | {
      readonly kind: 'flow-control';
      readonly key: string;
      /** From 1. */
      readonly place: number;
      readonly waiting: number;
      readonly because: 'parallelism' | 'rate' | 'paused';
      /** When the key may let something through again, Unix ms; null when that is not a matter of time. */
      readonly until: number | null;
    }
  | {
      readonly kind: 'queue';
      readonly queue: string;
      /** From 1, among those that wait. */
      readonly place: number;
      readonly waiting: number;
      /** Others are before it, or the queue is paused. */
      readonly because: 'order' | 'paused';
    }
  | { readonly kind: 'destination-held'; readonly hold: DestinationHold; readonly probeAt: number | null }
  /** Due, and waits for a slot. `because` is absent when it is about to start, or waits on another node. */
  | { readonly kind: 'queued'; readonly because?: QueuedBecause }
  | { readonly kind: 'in-flight'; readonly url: string };

export interface ExplainedTask {
  /** Absent for the code between steps, for a plain message and for a failure callback. */
  readonly stepId?: number;
  readonly stepName?: string;
  readonly stepType?: string;
  readonly what: 'workflow' | 'step' | 'message' | 'failure-callback';
  readonly reasons: readonly WaitReason[];
}

export interface Explanation {
  readonly run: RunRecord;
  /** What it owes, by position; empty when it has ended and nothing is owed. */
  readonly tasks: readonly ExplainedTask[];
  /** It owes more than is told. */
  readonly shortened?: true;
}

export type CallbackOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'not-found' }
  /** It has none, or it is not in a state that allows this. */
  | { readonly kind: 'not-possible'; readonly why: string };

/** `count`: how many were started; of several messages `run` is the last. `no-endpoints`: of its URL group. */
export type ScheduleRun =
  | { readonly kind: 'started'; readonly run: Omit<RunReference, 'runKey'>; readonly count: number }
  | { readonly kind: 'not-found' | 'no-endpoints' };

/** A delivery that waits for a flow control key. */
export interface KeyWaiter {
  readonly run: Pick<Run, 'workflowRunId' | 'createdAt' | 'workflowUrl' | 'settings'>;
  /** Of the step that is to be delivered; null where it is none. */
  readonly stepName: string | null;
  /** Unix ms at which it fell due. */
  readonly since: number;
}

export interface KeyWaitList {
  /** The first of them, in the order in which they go. */
  readonly waiting: readonly KeyWaiter[];
  readonly size: number;
}

export interface WorkflowService extends MessageService, RepairService {
  notify(command: {
    readonly instanceId: string;
    readonly eventId: string;
    /** Only this run, and kept for it; null for everybody who waits. */
    readonly workflowRunId: string | null;
    readonly content: EventContent;
  }): Promise<NotifyOutcome>;
  /** A request came to a webhook. `not-found`: no active run has it. */
  callWebhook(command: {
    readonly eventId: string;
    readonly content: EventContent;
    /** The run that made it, where the address names that; else the id leads there. */
    readonly of?: { readonly instanceId: string; readonly workflowRunId: string };
  }): Promise<'taken' | 'not-found' | 'too-many-kept'>;
  /** The instance whose run made this webhook; null when there is none. */
  instanceOfWebhook(query: {
    readonly eventId: string;
    /** As for `callWebhook`. */
    readonly of?: { readonly instanceId: string; readonly workflowRunId: string };
  }): Promise<string | null>;

  flowControls(query: { readonly instanceId: string }): Promise<readonly FlowControlStatus[]>;
  flowControl(query: { readonly instanceId: string; readonly key: string }): Promise<FlowControlStatus | null>;
  /** Null when there is no such key. */
  flowControlWaiting(query: {
    readonly instanceId: string;
    readonly key: string;
    readonly limit: number;
  }): Promise<KeyWaitList | null>;
  /** Null when there is no such key; a pin makes it. */
  changeFlowControl(command: {
    readonly instanceId: string;
    readonly key: string;
    readonly change: FlowControlChange;
  }): Promise<FlowControlStatus | null>;
  /** How many deliveries of the instance may be in flight, and are. */
  globalParallelism(query: { readonly instanceId: string }): { readonly max: number; readonly inFlight: number };

  destinations(query: { readonly instanceId: string }): Promise<readonly DestinationStatus[]>;
  /** Holds deliveries to an origin by hand. */
  holdDestination(command: { readonly instanceId: string; readonly origin: string; readonly reason: string }): Promise<void>;
  /** False when it is not held. */
  releaseDestination(command: { readonly instanceId: string; readonly origin: string }): Promise<boolean>;

  instanceSettings(query: { readonly instanceId: string }): Promise<InstanceSettings>;
  changeInstanceSettings(command: { readonly instanceId: string; readonly settings: InstanceSettings }): Promise<void>;

  /** `too-many-schedules`: the command says how many there may be, and there are as many; nothing happened. */
  putSchedule(command: ScheduleCommand): Promise<Schedule | 'too-many-schedules'>;
  /** Null when there is none. A schedule that is resumed ticks next at its next time from now. */
  pauseSchedule(command: {
    readonly instanceId: string;
    readonly scheduleId: string;
    readonly paused: boolean;
  }): Promise<Schedule | null>;
  deleteSchedule(command: { readonly instanceId: string; readonly scheduleId: string }): Promise<boolean>;

  /** Starts now what a tick of it starts, paused or not. `admittedAt`: when it was let in, Unix ms; null: nobody had to. */
  runSchedule(command: {
    readonly instanceId: string;
    readonly scheduleId: string;
    readonly admittedAt: number | null;
  }): Promise<ScheduleRun>;

  /** Null when there is no such run. */
  explain(query: {
    readonly instanceId: string;
    readonly workflowRunId: string;
    readonly createdAt?: number;
  }): Promise<Explanation | null>;

  /** Tells the failure callback again. */
  retryCallback(command: { readonly instanceId: string; readonly dlqId: string }): Promise<CallbackOutcome>;
  cancelCallback(command: { readonly instanceId: string; readonly dlqId: string }): Promise<CallbackOutcome>;

  /**
   * Takes what the endpoint of the active run with this id submits; resolves when it is durable. A second submission of
   * the same steps is taken and has no effect.
   */
  submit(command: {
    readonly instanceId: string;
    readonly workflowRunId: string;
    readonly submission: Submission;
  }): Promise<'taken' | 'not-found' | 'not-active'>;

  trigger(command: TriggerCommand): Promise<TriggerOutcome>;
  recover(command: RecoverCommand): Promise<RecoverOutcome>;
  /** A new run from the middle of another one, which stays as it is; told of in the audit log of the instance's owner. */
  fork(command: ForkCommand): Promise<ForkOutcome>;
  /** Asks the endpoints of these runs; nothing is executed, recorded or counted. In their order. */
  checkReplays(query: { readonly runKeys: readonly string[]; readonly signal: AbortSignal }): Promise<readonly CheckedRun[]>;
  deleteDeadLetters(command: {
    readonly instanceId: string;
    readonly dlqIds: readonly string[];
    readonly whenMissing: 'fail' | 'skip';
  }): Promise<
    { readonly kind: 'deleted'; readonly count: number } | { readonly kind: 'missing'; readonly dlqIds: readonly string[] }
  >;
  /** Cancels the active run with this id. */
  cancel(command: { readonly instanceId: string; readonly workflowRunId: string }): Promise<CancelOutcome>;
  /** Cancels active runs among those named; returns how many it canceled. */
  cancelRuns(command: { readonly instanceId: string; readonly runKeys: readonly string[] }): Promise<number>;
  /** Resolves when the run has ended, with its record; null when the time is up, the signal aborts, or the service stops. */
  awaitEnd(query: {
    readonly instanceId: string;
    readonly run: RunReference;
    readonly timeoutMs: number;
    readonly signal?: AbortSignal;
  }): Promise<RunRecord | null>;
  /** `told` of what changes in the instance from now on, by whichever process, until the function that this gives is called. */
  watchHints(query: { readonly instanceId: string; readonly told: (hint: LiveHint) => void }): () => void;
  /** A queue instance was deleted: resolves when nothing of it is delivered here any more. */
  instancesDeleted(): Promise<void>;
  /** For those who look on: something of the instance has changed otherwise than through this service. */
  changed(command: { readonly instanceId: string; readonly topic: LiveTopic }): void;
  /** What this process has under way: deliveries, and instances of which it keeps the gates. */
  underWay(): { readonly deliveries: number; readonly instances: number };
  /** Unix ms on the service's clock. */
  now(): number;
  newId(prefix: IdPrefix): string;
}
