/** Writes of events that alert rules watch. */
import type { AlertEvent } from '../alerts/alert-events.js';
import { alwaysTrue, COUNTER_FACTS, SMALL_WRITE_FACTS, type WriteFactsOf } from './facts.js';

export type AlertWrite =
  /** Adds an event in the unit that causes it. The next round of the alert rules removes it. */
  { readonly kind: 'add-alert-event'; readonly instanceId: string; readonly event: AlertEvent };

export const ALERT_WRITE_FACTS = {
  'add-alert-event': {
    ...COUNTER_FACTS,
    ...SMALL_WRITE_FACTS,
    aggregate: 'alert',
    topic: null,
    isSelfContained: alwaysTrue,
    time: ({ event }) => event.at,
  },
} satisfies WriteFactsOf<AlertWrite>;
