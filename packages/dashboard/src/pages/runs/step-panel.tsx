/** One step: what it is, what came of it, and every attempt. */
import { useState } from 'react';
import type { RunAttempt } from '../../../../everstep/src/contract/attempts.js';
import type { RunJournal } from '../../../../everstep/src/contract/runs.js';
import { Facts } from '../../components/facts.js';
import { durationText } from '../../components/formats.js';
import { JsonView } from '../../components/json-view.js';
import { RunLink } from '../../components/run-link.js';
import { TimeText } from '../../components/time-text.js';
import { AttemptsView } from './attempts-view.js';
import type { TimelineRow } from './timeline.js';

export interface StepPanelProps {
  readonly journal: RunJournal;
  readonly row: TimelineRow;
  readonly attempts: readonly RunAttempt[];
}

type JournalStep = RunJournal['steps'][number];
type OpenTask = RunJournal['tasks'][number];

const TYPES: Readonly<Record<string, string>> = {
  Run: 'Step of the code',
  SleepFor: 'Sleep',
  SleepUntil: 'Sleep until a time',
  Wait: 'Wait for an event',
  Notify: 'Notify',
  Call: 'Call',
  Invoke: 'Invoke another run',
  CreateWebhook: 'Make a webhook',
  WaitForWebhook: 'Wait for a webhook',
  Code: 'Code between steps',
};

const messageOf = (row: TimelineRow): string => row.key.slice(row.key.indexOf(' ') + 1);

export function StepPanel({ journal, row, attempts }: StepPanelProps) {
  const messageId = messageOf(row);
  const step = journal.steps.find(({ stepId }) => stepId === row.stepId);
  const task = journal.tasks.find((each) => each.messageId === messageId);
  // What was known of it when it was opened stays: no fact goes from under the eyes of who reads it.
  const [opened] = useState({ task, seen: step === undefined });
  const { seen } = opened;
  const known: Partial<JournalStep & OpenTask> = { ...opened.task, ...(step ?? task) };
  const own = attempts.filter(
    (attempt) => attempt.messageId === messageId || (row.stepId !== null && attempt.stepId === row.stepId),
  );
  // What is seen to be done gets its result below what is being read.
  const notYet = seen && step === undefined ? <span className="muted">not yet</span> : null;
  /** Steps of these types come to have it. */
  const of = (...types: readonly string[]) => (types.includes(row.type) ? notYet : null);
  const attemptsPart = (
    <section className="stack">
      <h3>Attempts</h3>
      <AttemptsView attempts={own} />
    </section>
  );
  return (
    <div className="stack">
      <Facts
        facts={[
          ['Kind', TYPES[row.type] ?? row.type],
          ['Position', row.stepId],
          ['Kept', row.kept ? 'Of the run that this one goes on from; it was not done again' : null],
          ['Planned', row.kept ? null : <TimeText key="planned" unixMs={row.from} />],
          ['Recorded', step === undefined ? notYet : <TimeText key="recorded" unixMs={step.completedAt} />],
          ['Took', step === undefined ? notYet : row.kept ? null : durationText(step.completedAt - step.createdAt)],
          ['Next', task?.dueAt !== undefined ? <TimeText key="next" unixMs={task.dueAt} style="relative" /> : seen ? '–' : null],
          ['Sleeps', known.sleepFor === undefined ? null : durationText(known.sleepFor)],
          ['Until', known.sleepUntil === undefined ? null : <TimeText key="until" unixMs={known.sleepUntil} />],
          ['Event', known.waitEventIds?.join(', ') ?? known.waitEventId ?? known.notifyEventId],
          ['Times out', known.waitDeadline === undefined ? null : <TimeText key="deadline" unixMs={known.waitDeadline} />],
          ['Timed out', known.waitTimeout === undefined ? of('Wait', 'WaitForWebhook') : known.waitTimeout ? 'Yes' : 'No'],
          ['Called', known.callUrl === undefined ? null : `${known.callMethod ?? 'GET'} ${known.callUrl}`],
          ['Answer', known.callResponseStatus === undefined ? of('Call') : `HTTP ${known.callResponseStatus}`],
          [
            'Invoked run',
            known.invokedWorkflowRunId === undefined ? (
              of('Invoke')
            ) : (
              <RunLink key="invoked" runId={known.invokedWorkflowRunId} createdAt={known.invokedWorkflowCreatedAt} />
            ),
          ],
          ['Result', row.edited ? 'Edited by hand when the run was forked' : null],
        ]}
      />
      {seen ? attemptsPart : null}
      {step === undefined ? null : (
        <section className="stack">
          <h3>Result</h3>
          {step.out === undefined ? <p className="muted">None.</p> : <JsonView text={step.out} label={`Result of ${row.name}`} />}
        </section>
      )}
      {seen ? null : attemptsPart}
    </div>
  );
}
