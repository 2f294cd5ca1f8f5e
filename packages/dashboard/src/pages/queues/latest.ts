/** What happened, read as what there is: of each message the last thing that happened to it. */

import type { Tone } from '../../components/status-badge.js';
import type { MessageEvent, MessageState } from './shapes.js';

/** @param events the newest first, those of one message together, as the service lists them */
export function latestOf(events: readonly MessageEvent[]): readonly MessageEvent[] {
  const seen = new Set<string>();
  return events.filter(({ messageId }) => !seen.has(messageId) && seen.add(messageId));
}

const ENDED: readonly MessageState[] = ['DELIVERED', 'FAILED', 'CANCELED'];
export const hasEnded = (state: MessageState): boolean => ENDED.includes(state);

export const STATE_WORDS: Readonly<Record<MessageState, { readonly text: string; readonly tone: Tone }>> = {
  CREATED: { text: 'Published', tone: 'info' },
  ACTIVE: { text: 'Ready', tone: 'info' },
  IN_PROGRESS: { text: 'In flight', tone: 'info' },
  RETRY: { text: 'Waits to retry', tone: 'warn' },
  ERROR: { text: 'Attempt failed', tone: 'warn' },
  DELIVERED: { text: 'Delivered', tone: 'good' },
  FAILED: { text: 'Failed', tone: 'bad' },
  CANCELED: { text: 'Canceled', tone: 'quiet' },
};
