/**
 * Plain messages and their destinations: queues and URL groups. A message is a run without code. It is canceled like a run, and
 * its dead letters are recovered (a restart publishes it again) and deleted like those of workflows.
 */
import type { DestinationFilter } from '../../engine/messages/destination-filter.js';
import type { GroupEndpoint, MessageSettings, Queue, RunPayload, RunSettings, UrlGroup } from '../../engine/runs/run.js';
import type { ListedRun, Listing, Page, Position, RunFilter, RunRecord } from '../../ports/stores/store.js';
import type { CancelOutcome } from './runs.js';

/** The destination of a message: a URL, or each endpoint of a group. */
export type MessageDestination =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'url-group'; readonly name: string };

/** A validated request for a message. */
export interface MessageCommand {
  readonly instanceId: string;
  readonly dialect: RunRecord['dialect'];
  readonly destination: MessageDestination;
  readonly payload: RunPayload;
  /** The settings that a message shares with a run. */
  readonly settings: Omit<RunSettings, 'steps' | 'message'>;
  /** HTTP method, in uppercase. */
  readonly method: string;
  readonly callback: MessageSettings['callback'] | null;
  /** A queue that does not exist is created with a parallelism of 1. */
  readonly queue: string | null;
  /** Time before which the message is not sent, Unix ms; null sends it now. */
  readonly notBefore: number | null;
  readonly deduplicationId: string | null;
  readonly callerIp: string;
  /**
   * Time when the message was admitted, Unix ms. It counts toward the daily limit of this day. If this is absent or null, it
   * counts toward the daily limit of the day on which it is published.
   */
  readonly admittedAt?: number | null;
}

export interface PublishedMessage {
  readonly messageId: string;
  readonly url: string;
  /** Name of the endpoint of a group, if it has one. */
  readonly endpointName: string | null;
  /** Whether the message was published before. If so, this is the earlier message. */
  readonly deduplicated: boolean;
}

export type PublishOutcome =
  /** One message for a URL, one for each endpoint of a group. */
  | { readonly kind: 'published'; readonly messages: readonly PublishedMessage[] }
  /** There is no such group, or it has no endpoint. */
  | { readonly kind: 'url-group-not-found'; readonly name: string };

/** A message with its current state. */
export interface MessageRecord {
  /** `run.workflowRunId` is the message id; `run.settings.message` is present. */
  readonly run: RunRecord & { readonly settings: { readonly message: MessageSettings } };
  /** Number of failed attempts so far. */
  readonly retried: number;
  /** Time of the next attempt, Unix ms; null if the message has ended. */
  readonly nextAttemptAt: number | null;
  readonly inFlight: boolean;
}

export type ListedMessage = MessageRecord['run'] & Pick<ListedRun, 'position'>;

export const MESSAGE_STATES = ['CREATED', 'ACTIVE', 'IN_PROGRESS', 'RETRY', 'ERROR', 'DELIVERED', 'FAILED', 'CANCELED'] as const;
export type MessageState = (typeof MESSAGE_STATES)[number];

/** An event in the log of a message. */
export interface MessageEvent {
  /** Time of the event, Unix ms. */
  readonly at: number;
  readonly state: MessageState;
  readonly run: MessageRecord['run'];
  /** Time of the next attempt, for RETRY and for ACTIVE with a delay, Unix ms. */
  readonly nextDeliveryAt?: number;
  /** Error text, for ERROR and FAILED. */
  readonly error?: string;
  /** HTTP status of the response, for ERROR. */
  readonly responseStatus?: number;
}

/** `workflowUrls` are the destination URLs. Absent filters match all messages; a filter matches any of its values. */
export interface MessageFilter extends Omit<RunFilter, 'kind' | 'workflowRunId' | 'createdAt' | 'runKeys'>, DestinationFilter {
  readonly messageIds?: readonly string[];
}

export interface MessageQuery {
  readonly instanceId: string;
  readonly filter: MessageFilter;
  /** Position after which the list continues; null starts at the beginning. */
  readonly after: Position | null;
  readonly limit: number;
}

export interface MessageEventQuery extends MessageQuery {
  /** Order of the messages, by the time of their publication. */
  readonly order: Page<MessageFilter>['order'];
  readonly states?: readonly MessageState[];
}

interface MessageId {
  readonly instanceId: string;
  readonly messageId: string;
}

export interface MessageService {
  /**
   * Publishes messages, which are written in the order of the commands. Resolves when all are durable, with outcomes in the order
   * of the commands. Rejects if a message was not written; others may be published.
   */
  publish(commands: readonly MessageCommand[]): Promise<readonly PublishOutcome[]>;
  /** Finds a message; null if it does not exist. */
  find(query: MessageId): Promise<MessageRecord | null>;
  /** Lists messages, newest first. With `hosts` or `paths`, a page can be short or empty although more pages follow. */
  list(query: MessageQuery): Promise<Listing<ListedMessage>>;
  /**
   * Lists events of messages, newest or oldest message first. The events of a page have the same order. `limit` is approximate,
   * because all events of a message are in one page. With `states`, `hosts` or `paths`, a page can have fewer events or none
   * although more pages follow. A page with long settings and errors ends early.
   */
  events(query: MessageEventQuery): Promise<Listing<MessageEvent>>;
  cancel(command: MessageId): Promise<CancelOutcome>;
  /** Cancels the active messages among up to `limit` that match the filter, newest first. */
  cancelAll(command: MessageQuery): Promise<{ readonly canceled: number; readonly next: Position | null }>;
}

/** Name of a queue or a URL group. */
export interface ResourceName {
  readonly instanceId: string;
  readonly name: string;
}

export interface QueueStatus extends Queue {
  /** Number of its messages that have not ended. */
  readonly lag: number;
}

export interface QueueService {
  /** Creates or changes the queue. Absent values do not change; a new queue has a parallelism of 1 and is not paused. */
  put(command: ResourceName & { readonly parallelism?: number; readonly paused?: boolean }): Promise<QueueStatus>;
  find(query: ResourceName): Promise<QueueStatus | null>;
  /** Lists the queues, ordered by name. */
  list(query: { readonly instanceId: string }): Promise<readonly QueueStatus[]>;
  /** Deletes the queue and cancels its messages. Returns false if there is none. */
  delete(command: ResourceName): Promise<boolean>;
}

/** Selects endpoints of a group by name or URL. */
export interface EndpointSelector {
  readonly name?: string;
  readonly url?: string;
}

export interface UrlGroupService {
  /**
   * Creates the group if there is none. Replaces endpoints with the same name or URL. Changes nothing if the group would have too
   * many endpoints.
   */
  addEndpoints(
    command: ResourceName & { readonly endpoints: readonly GroupEndpoint[] },
  ): Promise<UrlGroup | 'too-many-endpoints'>;
  /**
   * Removes the endpoints with one of these names or URLs, and deletes the group if none remains. Returns null if the group does
   * not exist.
   */
  removeEndpoints(command: ResourceName & { readonly endpoints: readonly EndpointSelector[] }): Promise<UrlGroup | null>;
  find(query: ResourceName): Promise<UrlGroup | null>;
  /** Lists the groups, ordered by name. */
  list(query: { readonly instanceId: string }): Promise<readonly UrlGroup[]>;
  /** Deletes the group. Returns false if there is none. */
  delete(command: ResourceName): Promise<boolean>;
}
