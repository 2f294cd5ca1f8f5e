/** One repair: its plan until it is started, its progress while it goes, its report ever after. */
import './repairs.css';
import { Link, useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import type { RepairEntry } from '../../../../everstep/src/contract/repairs.js';
import { path } from '../../api/client.js';
import { useQueueId } from '../../api/instances.js';
import { useApi } from '../../api/queries.js';
import { PageTitle } from '../../components/page-title.js';
import { EmptyState, ErrorState, FailureNotice, Skeleton } from '../../components/states.js';
import { TimeText } from '../../components/time-text.js';
import { PlanView } from './plan-view.js';
import { ProgressView } from './progress-view.js';
import { RepairStateBadge } from './repair-badges.js';
import { titleOf } from './repair-words.js';

/** For what no hint tells of. */
const ASK_AGAIN_MS = 5_000;

/**
 * What had the focus may be gone with the state that it belonged to, such as the button that starts: then the heading takes it.
 * A reader who is elsewhere is left alone.
 */
function useFocusThatStays(state: RepairEntry['state'] | undefined): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: with the state, what is shown changes
  useEffect(() => {
    // A window that closes gives the focus back first.
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(() => {
        const here = document.activeElement;
        if (here === null || here === document.body || here.matches('.skip')) document.querySelector('h1')?.focus();
      });
    });
    return () => cancelAnimationFrame(frame);
  }, [state]);
}

export default function RepairPage() {
  const queueId = useQueueId();
  const { repairId = '' } = useParams({ strict: false });
  const { data, error, refetch } = useApi<RepairEntry>({
    topic: 'repairs',
    name: 'repair',
    url: path`/v2/workflows/repairs/${repairId}`,
    refreshMs: ASK_AGAIN_MS,
  });
  useFocusThatStays(data?.state);
  const toAll = (
    <Link to="/q/$queueId/repairs" params={{ queueId }}>
      All repairs
    </Link>
  );
  if (data === undefined)
    return (
      <>
        <PageTitle title="Repair" lead={toAll} />
        {error === null ? (
          <Skeleton lines={10} />
        ) : error.status === 404 ? (
          <div className="card">
            <EmptyState title="There is no such repair">Its report may have been removed by age: {repairId}</EmptyState>
          </div>
        ) : (
          <ErrorState failure={error} onRetry={() => void refetch()} what="The repair" />
        )}
      </>
    );
  const planned = data.state === 'planned' || data.state === 'planning';
  return (
    <>
      <PageTitle
        title={titleOf(data)}
        lead={
          <>
            {toAll} · planned <TimeText unixMs={data.createdAt} style="relative" />
            {data.createdBy === null ? '' : ` by ${data.createdBy}`}
          </>
        }
        actions={<RepairStateBadge state={data.state} />}
      />
      {error === null ? null : <FailureNotice failure={error} onRetry={() => void refetch()} />}
      {planned ? <PlanView repair={data} /> : <ProgressView repair={data} />}
    </>
  );
}
