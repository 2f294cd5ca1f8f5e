/** Whether it pays to let a batch wait for more units: where the processor is what everybody waits for. */
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

const LOOK_EVERY_MS = 100;
/** What was longer ago says nothing of now. */
const OLD_AFTER_MS = 500;
/** The part of its time in which the process has something to do, from which on more batches only make it more. */
const BUSY = 0.7;
/** Half of what a batch costs. */
const MANY_UNITS = 10;

/** What Linux counts of this thread: ns on a processor, ns in which it was ready and had none, and how often it got one. */
const COUNTED = '/proc/thread-self/schedstat';
const FIRST_TWO = /^(\d+) (\d+) /;
const NS_PER_MS = 1e6;

/** Ms since some moment in which this thread had something to do, with a processor for it or waiting for one; NaN: not known now. */
export type WantedMs = () => number;

/**
 * As the system counts it; where it does not, the time in which the event loop was active. That leaves out how long a loop
 * that has slept waits until it gets a processor: most of what a process on a crowded machine waits for.
 */
export function processorWanted(file = COUNTED): WantedMs {
  const counted = (): number => {
    try {
      const [, hadNs, waitedNs] = FIRST_TWO.exec(readFileSync(file, 'latin1')) ?? [];
      return (Number(hadNs) + Number(waitedNs)) / NS_PER_MS;
    } catch {
      return Number.NaN;
    }
  };
  if (counted() > 0) return counted;
  return () => performance.eventLoopUtilization().active;
}

/**
 * Gives `gatherMs` while the process has been busy for the last tenth of a second and batches have many units, else 0:
 * small ones come of few runs, all of which may be waiting for this very batch, and nobody else would come.
 */
export function gatherWhenBusy(
  gatherMs: number,
  now: () => number = () => performance.now(),
  wantedMs: WantedMs = processorWanted(),
): (recentUnits: number) => number {
  let wantedBefore = wantedMs();
  let lookedAt = now();
  let busy = false;
  return (recentUnits) => {
    const at = now();
    const passedMs = at - lookedAt;
    if (passedMs >= LOOK_EVERY_MS) {
      const wanted = wantedMs();
      busy = passedMs < OLD_AFTER_MS && wanted - wantedBefore >= BUSY * passedMs;
      wantedBefore = wanted;
      lookedAt = at;
    }
    return busy && recentUnits >= MANY_UNITS ? gatherMs : 0;
  };
}
