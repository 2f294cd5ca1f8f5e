/** Actions for all runs that match the filters of the list: cancel the active ones, or plan a repair of the failed ones. */
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import type { FoundRun, RunSearchPage } from '../../../../../everstep/src/contract/runs.js';
import { type Query, request } from '../../../api/client.js';
import { useInstanceId, usePermissions } from '../../../api/instances.js';
import type { Failure, Outcome } from '../../../api/outcome.js';
import { useChange } from '../../../api/queries.js';
import { ActionButton } from '../../../components/action-button.js';
import { ConfirmDialog } from '../../../components/dialogs.js';
import { FailureNotice, Skeleton } from '../../../components/states.js';
import { countText, quantity } from '../../../components/times/formats.js';
import { toastDone } from '../../../components/toasts.js';
import { MAX_SELECTED, planOfEntries } from '../../dead-letters/plan-parameters.js';
import { planOfAll } from './filter-repair-plan.js';
import { type MatchingRuns, matchingRuns, untilTheEnd } from './matching-runs.js';

/** Maximum number of runs that are counted before a cancellation, which continues with the others. */
const MAX_COUNTED = 1_000;
const PAGE = 100;

type Action = 'cancel' | 'repair';

const RULES = {
  cancel: { state: 'RUN_STARTED', max: MAX_COUNTED, isWanted: () => true },
  repair: { state: 'RUN_FAILED', max: MAX_SELECTED, isWanted: ({ dlqId }: FoundRun) => dlqId !== undefined },
} as const;

/** The matching runs, or why they are unknown; null while they are counted. */
type Plan = Outcome<MatchingRuns> | null;

export interface BulkActionsProps {
  /** Query of the list. */
  readonly query: Query;
  /** Whether any filter is set. */
  readonly filtered: boolean;
}

export function BulkActions({ query, filtered }: BulkActionsProps) {
  const instanceId = useInstanceId();
  const permissions = usePermissions();
  const navigate = useNavigate();
  const change = useChange();
  const [action, setAction] = useState<Action | null>(null);
  const [plan, setPlan] = useState<Plan>(null);
  const [canceled, setCanceled] = useState(0);
  const stopped = useRef(false);
  const find = (next: Action, from?: string) => {
    const { state, max, isWanted } = RULES[next];
    return matchingRuns(
      max,
      isWanted,
      (cursor) => request<RunSearchPage>('/v2/workflows/search', { instanceId, query: { ...query, state, count: PAGE, cursor } }),
      from,
    );
  };
  const start = async (next: Action) => {
    const { state } = RULES[next];
    setAction(next);
    setPlan(null);
    setCanceled(0);
    stopped.current = false;
    // The filter of the list can exclude the runs that the action is for.
    if (query.state !== undefined && query.state !== state)
      return setPlan({ ok: true, value: { runs: [], more: false, cursor: undefined } });
    setPlan(await find(next));
  };
  const found = plan?.ok ? plan.value : null;
  const runs = found?.runs ?? [];
  const cancel = async (): Promise<Outcome<number>> => {
    if (found === null) return { ok: true, value: 0 };
    const outcome = await untilTheEnd(
      found,
      async (workflowRunIds) => {
        const result = await change<{ readonly cancelled: number }>({
          url: '/v2/workflows/runs',
          method: 'DELETE',
          body: { workflowRunIds },
          topics: ['runs'],
        });
        return result.ok ? { ok: true, value: result.value.cancelled } : result;
      },
      (cursor) => find('cancel', cursor),
      () => stopped.current,
      setCanceled,
    );
    if (outcome.ok) toastDone(`Canceled ${quantity(outcome.value, 'run')}`);
    return outcome;
  };
  // More than a list of ids in a URL can name.
  const whole = found?.more ? planOfAll(query) : null;
  const repair = async (): Promise<Outcome<null>> => {
    const search = { ...(whole ?? planOfEntries(runs.flatMap(({ dlqId }) => dlqId ?? []))), action: 'resume' };
    await navigate({ to: '/q/$instanceId/repairs/new', params: { instanceId }, search });
    return { ok: true, value: null };
  };
  const which = filtered ? 'that match the filters' : 'of this instance';
  return (
    <>
      <ActionButton small disabledReason={permissions.readOnly} onClick={() => start('cancel')}>
        Cancel runs…
      </ActionButton>
      <ActionButton small disabledReason={permissions.readOnly} onClick={() => start('repair')}>
        Repair failed runs…
      </ActionButton>
      <ConfirmDialog
        title={`Cancel active runs ${which}?`}
        open={action === 'cancel'}
        onClose={() => {
          stopped.current = true;
          setAction(null);
        }}
        confirmText={runs.length === 0 ? 'Cancel runs' : found?.more ? 'Cancel all' : `Cancel ${quantity(runs.length, 'run')}`}
        closeText={canceled > 0 ? 'Stop' : 'Keep running'}
        danger
        disabled={runs.length === 0 && found?.more !== true}
        onConfirm={cancel}
      >
        <Matches plan={plan} one="active run" which={which} />
        {runs.length === 0 ? null : (
          <p>No more steps start, and the runs do not go to the dead letter queue. This cannot be undone.</p>
        )}
        {found?.more ? (
          <p>
            There are more, and older ones follow in batches until none is left. Runs that start in the meantime are not canceled.
            You can stop at any time.
          </p>
        ) : null}
        {canceled === 0 ? null : <p role="status">Canceled {quantity(canceled, 'run')} so far.</p>}
      </ConfirmDialog>
      <ConfirmDialog
        title={`Repair failed runs ${which}`}
        open={action === 'repair'}
        onClose={() => setAction(null)}
        confirmText={
          runs.length === 0 ? 'Plan repair' : whole ? 'Plan repair of all' : `Plan repair of ${quantity(runs.length, 'run')}`
        }
        disabled={runs.length === 0}
        onConfirm={repair}
      >
        <Matches
          plan={plan}
          one="failed run"
          which={`${which} ${filtered ? 'and' : 'that'} ${runs.length === 1 ? 'is' : 'are'} in the dead letter queue`}
        />
        {runs.length === 0 ? null : (
          <p>On the next page you choose between resume, restart and delete. Nothing changes before you start the plan.</p>
        )}
        {found?.more && runs.length > 0 ? (
          <p>
            {whole
              ? 'There are more. The plan covers all dead letters with the same filters and shows their number before you start it. Its time filters apply to when a run failed.'
              : `There are more than ${countText(runs.length)}, and the dead letter queue does not support all of these filters. Repeat the action for the others.`}
          </p>
        ) : null}
      </ConfirmDialog>
    </>
  );
}

interface MatchesProps {
  readonly plan: Plan;
  readonly one: string;
  readonly which: string;
}

function Matches({ plan, one, which }: MatchesProps) {
  if (plan === null) return <Skeleton lines={2} />;
  if (!plan.ok) return <FailureNotice failure={plan.failure satisfies Failure} />;
  const { runs, more } = plan.value;
  const count = runs.length === 0 ? `No ${one}s` : `${more ? 'The newest ' : ''}${quantity(runs.length, one)}`;
  return (
    <p role="status">
      <strong>{count}</strong> {which}
      {runs.length === 0 && more ? ' among the runs searched so far; narrow the filters' : ''}.
    </p>
  );
}
