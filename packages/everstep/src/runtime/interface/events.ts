/** Events: runs that wait for one are notified; webhooks are events of one run. */
import type { EventContent } from '@everstep/sdk/protocol';
import type { WaiterRecord } from '../../ports/stores/store.js';

/** A notified run, with the id of the message that continues it. */
export interface NotifiedRun {
  readonly waiter: WaiterRecord;
  readonly messageId: string;
}

export interface NotifyCommand {
  readonly instanceId: string;
  readonly eventId: string;
  /** The only run that is notified. The event is kept for it if it does not wait yet. Null notifies all runs that wait for it. */
  readonly workflowRunId: string | null;
  readonly content: EventContent;
}

export type NotifyOutcome =
  /** The runs that waited, each notified exactly once; can be empty. */
  | { readonly kind: 'notified'; readonly notified: readonly NotifiedRun[] }
  /** The specified run does not wait for the event yet; the event is kept for it. */
  | { readonly kind: 'kept'; readonly messageId: string }
  | { readonly kind: 'run-not-found' }
  | { readonly kind: 'run-not-active' }
  /** The maximum number of events is already kept for the specified run. */
  | { readonly kind: 'too-many-kept' };

/** Identifies a webhook. */
export interface WebhookId {
  readonly eventId: string;
  /** The run that created the webhook, if the URL names the run. Otherwise the event id does. */
  readonly of?: { readonly instanceId: string; readonly workflowRunId: string };
}

export interface EventService {
  notify(command: NotifyCommand): Promise<NotifyOutcome>;
  /** Delivers a request to a webhook. Resolves with `not-found` if no active run has the webhook. */
  callWebhook(command: WebhookId & { readonly content: EventContent }): Promise<'taken' | 'not-found' | 'too-many-kept'>;
  /** Resolves with the instance whose run created this webhook; null if there is none. */
  instanceOfWebhook(query: WebhookId): Promise<string | null>;
}
