/** Whether it pays to let a batch wait for more units. */
import { performance } from 'node:perf_hooks';

const LOOK_EVERY_MS = 100;
/** The part of its time in which the event loop has something to do, from which on more work only waits. */
const BUSY = Number(process.env.XB ?? 0.75);

/** So many ms while the process has been busy for the last tenth of a second, else 0. */
export function gatherWhenBusy(gatherMs: number): () => number {
  let before = performance.eventLoopUtilization();
  let lookedAt = performance.now();
  let busy = false;
  return () => {
    const now = performance.now();
    if (now - lookedAt >= LOOK_EVERY_MS) {
      const since = performance.eventLoopUtilization(before);
      // What was long ago says nothing.
      busy = now - lookedAt < 5 * LOOK_EVERY_MS && since.utilization >= BUSY;
      before = performance.eventLoopUtilization();
      lookedAt = now;
    }
    return busy ? gatherMs : 0;
  };
}
