/**
 * The order and concurrency of test files. Files that start several servers, browsers or database servers would slow each other
 * down: only one of them runs at a time, together with one other file.
 */

import { availableParallelism } from 'node:os';

/** Files in end-to-end/ except those that run the server in their own process. */
const STARTS_PROCESSES = [
  /(^|\/)end-to-end\/(?:[\w-]+\/)?(?!(published-(bulk|messages|queues|sdk-(failures|logs|management|steps))|forks|guides.*|time-travel|trial|budget-months)\.test\.)[^/]*$/,
  /\/cli\/(commands\/installation\/(server|backup-commands|copy-store-commands)|demo\/demo)\.test\./,
  /\/documentation\/first-workflow\.test\./,
  /^scripts\/deploy\/image\.test\./,
  /^scripts\/starters\//,
];

/** Files with node leases that expire: only two files run at a time until these are done. */
const NEEDS_ROOM = /(^|\/)end-to-end\/(?:[\w-]+\/)?(dashboard-nodes|nodes|crash|repair-crash|published-postgres)/;

const slashes = (source) => source.replaceAll('\\', '/');

/** @param {string} source relative to the root */
export const startsProcesses = (source) => STARTS_PROCESSES.some((pattern) => pattern.test(slashes(source)));

/** @param {string} source relative to the root */
export const needsRoom = (source) => NEEDS_ROOM.test(slashes(source));

/**
 * Runs every unit once, the long ones first: two at a time, and three once the demanding ones are done.
 *
 * @template {{ readonly source: string, readonly seconds: number }} T
 * @param {readonly T[]} units
 * @param {(unit: T) => Promise<void>} runOne
 */
export async function runInLanes(units, runOne) {
  const ordered = [...units].sort((a, b) => b.seconds - a.seconds);
  const needRoom = ordered.filter(({ source }) => needsRoom(source));
  const withProcesses = ordered.filter(({ source }) => startsProcesses(source) && !needsRoom(source));
  const others = ordered.filter(({ source }) => !startsProcesses(source));
  async function lane(...queues) {
    for (const queue of queues) for (let unit = queue.shift(); unit; unit = queue.shift()) await runOne(unit);
  }
  const room = lane(needRoom);
  const lanes = [room.then(() => lane(withProcesses, others)), lane(others, withProcesses)];
  // Most other tests wait sometimes, so two of them leave a processor idle.
  if (availableParallelism() > 1) lanes.push(room.then(() => lane(others, withProcesses)));
  await Promise.all(lanes);
}
