/** Explains why a run is waiting. */
import Type from 'typebox';
import { ApiError } from '../../../contract/error-codes.js';
import { ExplanationSchema } from '../../../contract/explanation.js';
import { operation, respond } from '../../operation.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { presentExplanation } from '../../presenters/waits/explanation.js';
import { RunIdPath, workflowCreatedAt } from './runs.js';

export const explainRun = operation({
  operationId: 'explainRun',
  tag: 'Runs',
  summary: 'Explain why a run is waiting',
  description:
    'Returns for each pending task what it currently waits for, in the order in which the reasons must be resolved. A run that has ended has no pending tasks, except possibly its failure callback.',
  method: 'GET',
  path: '/v2/workflows/runs/{workflowRunId}/explain',
  unknownQuery: 'ignore',
  pathParameters: RunIdPath,
  query: Type.Object({ workflowCreatedAt }),
  responses: { 200: ExplanationSchema },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { workflowRunId }, query }, { service }, { instanceId }) {
    const explanation = await service.runs.explain({ instanceId, workflowRunId, createdAt: query.workflowCreatedAt });
    if (!explanation) {
      const creationText = query.workflowCreatedAt === undefined ? '' : ` created at ${query.workflowCreatedAt}`;
      throw new ApiError('not-found', `run ${quoteValue(workflowRunId)}${creationText} not found`);
    }
    return respond(200, presentExplanation(explanation));
  },
});
