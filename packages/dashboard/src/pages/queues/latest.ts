/** What happened, read as what there is: of each message the last thing that happened to it. */

import type { Tone } from '../../components/status-badge.js';
import type { MessageEvent, MessageState } from './shapes.js';

/**
 * One that is tried again says what went wrong the last time.
 * @param events the newest first, those of one message together, as the service lists them
 */
export function latestOf(events: readonly MessageEvent[]): readonly MessageEvent[] {
  const latest = new Map<string, MessageEvent>();
  for (const event of events) {
    const last = latest.get(event.messageId);
    if (last === undefined) latest.set(event.messageId, event);
    else if (last.state === 'RETRY' && last.error === undefined && event.error !== undefined)
      latest.set(event.messageId, { ...last, error: event.error });
  }
  return [...latest.values()];
}

const ENDED: readonly MessageState[] = ['DELIVERED', 'FAILED', 'CANCELED'];
export const hasEnded = (state: MessageState): boolean => ENDED.includes(state);

export const STATE_WORDS: Readonly<Record<MessageState, { readonly text: string; readonly tone: Tone }>> = {
  CREATED: { text: 'Published', tone: 'info' },
  ACTIVE: { text: 'To be sent', tone: 'info' },
  IN_PROGRESS: { text: 'In flight', tone: 'info' },
  RETRY: { text: 'Waits to retry', tone: 'warn' },
  ERROR: { text: 'Attempt failed', tone: 'warn' },
  DELIVERED: { text: 'Delivered', tone: 'good' },
  FAILED: { text: 'Failed', tone: 'bad' },
  CANCELED: { text: 'Canceled', tone: 'quiet' },
};
