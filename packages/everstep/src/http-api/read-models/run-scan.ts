/**
 * Scans runs for those that match conditions without an index, in the order of a listing. A scan reads a limited number of runs
 * and reports where it stopped; the next scan continues there.
 */
import { LIMITS } from '../../config/limits.js';
import type { Wait } from '../../contract/filters/run-filters.js';
import type { WorkSlices } from '../../fairness/work-slices.js';
import type { ListedRun, Page, Position, RunFilter, RunRecord, SearchableRun } from '../../ports/stores/store.js';
import type { RunService } from '../../runtime/services/workflow-service.js';
import type { RunReads } from './reads.js';
import { waitKindsOf } from './waits.js';

/** Conditions that are checked for each run, because they have no index. A run must match all of them. */
export interface ComparedFilter {
  readonly waitingFor?: readonly Wait[];
  /** Minimum duration. The duration of an active run is the time since its creation. */
  readonly minDurationMs?: number;
  readonly maxDurationMs?: number;
}

export interface ScanDeps {
  readonly reads: Pick<RunReads, 'listSearchableRuns' | 'listRuns' | 'findRun' | 'firstTasks'>;
  readonly service: Pick<RunService, 'waits' | 'now'>;
  readonly slices: Pick<WorkSlices, 'run'>;
}

export interface Scan {
  readonly instanceId: string;
  readonly filter: RunFilter;
  readonly comparedFilter: ComparedFilter;
  readonly order: Page<RunFilter>['order'];
  /** Additional condition. */
  readonly isMatch?: (run: SearchableRun) => boolean;
  readonly after: Position | null;
  /** Maximum number of runs to return. */
  readonly count: number;
}

export interface ScannedRuns {
  readonly runs: readonly ListedRun[];
  /** Position at which the next scan starts, or null if all runs were scanned. */
  readonly next: Position | null;
  /** Creation time of the last scanned run in Unix ms. Null if no run was scanned. */
  readonly scannedUntil: number | null;
}

/** Returns whether the filter has a condition. */
export const hasConditions = ({ waitingFor, minDurationMs, maxDurationMs }: ComparedFilter): boolean =>
  waitingFor !== undefined || minDurationMs !== undefined || maxDurationMs !== undefined;

/**
 * Narrows the filter to the runs that can match, so that the indexes of states and times skip the others. Returns null if no run
 * can match.
 */
export function narrowFilter(filter: RunFilter, { waitingFor, minDurationMs }: ComparedFilter, now: number): RunFilter | null {
  if (waitingFor !== undefined && filter.statuses?.includes('active') === false) return null;
  return {
    ...filter,
    ...(waitingFor === undefined ? {} : { statuses: ['active'] }),
    ...(minDurationMs === undefined ? {} : { toDate: Math.min(filter.toDate ?? now, now - minDurationMs) }),
  };
}

/** Returns whether the duration of the run is within the limits of the filter. `now` is in Unix ms. */
export function hasDuration(
  { createdAt, completedAt }: Pick<SearchableRun, 'createdAt' | 'completedAt'>,
  { minDurationMs = 0, maxDurationMs = Number.POSITIVE_INFINITY }: ComparedFilter,
  now: number,
): boolean {
  // The clocks of nodes differ slightly, so the difference can be negative.
  const durationMs = Math.max(0, (completedAt ?? now) - createdAt);
  return durationMs >= minDurationMs && durationMs <= maxDurationMs;
}

/** Returns the runs that match the filter. */
export async function matchingRuns<Run extends RunRecord>(
  { reads, service }: Pick<ScanDeps, 'service'> & { readonly reads: Pick<RunReads, 'firstTasks'> },
  instanceId: string,
  runs: readonly Run[],
  comparedFilter: ComparedFilter,
): Promise<readonly Run[]> {
  const now = service.now();
  const candidates = runs.filter((run) => hasDuration(run, comparedFilter, now));
  const { waitingFor } = comparedFilter;
  if (waitingFor === undefined) return candidates;
  const kinds = await waitKindsOf(reads, service, { instanceId, runs: candidates });
  return candidates.filter(({ key }) => {
    const kind = kinds.get(key);
    return kind !== undefined && (waitingFor.includes('anything') || waitingFor.includes(kind));
  });
}

/** Reads the records of the candidates in the same order. Removed runs and runs that do not match `waitingFor` are omitted. */
async function recordsOf(
  deps: ScanDeps,
  { instanceId, comparedFilter, order }: Scan,
  candidates: readonly SearchableRun[],
): Promise<readonly ListedRun[]> {
  if (candidates.length === 0) return [];
  if (candidates.length === 1 && comparedFilter.waitingFor === undefined) {
    const [{ runKey, position }] = candidates as readonly [SearchableRun];
    const run = await deps.reads.findRun({ runKey });
    return run ? [{ ...run, position }] : [];
  }
  const { items } = await deps.reads.listRuns({
    instanceId,
    filter: { runKeys: candidates.map(({ runKey }) => runKey) },
    order,
    after: null,
    horizon: null,
    limit: candidates.length,
  });
  return matchingRuns(deps, instanceId, items, comparedFilter);
}

/** Number of runs that a scan reads at once. */
function batchSize({ comparedFilter, isMatch, count }: Scan, foundCount: number): number {
  if (comparedFilter.waitingFor !== undefined) return LIMITS.foundRunsPageMax;
  return isMatch === undefined && !hasConditions(comparedFilter) ? count - foundCount : LIMITS.runsSearchedAtOnce;
}

/** Scans until there are enough runs or the limits of one request are reached. */
export async function scanRuns(deps: ScanDeps, scan: Scan): Promise<ScannedRuns> {
  const { instanceId, comparedFilter, order, isMatch = () => true, count } = scan;
  const now = deps.service.now();
  const filter = narrowFilter(scan.filter, comparedFilter, now);
  if (filter === null) return { runs: [], next: null, scannedUntil: null };
  const runs: ListedRun[] = [];
  let { after } = scan;
  let scannedUntil: number | null = null;
  const endsAt = performance.now() + LIMITS.maxRunSearchMs;
  for (let scannedCount = 0; scannedCount < LIMITS.maxRunsSearched && performance.now() < endsAt; ) {
    const page = { instanceId, filter, order, after, horizon: null, limit: batchSize(scan, runs.length) };
    const { items, next } = await deps.slices.run(instanceId, () => deps.reads.listSearchableRuns(page));
    scannedCount += items.length;
    const candidates = items.filter((run) => isMatch(run) && hasDuration(run, comparedFilter, now));
    const remaining = count - runs.length;
    const selectedRuns = comparedFilter.waitingFor === undefined ? candidates.slice(0, remaining) : candidates;
    const matchingRecords = await recordsOf(deps, scan, selectedRuns);
    runs.push(...matchingRecords.slice(0, remaining));
    // If other runs of the batch also match, the next scan starts after the last run that is returned.
    const lastSelectedRun =
      matchingRecords.length > remaining
        ? runs.at(-1)
        : selectedRuns.length < candidates.length
          ? selectedRuns.at(-1)
          : undefined;
    const lastScannedRun =
      lastSelectedRun === undefined ? items.at(-1) : items.find(({ position }) => position === lastSelectedRun.position);
    after = lastScannedRun?.position ?? after;
    scannedUntil = lastScannedRun?.createdAt ?? scannedUntil;
    if (next === null && lastScannedRun === items.at(-1)) return { runs, next: null, scannedUntil };
    if (runs.length === count) break;
    // Yields to other requests.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { runs, next: after, scannedUntil };
}
