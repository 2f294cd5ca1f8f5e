/** Events that alert rules watch. */
import { truncateText } from '@everstep/sdk/protocol';
import { LIMITS } from '../../config/limits.js';
import type { FailureGroup } from '../dead-letters/dead-letter-groups.js';
import { type DecisionContext, newId } from '../ids.js';
import type { DeadLetter, Run } from '../runs/run.js';
import { watchesFailures } from './alert-settings.js';

/** A run or message that failed after all retries. */
export interface AlertEvent {
  readonly eventId: string;
  /** Time of the failure, Unix ms. */
  readonly at: number;
  readonly run: 'workflow' | 'message';
  readonly workflowRunId: string;
  readonly workflowUrl: string;
  readonly labels: readonly string[];
  readonly fingerprint: string;
  readonly stepName: string | null;
  /** Error text; empty if the run redacts data. */
  readonly error: string;
}

/**
 * Returns the event of a failure, for the unit that fails the run. Returns null if no rule watches it, or if it is a notice
 * that failed.
 */
export function failureEvent(
  { workflowRunId, workflowUrl, settings }: Run,
  { error, createdAt: at }: DeadLetter,
  { fingerprint, kind, stepName }: FailureGroup,
  context: DecisionContext,
): AlertEvent | null {
  if (!context.alerts || !watchesFailures(context.alerts) || settings.message?.destination !== undefined) return null;
  return {
    eventId: newId('ale', context),
    at,
    run: kind,
    workflowRunId,
    workflowUrl,
    labels: settings.labels,
    fingerprint,
    stepName,
    error: settings.redact ? '' : truncateText(error, LIMITS.maxNoticeErrorLength),
  };
}
