/** Explains what a run is waiting for. Reasons are listed in the order in which they must be resolved. */
import type { ExplanationResponse } from '../../../../everstep/src/contract/explanation.js';
import { path } from '../../api/client.js';
import { useApi } from '../../api/queries.js';
import { Card } from '../../components/card.js';
import { RunLink } from '../../components/run-link.js';
import { FailureNotice, Skeleton } from '../../components/states.js';
import { TextWithTimes } from '../../components/times/text-with-times.js';
import { TimeText } from '../../components/times/time-text.js';

type Task = ExplanationResponse['tasks'][number];

const TASK_NAMES: Readonly<Record<Task['what'], string>> = {
  workflow: 'Workflow code',
  step: 'Step',
  message: 'Message',
  'failure-callback': 'Failure callback',
};

export function ExplainCard({ runId, createdAt }: { readonly runId: string; readonly createdAt: number }) {
  const { data, error, refetch } = useApi<ExplanationResponse>({
    topic: 'runs',
    name: 'explain',
    url: path`/v2/workflows/runs/${runId}/explain`,
    query: { workflowCreatedAt: createdAt },
    live: { runIds: [runId], isFinal: () => false },
    refreshMs: 5_000,
  });
  const onlyReason = data?.tasks.length === 1 && data.tasks[0]?.reasons.length === 1 ? (data.tasks[0].reasons[0] ?? null) : null;
  return (
    <Card title="Current status">
      {error ? <FailureNotice failure={error} onRetry={() => void refetch()} /> : null}
      {data === undefined ? (
        error ? null : (
          <Skeleton lines={2} />
        )
      ) : (
        <div className="stack">
          <p key={data.summary}>
            <TextWithTimes text={data.summary} /> {onlyReason === null ? null : <ReasonTimes reason={onlyReason} />}
          </p>
          {onlyReason !== null || data.tasks.length === 0 ? null : (
            <details>
              <summary>All reasons</summary>
              <ul className="reasons">
                {data.tasks.map((task) => (
                  <li key={`${task.what} ${task.stepId ?? ''}`}>
                    <p className="reasons-step">
                      {task.stepName === undefined ? TASK_NAMES[task.what] : `${task.stepId ?? ''} ${task.stepName}`}
                    </p>
                    <ol>
                      {task.reasons.map((reason) => (
                        <li key={reason.kind}>
                          <TextWithTimes text={reason.message} /> <ReasonTimes reason={reason} />
                        </li>
                      ))}
                    </ol>
                  </li>
                ))}
              </ul>
            </details>
          )}
        </div>
      )}
    </Card>
  );
}

/** When the reason ends, and the run that it waits for. */
function ReasonTimes({ reason }: { readonly reason: Task['reasons'][number] }) {
  const endsAt = reason.at ?? reason.until;
  return (
    <>
      {endsAt === undefined ? null : (
        <span className="chip">
          <TimeText unixMs={endsAt} style="relative" />
        </span>
      )}
      {reason.workflowRunId === undefined ? null : <RunLink runId={reason.workflowRunId} createdAt={reason.workflowCreatedAt} />}
    </>
  );
}
