/** Forks a run: starts a new run from one of its steps, optionally with edited input and results. */

import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { ForkedRun, ForkRequest } from '../../../contract/run-tools.js';
import type { ForkRequest as EngineForkRequest } from '../../../engine/runs/fork.js';
import type { RunRecord } from '../../../ports/stores/store.js';
import { allowRuns, allowSize, overQuota, startAllowedRuns } from '../../admission/plan-limits.js';
import { WRITES_OWN_ENTRY } from '../../audited/audit-rule.js';
import { operation, respond } from '../../operation.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { REDACTED } from '../../presenters/redaction.js';
import { presentReference } from '../../presenters/run.js';
import { RunIdPath, requireRun } from './runs.js';

/** Returns the edited results. Rejects two results for one step. */
function resultsOf({ results = [] }: ForkRequest): EngineForkRequest['results'] {
  const stepIds = new Set<number>();
  return results.map(({ stepId, result }, index) => {
    if (stepIds.has(stepId))
      throw new ApiError(
        'bad-body',
        `body.results.${index} sets the result of step ${stepId} a second time; give one result per step`,
      );
    stepIds.add(stepId);
    return { stepId, out: result === undefined ? null : JSON.stringify(result) };
  });
}

/** Rejects the placeholder that the logs show for hidden values, because it would be stored as the value. */
function refusePlaceholder(run: RunRecord, text: string | null, field: string): void {
  if (!run.settings.redact || !text?.includes(REDACTED)) return;
  throw new ApiError(
    'bad-body',
    `body.${field} contains ${REDACTED}, the placeholder that the logs show for a hidden value; send the real value`,
  );
}

export const forkRun = operation({
  operationId: 'forkRun',
  audit: WRITES_OWN_ENTRY,
  tag: 'Runs',
  summary: 'Fork a run from one of its steps',
  description:
    'Creates a new run from a run in any state. It continues at `fromStep` with the steps that were recorded before; you can edit its input and results. The original run and its dead letter entry do not change. Edited steps are marked in the logs. Steps that were planned but not recorded are planned again. The new run counts as a trigger.',
  method: 'POST',
  path: '/v2/workflows/runs/{workflowRunId}/fork',
  unknownQuery: 'refuse',
  pathParameters: RunIdPath,
  body: { kind: 'json', required: true, schema: ForkRequest, maxBytes: LIMITS.maxBodyBytes },
  responses: { 201: ForkedRun },
  errors: [
    'bad-parameter',
    'bad-body',
    'body-too-large',
    'unsupported-media-type',
    'budget-exceeded',
    'storage-quota-exceeded',
    'not-found',
    'conflict',
    'run-id-taken',
    'daily-limit-reached',
    'too-many-active-runs',
  ],
  async handle({ path: { workflowRunId }, body, request }, context, { instanceId, actor }) {
    if (body === undefined) throw new Error('a fork without a body was not rejected');
    const { fromStep, input, newWorkflowRunId = null, note = null, createdAt } = body;
    const run = await requireRun(context.reads.runs, { instanceId, workflowRunId, createdAt });
    const results = resultsOf(body);
    for (const [index, { out }] of results.entries()) refusePlaceholder(run, out, `results.${index}.result`);
    refusePlaceholder(run, input?.body ?? null, 'input.body');
    const inputBytes = input ? Buffer.from(input.body) : null;
    if (inputBytes && inputBytes.byteLength > LIMITS.maxBodyBytes) {
      throw new ApiError('body-too-large', `body.input.body must not be larger than ${LIMITS.maxBodyBytes} bytes`);
    }
    if (inputBytes) allowSize(context, instanceId, inputBytes);
    const runAdmission = await allowRuns(context, instanceId);
    const outcome = await startAllowedRuns(
      context,
      { instanceId, runs: 1, runAdmission },
      () =>
        context.service.runs.fork({
          runKey: run.key,
          fromStep,
          input: inputBytes && {
            body: inputBytes,
            ...(input?.contentType === undefined ? {} : { contentType: input.contentType }),
          },
          results,
          workflowRunId: newWorkflowRunId,
          note,
          admittedAt: runAdmission.at,
          by: { actor, address: request.callerIp },
        }),
      ({ kind }) => (kind === 'forked' ? 1 : 0),
    );
    switch (outcome.kind) {
      case 'forked':
        return respond(201, presentReference(outcome.run));
      case 'not-found':
        throw new ApiError('not-found', `run ${quoteValue(workflowRunId)} was removed`);
      case 'run-id-taken':
        throw new ApiError(
          'run-id-taken',
          `an active run already has the id ${quoteValue(outcome.run.workflowRunId)}; choose another "newWorkflowRunId", or wait until that run has ended`,
        );
      case 'over-quota':
        throw overQuota(context, instanceId, outcome.message);
      case 'refused':
        throw new ApiError(outcome.because === 'run' ? 'conflict' : 'bad-body', outcome.message);
    }
  },
});
