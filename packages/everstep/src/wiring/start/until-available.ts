/** Retries a part of the startup while the store is unavailable, so that an outage does not end the process. */
import type { Log } from '../../ports/log.js';
import { StoreUnavailableError } from '../../ports/stores/store-unavailable.js';
import { faultOf } from '../../runtime/commits/store-writes.js';

const FIRST_DELAY_MS = 250;
/** Maximum delay between attempts. It is small, so that the server is ready soon after the store has recovered. */
const MAX_DELAY_MS = 5_000;

export interface AvailabilityOptions {
  readonly log: Log;
  /** Waits. Rejects if the start is canceled. */
  readonly pause: (ms: number) => Promise<void>;
  /** Called each time the store is unavailable. `reason` is for clients and contains no addresses. */
  readonly onUnavailable: (reason: string) => Promise<void> | void;
}

/**
 * Resolves with the result of `work`. If `work` rejects with StoreUnavailableError, it is repeated with growing delays; it must
 * be safe to repeat. Rejects with any other error of `work`.
 */
export async function untilAvailable<Result>(
  work: () => Promise<Result>,
  { log, pause, onUnavailable }: AvailabilityOptions,
): Promise<Result> {
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(delayMs * 2, MAX_DELAY_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      log.error({ error: error.message, retryAfterMs: delayMs }, 'store unavailable during startup, retrying');
      await onUnavailable(faultOf(error));
      await pause(delayMs);
    }
  }
}
