/** Converts a run's journal from the API into a page for the progress printer. */
import type { JournalStep, OpenTask, RunJournal } from '@everstep/sdk';
import type { EarlierSteps, ProgressOutcome, ProgressPage, ProgressWait } from './run-progress.js';

const PAST_TEXTS: Readonly<Record<string, string>> = { resume: 'kept from the failed run', fork: 'kept from the forked run' };

/** Returns the steps that a resumed or forked run inherited. */
function pastOf({ workflowRunOrigin, workflowCreatedAt }: RunJournal): EarlierSteps | null {
  const text = PAST_TEXTS[workflowRunOrigin?.kind ?? ''];
  return text === undefined ? null : { until: workflowCreatedAt, text };
}

function outcomeOf({ stepType, waitTimeout, callResponseStatus }: JournalStep): ProgressOutcome | null {
  switch (stepType) {
    case 'SleepFor':
    case 'SleepUntil':
      return { kind: 'slept' };
    case 'Wait':
    case 'WaitForWebhook':
      return { kind: 'event', hasTimedOut: waitTimeout === true };
    case 'Call':
      return { kind: 'response', status: callResponseStatus ?? 0 };
    case 'Invoke':
      return { kind: 'run' };
    default:
      return null;
  }
}

function waitTargetOf(task: OpenTask): ProgressWait['target'] | null {
  if (task.sleepUntil !== undefined) return { kind: 'time', until: task.sleepUntil };
  if (task.waitDeadline !== undefined) {
    return { kind: 'event', eventIds: task.waitEventIds ?? [task.waitEventId ?? ''], until: task.waitDeadline };
  }
  return task.invokedWorkflowRunId === undefined ? null : { kind: 'run', workflowRunId: task.invokedWorkflowRunId };
}

export interface PageOptions {
  readonly past?: EarlierSteps | null;
  /** 0 for the run itself, 1 for runs that it invoked. */
  readonly depth?: number;
}

/** Returns the page of a run, with its steps, failed attempts and waits. */
export function pageOf(journal: RunJournal, { past = pastOf(journal), depth = 0 }: PageOptions = {}): ProgressPage {
  return {
    workflowRunId: journal.workflowRunId,
    depth,
    past,
    steps: journal.steps.map((step) => ({
      stepId: step.stepId,
      name: step.stepName,
      outcome: outcomeOf(step),
      messageId: step.messageId,
      concurrent: step.concurrent,
      createdAt: step.createdAt,
      startedAt: step.startedAt ?? null,
      completedAt: step.completedAt,
    })),
    attempts: journal.attempts.map(({ stepName, messageId, retried, time, error, retryAt }) => ({
      name: stepName ?? null,
      messageId,
      retried,
      at: time,
      message: error,
      retryAt: retryAt ?? null,
    })),
    waits: journal.tasks.flatMap((task) => {
      const target = waitTargetOf(task);
      if (task.stepId === undefined || target === null) return [];
      return [{ stepId: task.stepId, name: task.stepName ?? '', concurrent: 1, createdAt: task.createdAt, target }];
    }),
  };
}
