/** Runs that wait for events, and webhooks. */
import type { RunIdentity } from '../../engine/runs/run.js';

/** A task that waits for an event. */
export interface WaiterRecord {
  readonly runKey: string;
  readonly slot: number;
  readonly workflowRunId: string;
  /** Unix ms. */
  readonly workflowCreatedAt: number;
  readonly workflowUrl: string;
  readonly dialect: RunIdentity['dialect'];
  readonly stepName: string;
  /** Unix ms. */
  readonly deadlineAt: number;
  /** Unix ms at which the wait started. */
  readonly since: number;
}

/** A task that waits for an event, with that event. */
export interface EventWaiterRecord extends WaiterRecord {
  readonly eventId: string;
}

/** Reads waits for events, and webhooks. */
export interface EventStore {
  /** Tasks that wait for the event, the oldest wait first; at most `limit` after `after`. Parked tasks are not included. */
  listWaiters(query: {
    readonly instanceId: string;
    readonly eventId: string;
    readonly after: WaiterRecord | null;
    readonly limit: number;
  }): Promise<readonly WaiterRecord[]>;
  /**
   * Tasks of the instance that wait for any event, by event id and then as above. A task that waits for several
   * events is listed with each.
   */
  listAllWaiters(query: {
    readonly instanceId: string;
    readonly after: Pick<EventWaiterRecord, 'eventId' | 'since' | 'runKey' | 'slot'> | null;
    readonly limit: number;
  }): Promise<readonly EventWaiterRecord[]>;
  /** Returns whether a CreateWebhook step of the run created this event id. */
  hasWebhook(query: { readonly runKey: string; readonly eventId: string }): Promise<boolean>;
}
