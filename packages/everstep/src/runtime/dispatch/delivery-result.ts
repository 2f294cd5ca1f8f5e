/** What the outcome of a delivery shows about its destination. */
import type { RunEvent } from '../../engine/runs/decide.js';
import type { DeliveryFailure } from '../../engine/runs/run.js';
import { type DeliveryResult, NOT_SENT } from '../gates/delivery.js';

const DELIVERED: DeliveryResult = { kind: 'delivered' };

/** Returns what the failure of an attempt shows about the destination. A failed step is not a fault of the destination. */
export function resultOfFailure(failure: DeliveryFailure | null | 'abandoned'): DeliveryResult {
  if (failure === 'abandoned') return NOT_SENT;
  if (failure === null) return DELIVERED;
  switch (failure.cause) {
    case 'network':
    case 'timeout':
      return { kind: 'failed', error: failure.message };
    case 'http': {
      const status = failure.status ?? 0;
      return status >= 500 || status === 429 ? { kind: 'failed', error: failure.message } : DELIVERED;
    }
    default:
      return DELIVERED;
  }
}

/** Returns what the outcome of a delivery shows about the destination; `event` is null if there was no outcome. */
export function resultOfEvent(event: RunEvent | null): DeliveryResult {
  switch (event?.kind) {
    case undefined:
      return NOT_SENT;
    case 'attempt-failed':
    case 'call-attempted':
    case 'message-attempted':
      return resultOfFailure(event.failure);
    default:
      return DELIVERED;
  }
}
