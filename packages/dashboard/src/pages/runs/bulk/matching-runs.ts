/** Collects the runs that a bulk action applies to, so that its plan shows exactly what it will do. */
import type { FoundRun, RunSearchPage } from '../../../../../everstep/src/contract/runs.js';
import type { Outcome } from '../../../api/outcome.js';

/** Runs of one request of a bulk action. */
const MAX_IDS = 100;
/** Requests until a plan is shown, even if the search has not finished. */
const MAX_REQUESTS = 20;

export interface MatchingRuns {
  readonly runs: readonly FoundRun[];
  /** There are more, or the search has not finished. */
  readonly more: boolean;
}

/**
 * Reads pages until `max` runs are collected or the search is complete.
 * @param isWanted which of the found runs count
 * @param readPage requests the page of a cursor; undefined for the first page
 */
export async function matchingRuns(
  max: number,
  isWanted: (run: FoundRun) => boolean,
  readPage: (cursor: string | undefined) => Promise<Outcome<RunSearchPage>>,
): Promise<Outcome<MatchingRuns>> {
  const runs: FoundRun[] = [];
  let cursor: string | undefined;
  for (let requests = 0; requests < MAX_REQUESTS && runs.length <= max; requests++) {
    const outcome = await readPage(cursor);
    if (!outcome.ok) return outcome;
    runs.push(...outcome.value.runs.filter(isWanted));
    cursor = outcome.value.cursor;
    if (cursor === undefined) break;
  }
  return { ok: true, value: { runs: runs.slice(0, max), more: cursor !== undefined || runs.length > max } };
}

/**
 * Applies `act` to the ids in requests of a limited size. Stops at the first failure.
 * @returns the sum of the results
 */
export async function inBatches(
  ids: readonly string[],
  act: (ids: readonly string[]) => Promise<Outcome<number>>,
): Promise<Outcome<number>> {
  let sum = 0;
  for (let from = 0; from < ids.length; from += MAX_IDS) {
    const outcome = await act(ids.slice(from, from + MAX_IDS));
    if (!outcome.ok) return outcome;
    sum += outcome.value;
  }
  return { ok: true, value: sum };
}
