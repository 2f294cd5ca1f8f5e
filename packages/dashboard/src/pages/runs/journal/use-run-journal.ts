/** Hooks for one run: its journal, which is kept up to date, and the complete results of its steps. */
import { type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useState } from 'react';
import type { JournalStep, RunJournal } from '../../../../../everstep/src/contract/runs.js';
import { path, request } from '../../../api/client.js';
import { useInstanceId } from '../../../api/instances.js';
import type { LiveQuery } from '../../../api/live-changes.js';
import { type ApiFailure, type Outcome, valueIn } from '../../../api/outcome.js';
import { isEnded, JOURNAL_PAGE_STEPS, readJournal } from './journal-pages.js';

/** Maximum size of a result in the journal. Longer results are fetched when they are shown. */
const MAX_RESULT_BYTES = 512;
/** Maximum number of steps that are loaded until the user loads more. */
const STEPS_PER_LOAD = 5 * JOURNAL_PAGE_STEPS;

/** Returns whether the journal in the cache no longer changes. The cache holds only journals under this key. */
const isFinal = (data: unknown): boolean => isEnded(data as RunJournal);

export interface FollowedRun {
  readonly query: UseQueryResult<RunJournal, ApiFailure>;
  /** Loads more steps of a very long journal; null if all are loaded. */
  readonly loadMore: (() => void) | null;
}

export function useRunJournal(runId: string, createdAt: number | undefined): FollowedRun {
  const instanceId = useInstanceId();
  const client = useQueryClient();
  const [maxSteps, setMaxSteps] = useState(STEPS_PER_LOAD);
  const queryKey = [instanceId, 'runs', 'journal', runId, createdAt ?? null];
  const live: LiveQuery = { runIds: [runId], isFinal };
  const query = useQuery<RunJournal, ApiFailure>({
    queryKey,
    queryFn: async ({ signal }) => {
      const readPage = (cursor: string | undefined) =>
        request<RunJournal>(path`/v2/workflows/runs/${runId}`, {
          instanceId,
          signal,
          query: { workflowCreatedAt: createdAt, count: JOURNAL_PAGE_STEPS, maxResultBytes: MAX_RESULT_BYTES, cursor },
        });
      return valueIn(await readJournal(client.getQueryData<RunJournal>(queryKey) ?? null, maxSteps, readPage));
    },
    meta: { live },
    refetchOnWindowFocus: ({ state: { data } }) => data === undefined || !isEnded(data),
  });
  const loadMore = () => {
    setMaxSteps(maxSteps + STEPS_PER_LOAD);
    // The new limit applies from the next render.
    window.setTimeout(() => void query.refetch());
  };
  return { query, loadMore: query.data?.complete === false ? loadMore : null };
}

/** Returns a function that fetches the whole result of a step, as JSON text. */
export function useStepResult({ workflowRunId, workflowCreatedAt }: RunJournal): (stepId: number) => Promise<Outcome<string>> {
  const instanceId = useInstanceId();
  return useCallback(
    async (stepId) => {
      const url = path`/v2/workflows/runs/${workflowRunId}/steps/${stepId}`;
      const outcome = await request<JournalStep>(url, { instanceId, query: { workflowCreatedAt } });
      return outcome.ok ? { ok: true, value: outcome.value.out ?? '' } : outcome;
    },
    [instanceId, workflowRunId, workflowCreatedAt],
  );
}
