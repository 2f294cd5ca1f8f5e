/**
 * How many connections of clients the process accepts, by its limit of file descriptors.
 *
 * Without a free descriptor the operating system's queue is emptied by closing connections, and no code of ours learns of
 * it. So the service stops below the limit, where it can still answer and log.
 */
import { readFileSync } from 'node:fs';
import { LIMITS } from './limits.js';

export interface ConnectionLimits {
  /** Requests on further connections are answered with 503. */
  readonly served: number;
  /** Further connections are closed at once. */
  readonly accepted: number;
}

/** The store, its log, the database connections, standard streams, the event loop. */
const DESCRIPTORS_OF_THE_PROCESS = 64;
/** Share of the accepted connections whose requests are answered with 503. */
const SURPLUS_SHARE = 1 / 4;

/** For a limit of so many descriptors. Deliveries get what they need, but at most half. */
export function connectionLimitsFor(descriptors: number): ConnectionLimits {
  const shared = Math.max(2, descriptors - DESCRIPTORS_OF_THE_PROCESS);
  const deliveries = Math.min(LIMITS.maxDeliveriesInFlight, Math.floor(shared / 2));
  const accepted = shared - deliveries;
  return { served: Math.ceil(accepted * (1 - SURPLUS_SHARE)), accepted };
}

/** The soft limit in the text of `/proc/self/limits`; null when there is none. */
export function descriptorLimitIn(text: string): number | null {
  const soft = /^Max open files\s+(\d+)/m.exec(text)?.[1];
  return soft === undefined ? null : Number(soft);
}

/** Of this process; null where it cannot be read, as outside of Linux, or where there is no limit. */
export function connectionLimits(): ConnectionLimits | null {
  try {
    const descriptors = descriptorLimitIn(readFileSync('/proc/self/limits', 'utf8'));
    return descriptors === null ? null : connectionLimitsFor(descriptors);
  } catch {
    return null;
  }
}
