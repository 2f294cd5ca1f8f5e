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

/** Conditions that are checked for each run, because they have no index. All given ones must match. */
export interface ComparedFilter {
  readonly waitingFor?: readonly Wait[];
  /** Duration of ended runs; of active ones, the time since their creation. */
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
  readonly compared: ComparedFilter;
  readonly order: Page<RunFilter>['order'];
  /** Another condition. Absent: none. */
  readonly isMatch?: (run: SearchableRun) => boolean;
  readonly after: Position | null;
  /** Maximum number of runs to return. */
  readonly count: number;
}

export interface ScannedRuns {
  readonly runs: readonly ListedRun[];
  /** Where the next scan continues; null when everything was scanned. */
  readonly next: Position | null;
  /** Creation time of the last scanned run, Unix ms; null if none was scanned. */
  readonly scannedUntil: number | null;
}

export const isCompared = ({ waitingFor, minDurationMs, maxDurationMs }: ComparedFilter): boolean =>
  waitingFor !== undefined || minDurationMs !== undefined || maxDurationMs !== undefined;

/** Narrows the filter to the runs that can match, so that the indexes of states and times skip the others. Null: no run can. */
export function narrowFilter(filter: RunFilter, { waitingFor, minDurationMs }: ComparedFilter, now: number): RunFilter | null {
  if (waitingFor !== undefined && filter.statuses?.includes('active') === false) return null;
  return {
    ...filter,
    ...(waitingFor === undefined ? {} : { statuses: ['active'] }),
    ...(minDurationMs === undefined ? {} : { toDate: Math.min(filter.toDate ?? now, now - minDurationMs) }),
  };
}

export function hasDuration(
  { createdAt, completedAt }: Pick<SearchableRun, 'createdAt' | 'completedAt'>,
  { minDurationMs = 0, maxDurationMs = Number.POSITIVE_INFINITY }: ComparedFilter,
  now: number,
): boolean {
  // Clocks of nodes differ slightly.
  const tookMs = Math.max(0, (completedAt ?? now) - createdAt);
  return tookMs >= minDurationMs && tookMs <= maxDurationMs;
}

/** Returns the matching runs. */
export async function matchingRuns<Run extends RunRecord>(
  { reads, service }: Pick<ScanDeps, 'service'> & { readonly reads: Pick<RunReads, 'firstTasks'> },
  instanceId: string,
  runs: readonly Run[],
  compared: ComparedFilter,
): Promise<readonly Run[]> {
  const now = service.now();
  const withDuration = runs.filter((run) => hasDuration(run, compared, now));
  const { waitingFor } = compared;
  if (waitingFor === undefined) return withDuration;
  const kinds = await waitKindsOf(reads, service, { instanceId, runs: withDuration });
  return withDuration.filter(({ key }) => {
    const kind = kinds.get(key);
    return kind !== undefined && (waitingFor.includes('anything') || waitingFor.includes(kind));
  });
}

/** Reads the records of the candidates in the same order. Removed runs and runs that do not match `waitingFor` are left out. */
async function recordsOf(
  deps: ScanDeps,
  { instanceId, compared, order }: Scan,
  candidates: readonly SearchableRun[],
): Promise<readonly ListedRun[]> {
  if (candidates.length === 0) return [];
  if (candidates.length === 1 && compared.waitingFor === undefined) {
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
  return matchingRuns(deps, instanceId, items, compared);
}

/** Number of runs that a scan reads at once. */
function batchSize({ compared, isMatch, count }: Scan, foundCount: number): number {
  if (compared.waitingFor !== undefined) return LIMITS.foundRunsPageMax;
  return isMatch === undefined && !isCompared(compared) ? count - foundCount : LIMITS.runsSearchedAtOnce;
}

/** Scans until there are enough runs or the limits of one request are reached. */
export async function scanRuns(deps: ScanDeps, scan: Scan): Promise<ScannedRuns> {
  const { instanceId, compared, order, isMatch = () => true, count } = scan;
  const now = deps.service.now();
  const filter = narrowFilter(scan.filter, compared, now);
  if (filter === null) return { runs: [], next: null, scannedUntil: null };
  const runs: ListedRun[] = [];
  let { after } = scan;
  let scannedUntil: number | null = null;
  const endsAt = performance.now() + LIMITS.maxRunSearchMs;
  for (let scanned = 0; scanned < LIMITS.maxRunsSearched && performance.now() < endsAt; ) {
    const page = { instanceId, filter, order, after, horizon: null, limit: batchSize(scan, runs.length) };
    const { items, next } = await deps.slices.run(instanceId, () => deps.reads.listSearchableRuns(page));
    scanned += items.length;
    const candidates = items.filter((run) => isMatch(run) && hasDuration(run, compared, now));
    const remaining = count - runs.length;
    const selected = compared.waitingFor === undefined ? candidates.slice(0, remaining) : candidates;
    const matching = await recordsOf(deps, scan, selected);
    runs.push(...matching.slice(0, remaining));
    // The next scan starts after the last run that is returned if others of the batch match too.
    const lastSelected =
      matching.length > remaining ? runs.at(-1) : selected.length < candidates.length ? selected.at(-1) : undefined;
    const lastScanned =
      lastSelected === undefined ? items.at(-1) : items.find(({ position }) => position === lastSelected.position);
    after = lastScanned?.position ?? after;
    scannedUntil = lastScanned?.createdAt ?? scannedUntil;
    if (next === null && lastScanned === items.at(-1)) return { runs, next: null, scannedUntil };
    if (runs.length === count) break;
    // Yields to other requests.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { runs, next: after, scannedUntil };
}
