/** Decides whether a batch should wait for more units: only where the CPU is the bottleneck. */
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

const CHECK_EVERY_MS = 100;
/** Age at which a measurement says nothing about the present any more. */
const OLD_AFTER_MS = 500;
/** Busy fraction of time above which more batches only increase the load. */
const BUSY = 0.7;
/** Number of units that cost half as much as a batch. */
const MANY_UNITS = 10;

/** Counters of Linux for this thread: ns on a processor, ns ready without one, and how often it got one. */
const SCHEDULER_STATISTICS_FILE = '/proc/thread-self/schedstat';
const FIRST_TWO = /^(\d+) (\d+) /;
const NS_PER_MS = 1e6;

/** Returns how long this thread has been running or waiting for a processor so far, in milliseconds; NaN if unknown. */
export type DemandMs = () => number;

/**
 * Returns the time that the system counts, or else the active time of the event loop. The latter omits how long a loop that wakes
 * up waits for a processor, which is most of the waiting on a crowded machine.
 */
export function processorDemand(file = SCHEDULER_STATISTICS_FILE): DemandMs {
  const readDemandMs = (): number => {
    try {
      const [, hadNs, waitedNs] = FIRST_TWO.exec(readFileSync(file, 'latin1')) ?? [];
      return (Number(hadNs) + Number(waitedNs)) / NS_PER_MS;
    } catch {
      return Number.NaN;
    }
  };
  if (readDemandMs() > 0) return readDemandMs;
  return () => performance.eventLoopUtilization().active;
}

/**
 * Returns `gatherMs` while the process has been busy for the last tenth of a second and batches have many units, else 0: small
 * batches come from few runs, all of which may be waiting for this very batch, so no other unit would arrive.
 */
export function gatherWhenBusy(
  gatherMs: number,
  now: () => number = () => performance.now(),
  demandMs: DemandMs = processorDemand(),
): (recentUnits: number) => number {
  let previousTotalMs = demandMs();
  let checkedAt = now();
  let busy = false;
  return (recentUnits) => {
    const at = now();
    const passedMs = at - checkedAt;
    if (passedMs >= CHECK_EVERY_MS) {
      const totalMs = demandMs();
      busy = passedMs < OLD_AFTER_MS && totalMs - previousTotalMs >= BUSY * passedMs;
      previousTotalMs = totalMs;
      checkedAt = at;
    }
    return busy && recentUnits >= MANY_UNITS ? gatherMs : 0;
  };
}
