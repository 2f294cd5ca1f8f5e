/** The fields that the dashboard reads from the responses of queues, URL groups and messages (`/openapi-upstash.json`). */

export interface QueueRow {
  readonly name: string;
  /** When the queue was created, Unix ms. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Maximum number of messages sent at the same time. */
  readonly parallelism: number;
  readonly paused: boolean;
  /** Number of messages that have not ended. */
  readonly lag: number;
}

export interface UrlGroupEndpoint {
  readonly name?: string;
  readonly url: string;
}

export interface UrlGroupRow {
  readonly name: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly endpoints: readonly UrlGroupEndpoint[];
}

export type MessageState = 'CREATED' | 'ACTIVE' | 'IN_PROGRESS' | 'RETRY' | 'ERROR' | 'DELIVERED' | 'FAILED' | 'CANCELED';

/** An event in the log of a message. */
export interface MessageEvent {
  /** Time of the event, Unix ms. */
  readonly time: number;
  readonly state: MessageState;
  readonly messageId: string;
  /** When the message was published, Unix ms. */
  readonly createdAt: number;
  readonly url: string;
  readonly topicName?: string;
  readonly endpointName?: string;
  readonly queueName?: string;
  readonly scheduleId?: string;
  readonly method: string;
  /** Time of the next attempt, Unix ms. */
  readonly nextDeliveryTime?: number;
  readonly error?: string;
  readonly responseStatus?: number;
  readonly maxRetries: number;
  readonly flowControlKey?: string;
  readonly labels?: readonly string[];
}

export interface EventPage {
  readonly cursor?: string;
  readonly logs: readonly MessageEvent[];
}

/** A message in progress. */
export interface MessageDetail {
  readonly messageId: string;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly retried: number;
  readonly nextDeliveryTime?: number;
}
