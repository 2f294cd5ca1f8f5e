/** Details of one step, with its result and attempts. */
import { useState } from 'react';
import type { RunAttempts } from '../../../../everstep/src/contract/attempts.js';
import type { JournalStep, RunJournal } from '../../../../everstep/src/contract/runs.js';
import { path } from '../../api/client.js';
import { useApi } from '../../api/queries.js';
import { DescriptionList } from '../../components/description-list.js';
import { JsonView } from '../../components/json-view.js';
import { RunLink } from '../../components/run-link.js';
import { FailureNotice, Skeleton } from '../../components/states.js';
import { durationText } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { AttemptsView } from './attempts-view.js';
import { isEnded } from './journal/journal-pages.js';
import type { TimelineRow } from './timeline.js';

export interface StepPanelProps {
  readonly journal: RunJournal;
  readonly row: TimelineRow;
}

type OpenTask = RunJournal['tasks'][number];

const TYPES: Readonly<Record<string, string>> = {
  Run: 'Step',
  SleepFor: 'Sleep',
  SleepUntil: 'Sleep until a time',
  Wait: 'Wait for event',
  Notify: 'Send event',
  Call: 'HTTP call',
  Invoke: 'Invoke run',
  CreateWebhook: 'Create webhook',
  WaitForWebhook: 'Wait for webhook',
  Code: 'Workflow code',
};

/** Maximum number of attempts of one step that are shown. */
const MAX_ATTEMPTS = 100;

const messageIdOf = (row: TimelineRow): string => row.key.slice(row.key.indexOf(' ') + 1);

export function StepPanel({ journal, row }: StepPanelProps) {
  const messageId = messageIdOf(row);
  const step = journal.steps.find(({ stepId }) => stepId === row.stepId);
  const task = journal.tasks.find((candidate) => candidate.messageId === messageId);
  // Details that were shown when the panel was opened stay, so that nothing disappears while the user reads.
  const [initial] = useState({ task, wasPending: step === undefined });
  const { wasPending } = initial;
  const details: Partial<JournalStep & OpenTask> = { ...initial.task, ...(step ?? task) };
  const { workflowRunId, workflowCreatedAt } = journal;
  const attempts = useApi<RunAttempts>({
    topic: 'runs',
    name: 'attempts',
    url: path`/v2/workflows/runs/${workflowRunId}/attempts`,
    query: {
      createdAt: workflowCreatedAt,
      count: MAX_ATTEMPTS,
      ...(row.stepId === null ? { messageId } : { stepId: row.stepId }),
    },
    live: { runIds: [workflowRunId], isFinal: () => step !== undefined || isEnded(journal) },
  });
  // If the panel was opened while the step was running, the result appears below the attempts.
  const placeholder = journal.workflowState === 'RUN_STARTED' ? 'not yet' : '–';
  const notYet = wasPending && step === undefined ? <span className="muted">{placeholder}</span> : null;
  const endedAt = step?.completedAt ?? (row.state === 'failed' ? row.to : null);
  /** Placeholder for a value that steps of these types get later. */
  const pendingFor = (...types: readonly string[]) => (types.includes(row.type) ? notYet : null);
  const attemptsSection = (
    <section className="stack">
      <h3>Attempts</h3>
      {attempts.error ? <FailureNotice failure={attempts.error} onRetry={() => void attempts.refetch()} /> : null}
      {attempts.isPending ? <Skeleton lines={3} /> : <AttemptsView attempts={attempts.data?.attempts ?? []} />}
      {attempts.data?.cursor === undefined ? null : <p className="muted">The first {MAX_ATTEMPTS} attempts are shown.</p>}
    </section>
  );
  return (
    <div className="stack">
      <DescriptionList
        items={[
          ['Type', TYPES[row.type] ?? row.type],
          ['Position', row.stepId],
          ['Origin', row.isKept && !row.isEdited ? 'Copied from the original run; did not run again' : null],
          ['Requested', row.isKept ? null : <TimeText key="requested" unixMs={row.from} />],
          [row.state === 'failed' ? 'Failed' : 'Recorded', endedAt === null ? notYet : <TimeText key="ended" unixMs={endedAt} />],
          ['Duration', endedAt === null ? notYet : row.isKept ? null : durationText(endedAt - (step?.createdAt ?? row.from))],
          [
            'Due',
            task?.dueAt !== undefined ? <TimeText key="next" unixMs={task.dueAt} style="relative" /> : wasPending ? '–' : null,
          ],
          ['Sleep duration', details.sleepFor === undefined ? null : durationText(details.sleepFor)],
          ['Sleeps until', details.sleepUntil === undefined ? null : <TimeText key="until" unixMs={details.sleepUntil} />],
          ['Event', details.waitEventIds?.join(', ') ?? details.waitEventId ?? details.notifyEventId],
          ['Times out', details.waitDeadline === undefined ? null : <TimeText key="deadline" unixMs={details.waitDeadline} />],
          [
            'Timed out',
            details.waitTimeout === undefined ? pendingFor('Wait', 'WaitForWebhook') : details.waitTimeout ? 'Yes' : 'No',
          ],
          ['Called URL', details.callUrl === undefined ? null : `${details.callMethod ?? 'GET'} ${details.callUrl}`],
          ['Response', details.callResponseStatus === undefined ? pendingFor('Call') : `HTTP ${details.callResponseStatus}`],
          [
            'Invoked run',
            details.invokedWorkflowRunId === undefined ? (
              pendingFor('Invoke')
            ) : (
              <RunLink key="invoked" runId={details.invokedWorkflowRunId} createdAt={details.invokedWorkflowCreatedAt} />
            ),
          ],
          ['Result', row.isEdited ? 'Edited when the run was forked' : null],
        ]}
      />
      {wasPending ? attemptsSection : null}
      {step === undefined ? null : (
        <section className="stack">
          <h3>Result</h3>
          <StepResult journal={journal} step={step} name={row.name} />
        </section>
      )}
      {wasPending ? null : attemptsSection}
    </div>
  );
}

interface StepResultProps {
  readonly journal: RunJournal;
  readonly step: JournalStep;
  readonly name: string;
}

/** Result of a recorded step. A long result is not part of the journal and is fetched here. */
function StepResult({ journal: { workflowRunId, workflowCreatedAt }, step, name }: StepResultProps) {
  const { data, error, refetch } = useApi<JournalStep>({
    topic: 'runs',
    name: 'step',
    url: path`/v2/workflows/runs/${workflowRunId}/steps/${step.stepId}`,
    query: { workflowCreatedAt },
    enabled: step.outLeftOut !== undefined,
    // A recorded result never changes.
    live: { runIds: [], isFinal: () => true },
  });
  const { out } = data ?? step;
  if (error) return <FailureNotice failure={error} onRetry={() => void refetch()} />;
  if (out !== undefined) return <JsonView text={out} label={`Result of ${name}`} />;
  return step.outLeftOut === undefined ? <p className="muted">No result</p> : <Skeleton lines={3} />;
}
