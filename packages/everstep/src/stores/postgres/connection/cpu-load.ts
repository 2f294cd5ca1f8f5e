/** Decides how long a batch waits for more units. Batches wait only while the CPU is the bottleneck. */
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

const CHECK_EVERY_MS = 100;
/** A measurement that is older than this is ignored. */
const MAX_AGE_MS = 500;
/** Fraction of busy time above which more batches only increase the load. */
const BUSY_FRACTION = 0.7;
/** Number of units that cost half as much as the fixed cost of a batch. */
const MANY_UNITS = 10;

/** Linux counters of this thread: nanoseconds on a processor, nanoseconds waiting for one, and the number of time slices. */
const SCHEDULER_STATISTICS_FILE = '/proc/thread-self/schedstat';
const FIRST_TWO_COUNTERS = /^(\d+) (\d+) /;
const NS_PER_MS = 1e6;

/** Returns how long this thread has been running or waiting for a processor so far, in milliseconds; NaN if unknown. */
export type DemandMs = () => number;

/**
 * Returns a function that reads the time that the system counts or, if it counts none, the active time of the event loop. That time
 * omits how long an event loop with work waits for a processor, which is most of the waiting on a busy machine.
 */
export function processorDemand(file = SCHEDULER_STATISTICS_FILE): DemandMs {
  const readDemandMs = (): number => {
    try {
      const [, runningNs, waitingNs] = FIRST_TWO_COUNTERS.exec(readFileSync(file, 'latin1')) ?? [];
      return (Number(runningNs) + Number(waitingNs)) / NS_PER_MS;
    } catch {
      return Number.NaN;
    }
  };
  if (readDemandMs() > 0) return readDemandMs;
  return () => performance.eventLoopUtilization().active;
}

/**
 * Returns a function whose result is `gatherMs` if the process was busy for the last tenth of a second and batches have many units,
 * and 0 otherwise. Small batches belong to few runs. All of these may be waiting for this batch, so no other unit would arrive.
 */
export function gatherWhenBusy(
  gatherMs: number,
  now: () => number = () => performance.now(),
  demandMs: DemandMs = processorDemand(),
): (recentUnits: number) => number {
  let previousTotalMs = demandMs();
  let checkedAt = now();
  let isBusy = false;
  return (recentUnits) => {
    const nowMs = now();
    const elapsedMs = nowMs - checkedAt;
    if (elapsedMs >= CHECK_EVERY_MS) {
      const totalMs = demandMs();
      isBusy = elapsedMs < MAX_AGE_MS && totalMs - previousTotalMs >= BUSY_FRACTION * elapsedMs;
      previousTotalMs = totalMs;
      checkedAt = nowMs;
    }
    return isBusy && recentUnits >= MANY_UNITS ? gatherMs : 0;
  };
}
