/** Page of one repair: its plan before the start, then its progress, then its report. */
import './repairs.css';
import { Link, useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import type { RepairEntry } from '../../../../everstep/src/contract/repairs.js';
import { path } from '../../api/client.js';
import { useInstanceId } from '../../api/instances.js';
import { useApi } from '../../api/queries.js';
import { PageTitle } from '../../components/page-title.js';
import { actorName } from '../../components/people/actor-name.js';
import { EmptyState, ErrorState, FailureNotice, Skeleton } from '../../components/states.js';
import { TimeText } from '../../components/times/time-text.js';
import { PlanView } from './plan-view.js';
import { ProgressView } from './progress-view.js';
import { RepairStateBadge } from './repair-badges.js';
import { titleOf } from './repair-text.js';

/** Polling interval for changes without live hints. */
const POLL_MS = 5_000;

/**
 * Moves the focus to the heading when a change of state removed the focused element, such as the start button. Otherwise the
 * focus stays where it is.
 */
function useFocusAfterStateChange(state: RepairEntry['state'] | undefined): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the state determines what is shown
  useEffect(() => {
    // Wait until a closing dialog has returned the focus.
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(() => {
        const focused = document.activeElement;
        if (focused === null || focused === document.body || focused.matches('.skip')) document.querySelector('h1')?.focus();
      });
    });
    return () => cancelAnimationFrame(frame);
  }, [state]);
}

export default function RepairPage() {
  const instanceId = useInstanceId();
  const { repairId = '' } = useParams({ strict: false });
  const { data, error, refetch } = useApi<RepairEntry>({
    topic: 'repairs',
    name: 'repair',
    url: path`/v2/workflows/repairs/${repairId}`,
    refreshMs: POLL_MS,
  });
  useFocusAfterStateChange(data?.state);
  const allRepairsLink = (
    <Link to="/q/$instanceId/repairs" params={{ instanceId }}>
      All repairs
    </Link>
  );
  if (data === undefined)
    return (
      <>
        <PageTitle title="Repair" lead={allRepairsLink} />
        {error === null ? (
          <Skeleton lines={10} />
        ) : error.status === 404 ? (
          <div className="card">
            <EmptyState title="Repair not found">
              The id {repairId} is wrong, or the report of the repair was deleted when its retention ended.
            </EmptyState>
          </div>
        ) : (
          <ErrorState failure={error} onRetry={() => void refetch()} subject="this repair" />
        )}
      </>
    );
  const isPlan = data.state === 'planned' || data.state === 'planning';
  return (
    <>
      <PageTitle
        title={titleOf(data)}
        lead={
          <>
            {allRepairsLink} · planned <TimeText unixMs={data.createdAt} style="relative" />
            {data.createdBy === null ? '' : ` by ${actorName(data.createdBy)}`}
          </>
        }
        actions={<RepairStateBadge state={data.state} />}
      />
      {error === null ? null : <FailureNotice failure={error} onRetry={() => void refetch()} />}
      {isPlan ? <PlanView repair={data} /> : <ProgressView repair={data} />}
    </>
  );
}
