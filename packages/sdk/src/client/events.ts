/** Events, as calls. */
import type { Call } from './transport.js';

export interface NotifyEvent {
  readonly eventId: string;
  /** Text and bytes are sent as they are, everything else as JSON. */
  readonly eventData?: unknown;
  /** Of the data; by default what it is sent as. */
  readonly contentType?: string;
  /** Notifies this run alone; the event is kept for it when it does not wait for it yet. */
  readonly workflowRunId?: string;
}

function bodyOf(data: unknown): { readonly body?: string | Uint8Array; readonly contentType?: string } {
  if (data === undefined) return {};
  if (typeof data === 'string') return { body: data, contentType: 'text/plain; charset=utf-8' };
  if (data instanceof Uint8Array) return { body: data, contentType: 'application/octet-stream' };
  return { body: JSON.stringify(data), contentType: 'application/json' };
}

export function notifyCall({ eventId, eventData, contentType, workflowRunId }: NotifyEvent): Call {
  const sent = bodyOf(eventData);
  const type = contentType ?? sent.contentType;
  const ids = workflowRunId === undefined ? [eventId] : [workflowRunId, eventId];
  return {
    method: 'POST',
    path: `/v2/notify/${ids.map(encodeURIComponent).join('/')}`,
    ...(type === undefined ? {} : { headers: { 'Content-Type': type } }),
    ...(sent.body === undefined ? {} : { body: sent.body }),
  };
}
