/** Runs that wait for events, and webhooks. */
import type { RunIdentity } from '../../engine/runs/run.js';

/** A task that waits for an event. A task that waits for several events is listed once for each. */
export interface WaiterRecord {
  readonly eventId: string;
  readonly runKey: string;
  readonly slot: number;
  readonly workflowRunId: string;
  /** Time when the run was created, Unix ms. */
  readonly workflowCreatedAt: number;
  readonly workflowUrl: string;
  readonly dialect: RunIdentity['dialect'];
  readonly stepName: string;
  /** Time when the wait times out, Unix ms. */
  readonly deadlineAt: number;
  /** Time when the wait started, Unix ms. */
  readonly since: number;
}

/** Position of a waiter in a listing. */
export type WaiterPosition = Pick<WaiterRecord, 'eventId' | 'since' | 'runKey' | 'slot'>;

/** Reads waits for events, and webhooks. */
export interface EventStore {
  /**
   * Lists tasks that wait for the event, or for any event (null): by event id, then the oldest wait first; at most `limit`
   * after `after`. Parked tasks are not included.
   */
  listWaiters(query: {
    readonly instanceId: string;
    readonly eventId: string | null;
    readonly after: WaiterPosition | null;
    readonly limit: number;
  }): Promise<readonly WaiterRecord[]>;
  /** Returns whether a CreateWebhook step of the run created this event id. */
  hasWebhook(query: { readonly runKey: string; readonly eventId: string }): Promise<boolean>;
}
