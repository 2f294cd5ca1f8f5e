/** Collects the runs that a bulk action applies to, so that its plan shows exactly what it will do. */
import type { FoundRun, RunSearchPage } from '../../../../../everstep/src/contract/runs.js';
import type { Outcome } from '../../../api/outcome.js';

/** Maximum number of runs in one request of a bulk action. */
const MAX_BATCH = 100;
/** Maximum number of requests until a plan is shown, even if the search has not finished. */
const MAX_REQUESTS = 20;

export interface MatchingRuns {
  readonly runs: readonly FoundRun[];
  /** Whether there are more runs, or the search has not finished. */
  readonly hasMore: boolean;
  /** Cursor at which the search continues; undefined at its end. */
  readonly cursor: string | undefined;
}

/**
 * Reads pages until at least `max` runs are collected or the search is complete. The runs of the last page are all included, because
 * the search continues after that page.
 * @param isWanted which of the found runs count
 * @param readPage requests the page of a cursor; undefined for the first page
 * @param from cursor to start from
 */
export async function findMatchingRuns(
  max: number,
  isWanted: (run: FoundRun) => boolean,
  readPage: (cursor: string | undefined) => Promise<Outcome<RunSearchPage>>,
  from?: string,
): Promise<Outcome<MatchingRuns>> {
  const runs: FoundRun[] = [];
  let cursor = from;
  for (let requests = 0; requests < MAX_REQUESTS && runs.length < max; requests++) {
    const outcome = await readPage(cursor);
    if (!outcome.ok) return outcome;
    runs.push(...outcome.value.runs.filter(isWanted));
    cursor = outcome.value.cursor;
    if (cursor === undefined) break;
  }
  return { ok: true, value: { runs, hasMore: cursor !== undefined, cursor } };
}

/** Returns the first `max` runs, for an action that does not continue with the others. */
export const limitRuns = ({ runs, hasMore, cursor }: MatchingRuns, max: number): MatchingRuns => ({
  runs: runs.slice(0, max),
  hasMore: hasMore || runs.length > max,
  cursor,
});

/**
 * Applies `act` to the runs in requests of a limited size, then to the runs of the following pages, until the search is complete.
 * Stops at the first failure, and when `isStopped` returns true. The search returns only runs that existed when it started.
 * @param next returns the runs from a cursor on
 * @param onSum called with the sum of the results so far
 * @returns the sum of the results
 */
export async function actOnAllRuns(
  first: MatchingRuns,
  act: (runs: readonly FoundRun[]) => Promise<Outcome<number>>,
  next: (cursor: string) => Promise<Outcome<MatchingRuns>>,
  isStopped: () => boolean,
  onSum: (sum: number) => void,
): Promise<Outcome<number>> {
  let sum = 0;
  for (let { runs, cursor } = first; ; ) {
    for (let from = 0; from < runs.length && !isStopped(); from += MAX_BATCH) {
      const outcome = await act(runs.slice(from, from + MAX_BATCH));
      if (!outcome.ok) return outcome;
      sum += outcome.value;
      onSum(sum);
    }
    if (cursor === undefined || isStopped()) return { ok: true, value: sum };
    const page = await next(cursor);
    if (!page.ok) return page;
    ({ runs, cursor } = page.value);
  }
}

/** Response of the operation that cancels several runs. */
export interface CanceledRuns {
  /** Number of runs that the request canceled. */
  readonly cancelled: number;
}

/**
 * Returns the body of the request that cancels these runs. An id can be used again after its run has ended, so the request excludes
 * runs that were created after them.
 */
export const cancellationOf = (runs: readonly FoundRun[]) => ({
  workflowRunIds: runs.map(({ workflowRunId }) => workflowRunId),
  toDate: Math.max(...runs.map(({ workflowRunCreatedAt }) => workflowRunCreatedAt)),
});
