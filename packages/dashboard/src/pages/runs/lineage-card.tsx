/** Which runs this one came of, and which came of it. */
import { Link } from '@tanstack/react-router';
import type { Relative, RunLineage } from '../../../../everstep/src/contract/run-tools.js';
import { path } from '../../api/client.js';
import { useQueueId } from '../../api/instances.js';
import { useApi } from '../../api/queries.js';
import { Card } from '../../components/card.js';
import { RunLink } from '../../components/run-link.js';
import { RunStateBadge } from '../../components/run-state.js';
import { FailureNotice, Skeleton } from '../../components/states.js';

const CAME_OF: Readonly<Record<Relative['kind'], string>> = {
  resume: 'Resumed from',
  restart: 'Restarted from',
  fork: 'Forked from',
  invoke: 'Invoked by',
  schedule: 'Started by the schedule',
};
const LED_TO: Readonly<Record<Relative['kind'], string>> = {
  resume: 'Resumed as',
  restart: 'Restarted as',
  fork: 'Forked as',
  invoke: 'Invoked',
  schedule: 'Started',
};

export function LineageCard({ runId, createdAt }: { readonly runId: string; readonly createdAt: number }) {
  const { data, error, refetch } = useApi<RunLineage>({
    topic: 'runs',
    name: 'lineage',
    url: path`/v2/workflows/runs/${runId}/lineage`,
    query: { createdAt },
  });
  const none = data !== undefined && data.ancestors.length === 0 && data.descendants.length === 0;
  return (
    <Card title="Relatives">
      {error ? <FailureNotice failure={error} onRetry={() => void refetch()} /> : null}
      {data === undefined && !error ? <Skeleton lines={2} /> : null}
      {none ? <p className="muted">It came of no other run, and none came of it.</p> : null}
      {data === undefined || none ? null : (
        <ul className="relatives">
          {data.ancestors.map((relative) => (
            <RelativeLine key={`a ${keyOf(relative)}`} relative={relative} words={CAME_OF[relative.kind]} />
          ))}
          {data.descendants.map((relative) => (
            <RelativeLine key={`d ${keyOf(relative)}`} relative={relative} words={LED_TO[relative.kind]} />
          ))}
          {data.complete ? null : <li className="muted">There are more than are shown.</li>}
        </ul>
      )}
    </Card>
  );
}

const keyOf = ({ kind, workflowRunId, workflowCreatedAt, scheduleId }: Relative): string =>
  `${kind} ${workflowRunId ?? scheduleId ?? ''} ${workflowCreatedAt ?? ''}`;

function RelativeLine({ relative, words }: { readonly relative: Relative; readonly words: string }) {
  const queueId = useQueueId();
  return (
    <li>
      <span>{words}</span>
      {relative.workflowRunId === undefined ? null : (
        <RunLink runId={relative.workflowRunId} createdAt={relative.workflowCreatedAt} />
      )}
      {relative.scheduleId === undefined ? null : (
        <Link to="/q/$queueId/schedules/$scheduleId" params={{ queueId, scheduleId: relative.scheduleId }} className="mono">
          {relative.scheduleId}
        </Link>
      )}
      {relative.stepName === undefined ? null : <span className="chip">at {relative.stepName}</span>}
      {relative.workflowState === undefined ? null : <RunStateBadge state={relative.workflowState} />}
      {relative.note === undefined ? null : <span className="muted">{relative.note}</span>}
    </li>
  );
}
