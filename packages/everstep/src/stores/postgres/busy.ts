/** Whether it pays to let a batch wait for more units: where the processor is what everybody waits for. */
import { performance } from 'node:perf_hooks';

const LOOK_EVERY_MS = 100;
/** What was longer ago says nothing of now. */
const OLD_AFTER_MS = 500;
/** The part of its time in which the event loop has something to do, from which on more batches only make it more. */
const BUSY = 0.75;

/** Of the event loop of this process since that moment, or since it began. */
export type Utilization = (
  since?: ReturnType<typeof performance.eventLoopUtilization>,
) => ReturnType<typeof performance.eventLoopUtilization>;

/** Gives `gatherMs` while the process has been busy for the last tenth of a second, else 0. */
export function gatherWhenBusy(
  gatherMs: number,
  now: () => number = () => performance.now(),
  utilization: Utilization = (since) => performance.eventLoopUtilization(since),
): () => number {
  let before = utilization();
  let lookedAt = now();
  let busy = false;
  return () => {
    const at = now();
    if (at - lookedAt >= LOOK_EVERY_MS) {
      busy = at - lookedAt < OLD_AFTER_MS && utilization(before).utilization >= BUSY;
      before = utilization();
      lookedAt = at;
    }
    return busy ? gatherMs : 0;
  };
}
