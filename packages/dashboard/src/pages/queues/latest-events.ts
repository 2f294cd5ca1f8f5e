/** Derives a list of messages from a list of message events. */

import type { Tone } from '../../components/status-badge.js';
import type { MessageEvent, MessageState } from './shapes.js';

/**
 * Returns the latest event of each message, the newest message first. An event `RETRY` gets the error of the attempt before it.
 * @param events newest first, as the server lists the events of several messages
 */
export function latestEvents(events: readonly MessageEvent[]): readonly MessageEvent[] {
  const latestById = new Map<string, MessageEvent>();
  for (const event of events) {
    const latestEvent = latestById.get(event.messageId);
    if (latestEvent === undefined) latestById.set(event.messageId, event);
    else if (latestEvent.state === 'RETRY' && latestEvent.error === undefined && event.error !== undefined)
      latestById.set(event.messageId, { ...latestEvent, error: event.error });
  }
  return [...latestById.values()].sort((a, b) => b.createdAt - a.createdAt);
}

const FINAL_STATES: readonly MessageState[] = ['DELIVERED', 'FAILED', 'CANCELED'];
export const hasEnded = (state: MessageState): boolean => FINAL_STATES.includes(state);

export const MESSAGE_STATES: Readonly<Record<MessageState, { readonly text: string; readonly tone: Tone }>> = {
  CREATED: { text: 'Published', tone: 'info' },
  ACTIVE: { text: 'Pending', tone: 'info' },
  IN_PROGRESS: { text: 'In flight', tone: 'info' },
  RETRY: { text: 'Retry pending', tone: 'warn' },
  ERROR: { text: 'Attempt failed', tone: 'warn' },
  DELIVERED: { text: 'Delivered', tone: 'good' },
  FAILED: { text: 'Failed', tone: 'bad' },
  CANCELED: { text: 'Canceled', tone: 'quiet' },
};
