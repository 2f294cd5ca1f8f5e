/**
 * The interface between the runtime and everything that acts for users, such as the HTTP API. Inputs have already been
 * validated. Expected outcomes are values, not exceptions. A promise that resolves with a change does so after the change is
 * durable.
 */
import type { IdPrefix } from '../../engine/ids.js';
import type { LiveHint, LiveTopic } from '../../ports/live-hints.js';
import type { GateCounts } from '../../ports/observer.js';
import type { AlertService } from '../interface/alerts.js';
import type { DeadLetterService, FailureCallbackService } from '../interface/dead-letters.js';
import type { EventService } from '../interface/events.js';
import type { DestinationService, FlowControlService, InstanceSettingsService } from '../interface/flow-control.js';
import type { MessageService, QueueService, UrlGroupService } from '../interface/messages.js';
import type { RepairService } from '../interface/repairs.js';
import type { RunService } from '../interface/runs.js';
import type { ScheduleService } from '../interface/schedules.js';

export * from '../interface/alerts.js';
export * from '../interface/dead-letters.js';
export * from '../interface/events.js';
export * from '../interface/explanation.js';
export * from '../interface/flow-control.js';
export * from '../interface/messages.js';
export * from '../interface/repairs.js';
export * from '../interface/runs.js';
export * from '../interface/schedules.js';

/** Change hints for clients that watch an instance. */
export interface LiveService {
  /** Calls the listener for changes of the instance from now on, by any process, until the returned function is called. */
  watch(instanceId: string, listener: (hint: LiveHint) => void): () => void;
  /** Reports a change that was not made through this service. */
  changed(instanceId: string, topic: LiveTopic): void;
}

/** The current work of this process. */
export interface Workload {
  /** Number of deliveries in flight. */
  readonly deliveriesInFlight: number;
  /** Number of deliveries that wait for a slot. */
  readonly waiting: number;
  /** Number of queue instances whose gates it holds. */
  readonly instances: number;
  /** Flow control keys and queues with deliveries. */
  gates(): Iterable<GateCounts>;
}

export interface WorkflowService {
  readonly runs: RunService;
  readonly deadLetters: DeadLetterService;
  readonly failureCallbacks: FailureCallbackService;
  readonly events: EventService;
  readonly messages: MessageService;
  readonly queues: QueueService;
  readonly urlGroups: UrlGroupService;
  readonly schedules: ScheduleService;
  readonly flowControl: FlowControlService;
  readonly destinations: DestinationService;
  readonly settings: InstanceSettingsService;
  readonly repairs: RepairService;
  readonly alerts: AlertService;
  readonly live: LiveService;
  /** Queue instances that were deleted. `refresh` resolves when this process delivers nothing for them. */
  readonly deletedInstances: { refresh(): Promise<void> };
  workload(): Workload;
  /** Time of the server's clock, Unix ms. */
  now(): number;
  newId(prefix: IdPrefix): string;
}
