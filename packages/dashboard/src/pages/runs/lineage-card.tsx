/** Lists related runs: those that this run was started from and those that were started from it. */
import { Link } from '@tanstack/react-router';
import type { Relative, RunLineage } from '../../../../everstep/src/contract/run-tools.js';
import type { RunJournal } from '../../../../everstep/src/contract/runs.js';
import { path } from '../../api/client.js';
import { useInstanceId } from '../../api/instances.js';
import { useApi } from '../../api/queries.js';
import { Card } from '../../components/card.js';
import { RunLink } from '../../components/run-link.js';
import { RunStateBadge } from '../../components/run-state.js';
import { FailureNotice, Skeleton } from '../../components/states.js';
import { isEnded } from './journal/journal-pages.js';

const ANCESTOR_TEXTS: Readonly<Record<Relative['kind'], string>> = {
  resume: 'Resumed from',
  restart: 'Restarted from',
  fork: 'Forked from',
  invoke: 'Invoked by',
  schedule: 'Started by schedule',
};
const DESCENDANT_TEXTS: Readonly<Record<Relative['kind'], string>> = {
  resume: 'Resumed as',
  restart: 'Restarted as',
  fork: 'Forked as',
  invoke: 'Invoked',
  schedule: 'Started',
};

const idsIn = (data: unknown): readonly string[] => {
  const { ancestors = [], descendants = [] } = (data ?? {}) as Partial<RunLineage>;
  return [...ancestors, ...descendants].flatMap(({ workflowRunId }) => workflowRunId ?? []);
};

export function LineageCard({ journal }: { readonly journal: RunJournal }) {
  const { workflowRunId: runId, workflowCreatedAt: createdAt } = journal;
  const { data, error, refetch } = useApi<RunLineage>({
    topic: 'runs',
    name: 'lineage',
    url: path`/v2/workflows/runs/${runId}/lineage`,
    query: { createdAt },
    live: { runIds: [runId], relatedIn: idsIn, isFinal: () => isEnded(journal) },
  });
  const isEmpty = data !== undefined && data.ancestors.length === 0 && data.descendants.length === 0;
  return (
    <Card title="Related runs">
      {error ? <FailureNotice failure={error} onRetry={() => void refetch()} /> : null}
      {data === undefined && !error ? <Skeleton lines={2} /> : null}
      {isEmpty ? <p className="muted">No related runs</p> : null}
      {data === undefined || isEmpty ? null : (
        <ul className="related-runs">
          {data.ancestors.map((relative) => (
            <RelativeLine key={`a ${keyOf(relative)}`} relative={relative} text={ANCESTOR_TEXTS[relative.kind]} />
          ))}
          {data.descendants.map((relative) => (
            <RelativeLine key={`d ${keyOf(relative)}`} relative={relative} text={DESCENDANT_TEXTS[relative.kind]} />
          ))}
          {data.complete ? null : <li className="muted">Some related runs are not shown</li>}
        </ul>
      )}
    </Card>
  );
}

const keyOf = ({ kind, workflowRunId, workflowCreatedAt, scheduleId }: Relative): string =>
  `${kind} ${workflowRunId ?? scheduleId ?? ''} ${workflowCreatedAt ?? ''}`;

function RelativeLine({ relative, text }: { readonly relative: Relative; readonly text: string }) {
  const instanceId = useInstanceId();
  return (
    <li>
      <span>{text}</span>
      {relative.workflowRunId === undefined ? null : (
        <RunLink runId={relative.workflowRunId} createdAt={relative.workflowCreatedAt} />
      )}
      {relative.scheduleId === undefined ? null : (
        <Link to="/q/$instanceId/schedules/$scheduleId" params={{ instanceId, scheduleId: relative.scheduleId }} className="mono">
          {relative.scheduleId}
        </Link>
      )}
      {relative.stepName === undefined ? null : <span className="chip">at {relative.stepName}</span>}
      {relative.workflowState === undefined ? null : <RunStateBadge state={relative.workflowState} />}
      {relative.note === undefined ? null : <span className="muted">{relative.note}</span>}
    </li>
  );
}
