/** Retries and cancels failure callbacks of failed runs. */

import { FailureFunctionChanged } from '../../../contract/dead-letters.js';
import { ApiError } from '../../../contract/error-codes.js';
import type { CallbackOutcome } from '../../../runtime/services/workflow-service.js';
import { allowSpending } from '../../admission/plan-limits.js';
import { change } from '../../audited/audit-rule.js';
import { operation, respond } from '../../operation.js';
import { DlqIdPath, deadLetterNotFound } from './dead-letters.js';

const PATH = '/v2/workflows/dlq/callback/{dlqId}';
const OTHER_PATHS = ['/v2/dlq/callback/{dlqId}'] as const;

/** Throws ApiError unless the failure callback was changed. */
export function requireSuccess(outcome: CallbackOutcome, dlqId: string): void {
  switch (outcome.kind) {
    case 'done':
      return;
    case 'not-found':
      throw deadLetterNotFound([dlqId]);
    case 'not-possible':
      throw new ApiError('callback-not-possible', outcome.why);
  }
}

export const retryFailureCallback = operation({
  operationId: 'retryFailureCallback',
  audit: change('failure-callback.retry', 'dlqId'),
  tag: 'Dead letter queue',
  summary: 'Retry the failure callback of a failed run',
  description: 'Calls the failure callback or the failure function again, starting with the first attempt.',
  method: 'POST',
  path: PATH,
  otherPaths: OTHER_PATHS,
  unknownQuery: 'refuse',
  pathParameters: DlqIdPath,
  responses: { 200: FailureFunctionChanged },
  errors: ['bad-parameter', 'budget-exceeded', 'storage-quota-exceeded', 'not-found', 'callback-not-possible'],
  async handle({ path: { dlqId } }, context, { instanceId }) {
    await allowSpending(context, instanceId);
    requireSuccess(await context.service.failureCallbacks.retry({ instanceId, dlqId }), dlqId);
    return respond(200, { failureFunctionState: 'CALLBACK_INPROGRESS' as const });
  },
});

export const cancelFailureCallback = operation({
  operationId: 'cancelFailureCallback',
  audit: change('failure-callback.cancel', 'dlqId'),
  tag: 'Dead letter queue',
  summary: 'Cancel the failure callback of a failed run',
  description: 'Stops a failure callback that is in progress. A response that arrives later is ignored.',
  method: 'DELETE',
  path: PATH,
  otherPaths: OTHER_PATHS,
  unknownQuery: 'refuse',
  pathParameters: DlqIdPath,
  responses: { 200: FailureFunctionChanged },
  errors: ['bad-parameter', 'not-found', 'callback-not-possible'],
  async handle({ path: { dlqId } }, { service }, { instanceId }) {
    requireSuccess(await service.failureCallbacks.cancel({ instanceId, dlqId }), dlqId);
    return respond(200, { failureFunctionState: 'CALLBACK_CANCELED' as const });
  },
});
