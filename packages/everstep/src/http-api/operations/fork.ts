/** Forks: new runs from the middle of others, with results that somebody gave. */

import { LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';
import { ForkedRun, ForkRequest } from '../../contract/run-tools.js';
import type { ForkRequest as EngineForkRequest } from '../../engine/fork.js';
import type { RunRecord } from '../../ports/store.js';
import { allowRuns, allowSize, overQuota, startAllowed } from '../allowance.js';
import { OWN_ENTRY } from '../audited/audit-rule.js';
import { answer, operation } from '../operation.js';
import { shown } from '../parameters/unacceptable.js';
import { REDACTED } from '../presenters/redaction.js';
import { presentReference } from '../presenters/run.js';
import { RunIdPath, requireRun } from './runs.js';

/** Each step once. */
function resultsOf({ results = [] }: ForkRequest): EngineForkRequest['results'] {
  const given = new Set<number>();
  return results.map(({ stepId, result }, index) => {
    if (given.has(stepId))
      throw new ApiError('bad-body', `the body.results.${index} gives step ${stepId} a result a second time`);
    given.add(stepId);
    return { stepId, out: result === undefined ? null : JSON.stringify(result) };
  });
}

/** What the logs show in place of a hidden value would be taken for the value. */
function refuseShown(run: RunRecord, text: string | null, field: string): void {
  if (!run.settings.redact || !text?.includes(REDACTED)) return;
  throw new ApiError(
    'bad-body',
    `the body.${field} has ${REDACTED}, which the logs of this run show in place of what it hides; give the value itself`,
  );
}

export const forkRun = operation({
  operationId: 'forkRun',
  audit: OWN_ENTRY,
  tag: 'Runs',
  summary: 'Fork a run from one of its steps',
  description:
    'Creates a new run of any run, whatever its state, which goes on from fromStep with what was recorded before that; its own input and results may be edited. The run itself stays as it is, as does its entry in the dead letter queue. Edited steps are marked in the logs. What was planned and not recorded then is planned anew. Counts like a trigger.',
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
    if (body === undefined) throw new Error('a fork without a body came through');
    const { fromStep, input, newWorkflowRunId = null, note = null, createdAt } = body;
    const run = await requireRun(context.store, { instanceId, workflowRunId, createdAt });
    const results = resultsOf(body);
    for (const [index, { out }] of results.entries()) refuseShown(run, out, `results.${index}.result`);
    refuseShown(run, input?.body ?? null, 'input.body');
    const bytes = input ? Buffer.from(input.body) : null;
    if (bytes && bytes.byteLength > LIMITS.maxBodyBytes) {
      throw new ApiError('body-too-large', `the body.input.body is over the limit of ${LIMITS.maxBodyBytes} bytes`);
    }
    if (bytes) allowSize(context, instanceId, bytes);
    const letIn = await allowRuns(context, instanceId);
    const outcome = await startAllowed(
      context,
      { instanceId, runs: 1, letIn },
      () =>
        context.service.fork({
          runKey: run.key,
          fromStep,
          input: bytes && { body: bytes, ...(input?.contentType === undefined ? {} : { contentType: input.contentType }) },
          results,
          workflowRunId: newWorkflowRunId,
          note,
          letInAt: letIn.at,
          by: { actor, address: request.callerIp },
        }),
      ({ kind }) => (kind === 'forked' ? 1 : 0),
    );
    switch (outcome.kind) {
      case 'forked':
        return answer(201, presentReference(outcome.run));
      case 'not-found':
        throw new ApiError('not-found', `the run ${shown(workflowRunId)} was removed`);
      case 'run-id-taken':
        throw new ApiError(
          'run-id-taken',
          `an active run has the ID ${shown(outcome.run.workflowRunId)}; choose another newWorkflowRunId, or wait until it has ended`,
        );
      case 'over-quota':
        throw overQuota(context, instanceId, outcome.message);
      case 'refused':
        throw new ApiError(outcome.because === 'run' ? 'conflict' : 'bad-body', outcome.message);
    }
  },
});
