/** Why a run is where it is. */
import Type from 'typebox';
import { ApiError } from '../../contract/error-codes.js';
import { ExplanationSchema } from '../../contract/explanation.js';
import { answer, operation } from '../operation.js';
import { shown } from '../parameters/unacceptable.js';
import { presentExplanation } from '../presenters/explanation.js';
import { RunIdPath, workflowCreatedAt } from './runs.js';

export const explainRun = operation({
  operationId: 'explainRun',
  tag: 'Runs',
  summary: 'Explain why a run is where it is',
  description:
    'For each thing that the service owes the run: what it waits for now, in the order in which that has to come true. A run that has ended waits for nothing, but perhaps for its failure callback.',
  method: 'GET',
  path: '/v2/workflows/runs/{workflowRunId}/explain',
  unknownQuery: 'ignore',
  pathParameters: RunIdPath,
  query: Type.Object({ workflowCreatedAt }),
  responses: { 200: ExplanationSchema },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { workflowRunId }, query }, { service }, { instanceId }) {
    const explanation = await service.explain({ instanceId, workflowRunId, createdAt: query.workflowCreatedAt });
    if (!explanation) {
      const when = query.workflowCreatedAt === undefined ? '' : ` that was created at ${query.workflowCreatedAt}`;
      throw new ApiError('not-found', `there is no run ${shown(workflowRunId)}${when}`);
    }
    return answer(200, presentExplanation(explanation));
  },
});
