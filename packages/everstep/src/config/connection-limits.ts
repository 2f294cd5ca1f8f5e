/**
 * Maximum number of client connections, derived from the limit of file descriptors.
 *
 * Without a free descriptor, the operating system closes waiting connections without notifying the process. The server
 * therefore stays below the limit, where it can still respond and log.
 */
import { readFileSync } from 'node:fs';
import { LIMITS } from './limits.js';

export interface ConnectionLimits {
  /** Number of served connections; requests on further connections get status 503. */
  readonly served: number;
  /** Number of accepted connections; further connections are closed immediately. */
  readonly accepted: number;
}

/** Descriptors for the store, its log, database connections, standard streams and the event loop. */
const RESERVED_DESCRIPTORS = 64;
/** Share of the accepted connections whose requests get 503. */
const SURPLUS_SHARE = 1 / 4;

/** Returns the limits for a number of descriptors. Deliveries get as many descriptors as they need, but at most half. */
export function connectionLimitsFor(descriptorCount: number): ConnectionLimits {
  const usableDescriptors = Math.max(2, descriptorCount - RESERVED_DESCRIPTORS);
  const deliveryDescriptors = Math.min(LIMITS.maxDeliveriesInFlight, Math.floor(usableDescriptors / 2));
  const accepted = usableDescriptors - deliveryDescriptors;
  return { served: Math.ceil(accepted * (1 - SURPLUS_SHARE)), accepted };
}

/** Returns the soft limit in the text of `/proc/self/limits`; null if it is missing or unlimited. */
export function descriptorLimitIn(text: string): number | null {
  const softLimit = /^Max open files\s+(\d+)/m.exec(text)?.[1];
  return softLimit === undefined ? null : Number(softLimit);
}

/** Returns the limits of this process; null if they are unlimited, or unknown because it does not run on Linux. */
export function connectionLimits(): ConnectionLimits | null {
  try {
    const descriptorCount = descriptorLimitIn(readFileSync('/proc/self/limits', 'utf8'));
    return descriptorCount === null ? null : connectionLimitsFor(descriptorCount);
  } catch {
    return null;
  }
}
