/**
 * What the service can be asked to do with plain messages, and with what they
 * are published to: queues and groups of URLs. A message is a run without
 * code: it is canceled with `cancelRuns`, and its dead letters are recovered
 * (a restart publishes it anew) and deleted as those of workflows are.
 */
import type { GroupEndpoint, MessageSettings, Queue, RunPayload, RunSettings, UrlGroup } from '../../engine/runs/run.js';
import type { ListedRun, Listing, Position, RunFilter, RunRecord } from '../../ports/stores/store.js';
import type { CancelOutcome } from '../services/workflow-service.js';

/** Where a message goes: to a URL, or to each endpoint of a group. */
export type MessageDestination =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'url-group'; readonly name: string };

/** A validated request for a message. */
export interface MessageCommand {
  readonly instanceId: string;
  readonly dialect: RunRecord['dialect'];
  readonly destination: MessageDestination;
  readonly payload: RunPayload;
  /** What is said of a run, too. `steps` and `message` are none of it. */
  readonly settings: Omit<RunSettings, 'steps' | 'message'>;
  /** Upper case. */
  readonly method: string;
  readonly callback: MessageSettings['callback'] | null;
  /** A queue that nobody has made is made, with one message at a time. */
  readonly queue: string | null;
  /** Unix ms before which it is not sent; null sends it now. */
  readonly notBefore: number | null;
  readonly deduplicationId: string | null;
  readonly callerIp: string;
  /** Unix ms at which it was let in: it counts for this day. Absent or null: for the day on which it is published. */
  readonly admittedAt?: number | null;
}

export interface PublishedMessage {
  readonly messageId: string;
  readonly url: string;
  /** Of an endpoint of a group that has a name. */
  readonly endpointName: string | null;
  /** It was published before; this is the message of then. */
  readonly deduplicated: boolean;
}

export type PublishOutcome =
  /** One message for a URL, one for each endpoint of a group. */
  | { readonly kind: 'published'; readonly messages: readonly PublishedMessage[] }
  /** There is no such group, or it has no endpoint. */
  | { readonly kind: 'url-group-not-found'; readonly name: string };

/** A message as it is shown. */
export interface MessageRecord {
  /** `run.workflowRunId` is the message id, `run.settings.message` is present. */
  readonly run: RunRecord & { readonly settings: { readonly message: MessageSettings } };
  /** Failed attempts so far. */
  readonly retried: number;
  /** Unix ms of the next attempt; null when it has ended. */
  readonly nextAttemptAt: number | null;
  readonly inFlight: boolean;
}

export type ListedMessage = MessageRecord['run'] & Pick<ListedRun, 'position'>;

export const MESSAGE_STATES = ['CREATED', 'ACTIVE', 'IN_PROGRESS', 'RETRY', 'ERROR', 'DELIVERED', 'FAILED', 'CANCELED'] as const;
export type MessageState = (typeof MESSAGE_STATES)[number];

/** Something that happened to a message. */
export interface MessageEvent {
  /** Unix ms. */
  readonly at: number;
  readonly state: MessageState;
  readonly run: MessageRecord['run'];
  /** Of RETRY, and of ACTIVE when it was to wait: Unix ms of the next attempt. */
  readonly nextDeliveryAt?: number;
  /** Of ERROR and FAILED, in words. */
  readonly error?: string;
  /** Of ERROR: the HTTP status that came back. */
  readonly responseStatus?: number;
}

/** `workflowUrls` are the URLs that messages go to. All that is absent asks for nothing; of the values of one filter any will do. */
export interface MessageFilter extends Omit<RunFilter, 'kind' | 'workflowRunId' | 'createdAt' | 'runKeys'> {
  readonly messageIds?: readonly string[];
}

export interface MessageQuery {
  readonly instanceId: string;
  readonly filter: MessageFilter;
  /** Continue behind this place; null starts. */
  readonly after: Position | null;
  readonly limit: number;
}

export interface QueueStatus extends Queue {
  /** Messages in it that have not ended. */
  readonly lag: number;
}

interface Named {
  readonly instanceId: string;
  readonly name: string;
}

export interface MessageService {
  /** All of them become durable together, but for those with a deduplication id; outcomes are in the order of the commands. */
  publish(commands: readonly MessageCommand[]): Promise<readonly PublishOutcome[]>;
  /** Null when there is no such message. */
  message(query: { readonly instanceId: string; readonly messageId: string }): Promise<MessageRecord | null>;
  /** Newest first. */
  messages(query: MessageQuery): Promise<Listing<ListedMessage>>;
  /**
   * What happened to messages, the newest message first, and of each page the newest event first. `limit` is about
   * how many events: those of one message are never torn apart. With `states` a page may have fewer, or none, and yet
   * another one may follow. A page with long settings and errors ends early.
   */
  messageEvents(query: MessageQuery & { readonly states?: readonly MessageState[] }): Promise<Listing<MessageEvent>>;
  cancelMessage(command: { readonly instanceId: string; readonly messageId: string }): Promise<CancelOutcome>;
  /** Cancels what is active of up to `limit` messages that the filter names, newest first. */
  cancelMessages(command: MessageQuery): Promise<{ readonly canceled: number; readonly next: Position | null }>;

  /** Makes the queue, or changes it; what is absent stays, or is one at a time and not paused. */
  putQueue(command: Named & { readonly parallelism?: number; readonly paused?: boolean }): Promise<QueueStatus>;
  queue(query: Named): Promise<QueueStatus | null>;
  /** In the order of the names. */
  queues(query: { readonly instanceId: string }): Promise<readonly QueueStatus[]>;
  /** Cancels the messages that wait in it, too. False when there is none. */
  deleteQueue(command: Named): Promise<boolean>;

  /** Makes the group if there is none. An endpoint with a name or a URL that it has already takes its place. */
  addEndpoints(command: Named & { readonly endpoints: readonly GroupEndpoint[] }): Promise<UrlGroup>;
  /** Those with one of these names or URLs go. Null when there is no such group. */
  removeEndpoints(
    command: Named & { readonly endpoints: readonly { readonly name?: string; readonly url?: string }[] },
  ): Promise<UrlGroup | null>;
  urlGroup(query: Named): Promise<UrlGroup | null>;
  /** In the order of the names. */
  urlGroups(query: { readonly instanceId: string }): Promise<readonly UrlGroup[]>;
  /** False when there is none. */
  deleteUrlGroup(command: Named): Promise<boolean>;
}
