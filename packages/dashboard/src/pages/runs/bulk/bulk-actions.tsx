/** Actions for all runs that match the filters of the list: cancel the active ones, or plan a repair of the failed ones. */
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import type { FoundRun, RunSearchPage } from '../../../../../everstep/src/contract/runs.js';
import { type Query, request } from '../../../api/client.js';
import { useInstanceId, usePermissions } from '../../../api/instances.js';
import type { Failure, Outcome } from '../../../api/outcome.js';
import { useChange } from '../../../api/queries.js';
import { ActionButton } from '../../../components/action-button.js';
import { ConfirmDialog } from '../../../components/dialogs.js';
import { FailureNotice, Skeleton } from '../../../components/states.js';
import { countText, quantity } from '../../../components/times/formats.js';
import { toastSuccess } from '../../../components/toasts.js';
import { MAX_SELECTED, planOfEntries } from '../../dead-letters/plan-parameters.js';
import { planOfMatchingRuns } from './filter-repair-plan.js';
import {
  actOnAllRuns,
  type CanceledRuns,
  cancellationOf,
  findMatchingRuns,
  limitRuns,
  type MatchingRuns,
} from './matching-runs.js';

/** Maximum number of runs that are counted before a cancellation. The cancellation itself continues with the others. */
const MAX_COUNTED = 1_000;
const PAGE_SIZE = 100;

type Action = 'cancel' | 'repair';

/** The runs that each action is for. */
const TARGETS = {
  cancel: { state: 'RUN_STARTED', max: MAX_COUNTED, isWanted: () => true },
  repair: { state: 'RUN_FAILED', max: MAX_SELECTED, isWanted: ({ dlqId }: FoundRun) => dlqId !== undefined },
} as const;

/** The matching runs, or why they are unknown; null while they are counted. */
type SearchOutcome = Outcome<MatchingRuns> | null;

const NO_RUNS: MatchingRuns = { runs: [], hasMore: false, cursor: undefined };

export interface BulkActionsProps {
  /** Query of the list. */
  readonly query: Query;
  /** Whether any filter is set. */
  readonly isFiltered: boolean;
  /** Why the actions are not available with these filters; undefined if they are. */
  readonly disabledReason: string | undefined;
}

export function BulkActions({ query, isFiltered, disabledReason: filterReason }: BulkActionsProps) {
  const instanceId = useInstanceId();
  const disabledReason = usePermissions().readOnlyReason ?? filterReason;
  const [action, setAction] = useState<Action | null>(null);
  useEffect(() => {
    if (filterReason !== undefined) setAction(null);
  }, [filterReason]);
  const dialog = { query, isFiltered, onClose: () => setAction(null) };
  // A dialog applies to the filters with which it was opened. If they change while it is open, another dialog counts again.
  const key = JSON.stringify([instanceId, query]);
  return (
    <>
      <ActionButton small disabledReason={disabledReason} onClick={() => setAction('cancel')}>
        Cancel runs…
      </ActionButton>
      <ActionButton small disabledReason={disabledReason} onClick={() => setAction('repair')}>
        Repair failed runs…
      </ActionButton>
      {filterReason !== undefined || action === null ? null : action === 'cancel' ? (
        <CancelDialog key={key} {...dialog} />
      ) : (
        <RepairDialog key={key} {...dialog} />
      )}
    </>
  );
}

interface DialogProps extends Pick<BulkActionsProps, 'query' | 'isFiltered'> {
  readonly onClose: () => void;
}

const scopeTextOf = (isFiltered: boolean): string => (isFiltered ? 'that match the filters' : 'of this instance');

/** Counts the runs when the dialog opens, and returns a function that finds more of them. */
function useMatchingRuns(action: Action, query: Query) {
  const instanceId = useInstanceId();
  const [matches, setMatches] = useState<SearchOutcome>(null);
  const { state, max, isWanted } = TARGETS[action];
  const findRuns = (from?: string) =>
    findMatchingRuns(
      max,
      isWanted,
      (cursor) =>
        request<RunSearchPage>('/v2/workflows/search', { instanceId, query: { ...query, state, count: PAGE_SIZE, cursor } }),
      from,
    );
  // biome-ignore lint/correctness/useExhaustiveDependencies: another query has another dialog
  useEffect(() => {
    // The filter of the list can exclude the runs that the action is for.
    if (query.state !== undefined && query.state !== state) setMatches({ ok: true, value: NO_RUNS });
    else void findRuns().then(setMatches);
  }, []);
  return { matches, findRuns };
}

function CancelDialog({ query, isFiltered, onClose }: DialogProps) {
  const change = useChange();
  const { matches, findRuns } = useMatchingRuns('cancel', query);
  const [canceledCount, setCanceledCount] = useState(0);
  const isClosed = useRef(false);
  useEffect(
    () => () => {
      isClosed.current = true;
    },
    [],
  );
  const { runs, hasMore } = matches?.ok ? matches.value : NO_RUNS;
  const cancel = async (): Promise<Outcome<number>> => {
    if (!matches?.ok) return { ok: true, value: 0 };
    const outcome = await actOnAllRuns(
      matches.value,
      async (batch) => {
        const result = await change<CanceledRuns>({
          url: '/v2/workflows/runs',
          method: 'DELETE',
          body: cancellationOf(batch),
          topics: ['runs'],
        });
        return result.ok ? { ok: true, value: result.value.cancelled } : result;
      },
      findRuns,
      () => isClosed.current,
      setCanceledCount,
    );
    if (outcome.ok) toastSuccess(`Canceled ${quantity(outcome.value, 'run')}`);
    return outcome;
  };
  const scopeText = scopeTextOf(isFiltered);
  return (
    <ConfirmDialog
      title={`Cancel active runs ${scopeText}?`}
      open
      onClose={onClose}
      confirmText={runs.length === 0 ? 'Cancel runs' : hasMore ? 'Cancel all runs' : `Cancel ${quantity(runs.length, 'run')}`}
      closeText={canceledCount > 0 ? 'Stop' : 'Keep running'}
      danger
      disabled={runs.length === 0 && !hasMore}
      onConfirm={cancel}
    >
      <MatchCount matches={matches} rowName="active run" scopeText={scopeText} />
      {runs.length === 0 ? null : (
        <p>No more steps start, and the runs do not go to the dead letter queue. This cannot be undone.</p>
      )}
      {hasMore ? (
        <p>
          There are more. Older runs are canceled in batches until none are left. Runs that start in the meantime are not
          canceled. You can stop at any time.
        </p>
      ) : null}
      {canceledCount === 0 ? null : <p role="status">Canceled {quantity(canceledCount, 'run')} so far.</p>}
    </ConfirmDialog>
  );
}

function RepairDialog({ query, isFiltered, onClose }: DialogProps) {
  const instanceId = useInstanceId();
  const navigate = useNavigate();
  const { matches: found } = useMatchingRuns('repair', query);
  // A repair is planned for a limited number of ids, unless the dead letter queue supports the same filters.
  const matches: SearchOutcome = found?.ok ? { ok: true, value: limitRuns(found.value, MAX_SELECTED) } : found;
  const { runs, hasMore } = matches?.ok ? matches.value : NO_RUNS;
  // A list of ids in a URL cannot contain more runs.
  const filterPlan = hasMore && runs.length > 0 ? planOfMatchingRuns(query) : null;
  const parameters = filterPlan ?? planOfEntries(runs.flatMap(({ dlqId }) => dlqId ?? []));
  const repair = async (): Promise<Outcome<null>> => {
    if (parameters !== null)
      await navigate({
        to: '/q/$instanceId/repairs/new',
        params: { instanceId },
        search: { ...parameters, action: 'resume' },
      });
    return { ok: true, value: null };
  };
  const scopeText = scopeTextOf(isFiltered);
  return (
    <ConfirmDialog
      title={`Repair failed runs ${scopeText}`}
      open
      onClose={onClose}
      confirmText={
        runs.length === 0 ? 'Plan repair' : filterPlan ? 'Plan repair for all' : `Plan repair of ${quantity(runs.length, 'run')}`
      }
      disabled={parameters === null}
      onConfirm={repair}
    >
      <MatchCount
        matches={matches}
        rowName="failed run"
        scopeText={`${scopeText} ${isFiltered ? 'and' : 'that'} ${runs.length === 1 ? 'is' : 'are'} in the dead letter queue`}
      />
      {runs.length === 0 ? null : (
        <p>On the next page, you choose between resume, restart and delete. Nothing changes until you start the plan.</p>
      )}
      {hasMore && runs.length > 0 ? (
        <p>
          {filterPlan
            ? 'There are more. The plan covers all dead letters with the same filters and shows their number before you start it. Its time filters apply to the time of the failure.'
            : `There are more than ${countText(runs.length)}, and the dead letter queue does not support all of these filters. Repeat the action for the others.`}
        </p>
      ) : null}
    </ConfirmDialog>
  );
}

interface MatchCountProps {
  readonly matches: SearchOutcome;
  readonly rowName: string;
  readonly scopeText: string;
}

function MatchCount({ matches, rowName, scopeText }: MatchCountProps) {
  if (matches === null) return <Skeleton lines={2} />;
  if (!matches.ok) return <FailureNotice failure={matches.failure satisfies Failure} />;
  const { runs, hasMore } = matches.value;
  const count = runs.length === 0 ? `No ${rowName}s` : `${hasMore ? 'The newest ' : ''}${quantity(runs.length, rowName)}`;
  return (
    <p role="status">
      <strong>{count}</strong> {scopeText}
      {runs.length === 0 && hasMore ? ' among the runs searched so far; narrow the filters' : ''}.
    </p>
  );
}
