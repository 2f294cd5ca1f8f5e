/** Derives a list of messages from a list of message events. */

import type { Tone } from '../../components/status-badge.js';
import type { MessageEvent, MessageState } from './shapes.js';

/**
 * Returns the latest event of each message, the newest message first. An event `RETRY` gets the error of the attempt before it.
 * @param events newest first, as the server lists the events of several messages
 */
export function latestOf(events: readonly MessageEvent[]): readonly MessageEvent[] {
  const latest = new Map<string, MessageEvent>();
  for (const event of events) {
    const last = latest.get(event.messageId);
    if (last === undefined) latest.set(event.messageId, event);
    else if (last.state === 'RETRY' && last.error === undefined && event.error !== undefined)
      latest.set(event.messageId, { ...last, error: event.error });
  }
  return [...latest.values()].sort((a, b) => b.createdAt - a.createdAt);
}

const ENDED: readonly MessageState[] = ['DELIVERED', 'FAILED', 'CANCELED'];
export const hasEnded = (state: MessageState): boolean => ENDED.includes(state);

export const STATE_TEXTS: Readonly<Record<MessageState, { readonly text: string; readonly tone: Tone }>> = {
  CREATED: { text: 'Published', tone: 'info' },
  ACTIVE: { text: 'Pending', tone: 'info' },
  IN_PROGRESS: { text: 'In flight', tone: 'info' },
  RETRY: { text: 'Retry pending', tone: 'warn' },
  ERROR: { text: 'Attempt failed', tone: 'warn' },
  DELIVERED: { text: 'Delivered', tone: 'good' },
  FAILED: { text: 'Failed', tone: 'bad' },
  CANCELED: { text: 'Canceled', tone: 'quiet' },
};
