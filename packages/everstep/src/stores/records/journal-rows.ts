/** Reads and writes rows of steps and failed attempts. Every store names the columns the same way. */
import { STEP_TYPES } from '@everstep/sdk/protocol';
import type { ErrorDetails } from '../../engine/failures/error-details.js';
import type { StoredExchange, StoredRequest } from '../../engine/runs/exchanges.js';
import { FAILURE_CAUSES, type FailedAttempt, type RecordedStep } from '../../engine/runs/run.js';
import type { ListedStep } from '../../ports/stores/store.js';
import { integer, integerOrNull, json, type Row, text, textOrNull, word } from './columns.js';

/** Returns the columns of a new step, except `edited` and `sent`, which few steps have. */
export const stepColumnsOf = (step: RecordedStep) => ({
  idx: step.index,
  step_id: step.stepId,
  name: step.name,
  type: step.type,
  message_id: step.messageId,
  first_of_group: step.group,
  concurrent: step.concurrent,
  created_at: step.createdAt,
  completed_at: step.completedAt,
  started_at: step.startedAt ?? null,
  sleep_ms: step.sleepMs,
  wake_at: step.wakeAt,
  out: step.out,
});

/** Columns of a step, except its result and those that few steps have. */
export const STEP_COLUMNS = [
  ...(['idx', 'step_id', 'name', 'type', 'message_id', 'first_of_group', 'concurrent'] as const),
  ...(['created_at', 'completed_at', 'started_at', 'sleep_ms', 'wake_at'] as const),
] satisfies (keyof ReturnType<typeof stepColumnsOf>)[];

export const recordedStepOf = (row: Row): RecordedStep => ({
  index: integer(row, 'idx'),
  stepId: integer(row, 'step_id'),
  name: text(row, 'name'),
  type: word(row, 'type', STEP_TYPES),
  out: textOrNull(row, 'out'),
  messageId: text(row, 'message_id'),
  group: integer(row, 'first_of_group'),
  concurrent: integer(row, 'concurrent'),
  createdAt: integer(row, 'created_at'),
  completedAt: integer(row, 'completed_at'),
  ...(row.started_at === null ? {} : { startedAt: integer(row, 'started_at') }),
  sleepMs: integerOrNull(row, 'sleep_ms'),
  wakeAt: integerOrNull(row, 'wake_at'),
  ...(row.edited === null ? {} : { edited: true }),
  ...(typeof row.sent === 'string' ? { sent: json<StoredRequest>(row, 'sent') } : {}),
});

/** Reads a step whose result is omitted if it is long. */
export function listedStepOf(row: Row): ListedStep {
  const step = recordedStepOf(row);
  const bytes = integerOrNull(row, 'out_bytes');
  return step.out === null && bytes !== null ? { ...step, outLeftOut: bytes } : step;
}

export const attemptColumnsOf = (attempt: FailedAttempt) => ({
  slot: attempt.slot,
  name: attempt.name,
  message_id: attempt.messageId,
  retried: attempt.retried,
  at: attempt.at,
  cause: attempt.cause,
  message: attempt.message,
  status: attempt.status,
  retry_at: attempt.retryAt,
  thrown: attempt.thrown ? JSON.stringify(attempt.thrown) : null,
  exchange: attempt.exchange ? JSON.stringify(attempt.exchange) : null,
});

/** Columns of an attempt, except `exchange`, which is read only on request. */
export const ATTEMPT_COLUMNS = [
  ...(['slot', 'name', 'message_id', 'retried', 'at', 'cause', 'message', 'status', 'retry_at', 'thrown'] as const),
] satisfies (keyof ReturnType<typeof attemptColumnsOf>)[];

export const failedAttemptOf = (row: Row): FailedAttempt => ({
  slot: integer(row, 'slot'),
  name: textOrNull(row, 'name'),
  messageId: text(row, 'message_id'),
  retried: integer(row, 'retried'),
  at: integer(row, 'at'),
  cause: word(row, 'cause', FAILURE_CAUSES),
  message: text(row, 'message'),
  status: integerOrNull(row, 'status'),
  retryAt: integerOrNull(row, 'retry_at'),
  ...(typeof row.thrown === 'string' ? { thrown: json<ErrorDetails>(row, 'thrown') } : {}),
  ...(typeof row.exchange === 'string' ? { exchange: json<StoredExchange>(row, 'exchange') } : {}),
});
