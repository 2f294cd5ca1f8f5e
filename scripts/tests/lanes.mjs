/**
 * Decides the order and concurrency of test files. Files that start several servers, browsers or database servers would slow each
 * other down, so only one of them runs at a time, together with one other file.
 */

import { availableParallelism } from 'node:os';

/** Files that start processes: those in end-to-end/, except those that run the server in their own process, and some others. */
const STARTS_PROCESSES = [
  /(^|\/)end-to-end\/(?:[\w-]+\/)?(?!(published-(bulk|messages|queues|sdk-(failures|logs|management|steps))|forks|guides.*|time-travel|trial|budget-months)\.test\.)[^/]*$/,
  /\/cli\/(commands\/installation\/(server|backup-commands|copy-store-commands)|demo\/demo)\.test\./,
  /\/documentation\/first-workflow\.test\./,
  /^scripts\/deploy\/image\.test\./,
  /^scripts\/starters\//,
];

/** Files with node leases that expire under load. Only two files run at a time until these are done. */
const HEAVY_FILES = /(^|\/)end-to-end\/(?:[\w-]+\/)?(dashboard-nodes|nodes|crash|repair-crash|published-postgres)/;

const slashes = (source) => source.replaceAll('\\', '/');

/** @param {string} source relative to the root */
export const startsProcesses = (source) => STARTS_PROCESSES.some((pattern) => pattern.test(slashes(source)));

/** @param {string} source relative to the root */
export const isHeavy = (source) => HEAVY_FILES.test(slashes(source));

/**
 * Runs every unit once, the long ones first: two at a time, and three once the heavy ones are done.
 *
 * @template {{ readonly source: string, readonly seconds: number }} Unit
 * @param {readonly Unit[]} units
 * @param {(unit: Unit) => Promise<void>} runOne
 */
export async function runInLanes(units, runOne) {
  const orderedUnits = [...units].sort((a, b) => b.seconds - a.seconds);
  const heavyUnits = orderedUnits.filter(({ source }) => isHeavy(source));
  const processUnits = orderedUnits.filter(({ source }) => startsProcesses(source) && !isHeavy(source));
  const otherUnits = orderedUnits.filter(({ source }) => !startsProcesses(source));
  async function lane(...queues) {
    for (const queue of queues) for (let unit = queue.shift(); unit; unit = queue.shift()) await runOne(unit);
  }
  const heavyLane = lane(heavyUnits);
  const lanes = [heavyLane.then(() => lane(processUnits, otherUnits)), lane(otherUnits, processUnits)];
  // Most other tests sometimes wait, so two of them would leave a processor idle.
  if (availableParallelism() > 1) lanes.push(heavyLane.then(() => lane(otherUnits, processUnits)));
  await Promise.all(lanes);
}
