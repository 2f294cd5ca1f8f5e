/** Waits in real time, for work that no simulated clock drives. */
import { setTimeout as timer } from 'node:timers/promises';

/** Resolves after `ms`. Rejects with an AbortError as soon as the signal is aborted. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> => timer(ms, undefined, signal ? { signal } : {});
