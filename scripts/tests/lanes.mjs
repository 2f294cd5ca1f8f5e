/**
 * The order and concurrency of test files. Files that start several servers, browsers or database servers would slow each other
 * down: only one of them runs at a time, together with one other file.
 */

import { availableParallelism } from 'node:os';

/** Files in end-to-end/ except those that run the server in their own process. */
const STARTS_PROCESSES = [
  /(^|\/)end-to-end\/(?:[\w-]+\/)?(?!(published-(bulk|messages|queues|sdk-(failures|logs|management|steps))|forks|guides.*|time-travel|trial|budget-months)\.test\.)[^/]*$/,
  /\/cli\/(commands\/installation\/(service|backup-commands|copy-store-commands)|demo\/demo)\.test\./,
  /\/documentation\/first-workflow\.test\./,
  /^scripts\/deploy\/image\.test\./,
  /^scripts\/starters\//,
];

/** Those with node leases that expire: only two files run at a time until they are done. */
const NEEDS_ROOM = /(^|\/)end-to-end\/(?:[\w-]+\/)?(dashboard-nodes|nodes|crash|repair-crash|published-postgres)/;

/** The slowest files, in order. The start time of others does not matter. */
const LONGEST = [
  'simulation/simulation',
  'dashboard/dashboard-account',
  'end-to-end/nodes-together',
  'durability/crash',
  'dashboard/dashboard-pages',
  'deploy/image',
  'dashboard/dashboard-incident',
  'dashboard/dashboard-runs',
  'dashboard/dashboard-actions',
  'installation/service',
  'installation/backup-commands',
  'sqlite/connection/connection',
  'sqlite/search/search',
  'http-api/isolation',
];

const slashes = (source) => source.replaceAll('\\', '/');

/** @param {string} source relative to the root */
export const startsProcesses = (source) => STARTS_PROCESSES.some((pattern) => pattern.test(slashes(source)));

/** @param {string} source relative to the root */
export const needsRoom = (source) => NEEDS_ROOM.test(slashes(source));

function placeOf(source) {
  const place = LONGEST.findIndex((part) => slashes(source).includes(`${part}.test.`));
  return place === -1 ? LONGEST.length : place;
}

/**
 * Runs every test file once, the long ones first: two at a time, and three once the demanding ones are done.
 *
 * @template {{ readonly source: string }} T
 * @param {readonly T[]} tests
 * @param {(test: T) => Promise<void>} runOne
 */
export async function runInLanes(tests, runOne) {
  const ordered = [...tests].sort((a, b) => placeOf(a.source) - placeOf(b.source));
  const needRoom = ordered.filter(({ source }) => needsRoom(source));
  const withProcesses = ordered.filter(({ source }) => startsProcesses(source) && !needsRoom(source));
  const others = ordered.filter(({ source }) => !startsProcesses(source));
  async function lane(...queues) {
    for (const queue of queues) for (let test = queue.shift(); test; test = queue.shift()) await runOne(test);
  }
  const room = lane(needRoom);
  const lanes = [room.then(() => lane(withProcesses, others)), lane(others, withProcesses)];
  // Most other tests wait sometimes, so two of them leave a processor idle.
  if (availableParallelism() > 1) lanes.push(room.then(() => lane(others, withProcesses)));
  await Promise.all(lanes);
}
