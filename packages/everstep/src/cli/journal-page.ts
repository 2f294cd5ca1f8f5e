/** A run's journal, as the API shows it, as a page of its story. */
import type { RunJournal } from '@everstep/sdk';
import type { StoryPage, StoryPast } from './run-story.js';

/** A resumed run has steps from before it was made. */
function pastOf({ workflowRunOrigin, workflowCreatedAt }: RunJournal): StoryPast | null {
  return workflowRunOrigin?.kind === 'resume' ? { until: workflowCreatedAt, words: 'kept from the failed run' } : null;
}

export function pageOf(journal: RunJournal, past: StoryPast | null = pastOf(journal)): StoryPage {
  return {
    past,
    steps: journal.steps.map(({ stepId, stepName, stepType, messageId, concurrent, createdAt, completedAt }) => ({
      stepId,
      name: stepName,
      type: stepType,
      messageId,
      concurrent,
      createdAt,
      completedAt,
    })),
    attempts: journal.attempts.map(({ stepName, messageId, retried, time, error, retryAt }) => ({
      name: stepName ?? null,
      messageId,
      retried,
      at: time,
      message: error,
      retryAt: retryAt ?? null,
    })),
    sleeps: journal.tasks.flatMap(({ stepId, stepName, createdAt, sleepUntil }) =>
      stepId === undefined || sleepUntil === undefined
        ? []
        : [{ stepId, name: stepName ?? '', concurrent: 1, createdAt, wakeAt: sleepUntil }],
    ),
  };
}
