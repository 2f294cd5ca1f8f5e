/** Builds the call that notifies runs of an event. */
import { type PayloadCipher, sealContent } from '../../encryption/envelope.js';
import type { Call } from '../transport.js';

/** An event for runs that wait for it. */
export interface NotifyEvent {
  /** Id of the event. */
  readonly eventId: string;
  /** Data of the event. Text and bytes are sent as they are, everything else as JSON. */
  readonly eventData?: unknown;
  /** Content type of the data. Default: text/plain for text, application/octet-stream for bytes, otherwise application/json. */
  readonly contentType?: string;
  /** Notifies only this run. If it does not wait for the event yet, the server keeps the event for it. */
  readonly workflowRunId?: string;
}

function defaultContentOf(data: unknown): { readonly body?: string | Uint8Array; readonly contentType?: string } {
  if (data === undefined) return {};
  if (typeof data === 'string') return { body: data, contentType: 'text/plain; charset=utf-8' };
  if (data instanceof Uint8Array) return { body: data, contentType: 'application/octet-stream' };
  return { body: JSON.stringify(data), contentType: 'application/json' };
}

/** Builds the call that notifies the runs that wait for an event. */
export function notifyCall({ eventId, eventData, contentType, workflowRunId }: NotifyEvent, cipher?: PayloadCipher): Call {
  const defaultContent = defaultContentOf(eventData);
  const body = sealContent(cipher, defaultContent.body);
  const type = contentType ?? defaultContent.contentType;
  const pathIds = workflowRunId === undefined ? [eventId] : [workflowRunId, eventId];
  return {
    method: 'POST',
    path: `/v2/notify/${pathIds.map(encodeURIComponent).join('/')}`,
    ...(type === undefined ? {} : { headers: { 'Content-Type': type } }),
    ...(body === undefined ? {} : { body }),
  };
}
