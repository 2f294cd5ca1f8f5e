/** Checks whether the current code of endpoints can replay runs. */

import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { CheckDeadLetters, DeadLetterChecks, type RunCheck, RunChecks } from '../../../contract/run-tools.js';
import type { DeadLetterRecord, RunRecord } from '../../../ports/stores/store.js';
import type { CheckedRun } from '../../../runtime/services/workflow-service.js';
import { READ_ONLY } from '../../audited/audit-rule.js';
import { operation, respond } from '../../operation.js';
import { presentReference } from '../../presenters/run.js';
import { RunIdPath, requireRun, workflowCreatedAt } from '../runs/runs.js';
import { filterOf } from './repairs.js';

const CHECK_DESCRIPTION =
  'Everstep sends the recorded steps to the endpoint, which runs its code against them. As in any replay, the code between steps runs. No step is executed, and nothing is recorded or billed. The outcome is `cannot-tell`, with a reason, for endpoints with another or an older SDK and for endpoints that cannot be reached.';

const presentCheck = (run: RunRecord, dlqId: string | null, result: CheckedRun): RunCheck => ({
  dlqId,
  ...presentReference(run),
  ...result,
});

export const checkRun = operation({
  operationId: 'checkRun',
  tag: 'Runs',
  summary: 'Check whether the endpoint can replay a run',
  description: CHECK_DESCRIPTION,
  method: 'GET',
  path: '/v2/workflows/runs/{workflowRunId}/check',
  unknownQuery: 'refuse',
  // The check runs code at the endpoint.
  needsReadWrite: true,
  pathParameters: RunIdPath,
  query: Type.Object({ createdAt: workflowCreatedAt }),
  responses: { 200: RunChecks },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { workflowRunId }, query: { createdAt }, request }, { reads, service }, { instanceId }) {
    const run = await requireRun(reads.runs, { instanceId, workflowRunId, createdAt });
    const results = await service.runs.checkReplays({ runKeys: [run.key], signal: request.signal() });
    return respond(200, { checks: results.map((result) => presentCheck(run, run.dlqId, result)) });
  },
});

export const checkDeadLetters = operation({
  operationId: 'checkDeadLetters',
  audit: READ_ONLY,
  tag: 'Dead letter queue',
  summary: 'Check whether endpoints can replay failed runs',
  description: `Checks at most ${LIMITS.checksMax} runs per request, newest first. Repeat the request with the returned cursor and the same filter until the cursor is empty. ${CHECK_DESCRIPTION}`,
  method: 'POST',
  path: '/v2/workflows/dlq/check',
  unknownQuery: 'refuse',
  body: { kind: 'json', required: true, schema: CheckDeadLetters },
  responses: { 200: DeadLetterChecks },
  errors: ['bad-parameter', 'bad-body', 'bad-cursor', 'unsupported-media-type'],
  async handle({ body = {}, request }, { reads, service, cursors }, { instanceId }) {
    const { filter = {}, count = LIMITS.checksMax, cursor: cursorText } = body;
    const scope = { operation: 'dlq-check', instanceId, filters: filter };
    const cursorState = cursorText === undefined || cursorText === '' ? null : await cursors.open(scope, cursorText);
    const storeFilter = filterOf('check', filter);
    const entries: DeadLetterRecord[] = [];
    let after = cursorState?.after ?? null;
    do {
      const limit = count - entries.length;
      const page = await reads.deadLetters.listDeadLetters({
        instanceId,
        filter: storeFilter,
        order: 'newest-first',
        after,
        horizon: null,
        limit,
      });
      entries.push(...page.items);
      after = page.next;
    } while (after !== null && entries.length < count);
    const runKeys = entries.map(({ runKey }) => runKey);
    const results = await service.runs.checkReplays({ runKeys, signal: request.signal() });
    const checks = entries.flatMap(({ run, dlqId }, index) => {
      const result = results[index];
      return result ? [presentCheck(run, dlqId, result)] : [];
    });
    const cursor = after === null ? '' : await cursors.seal(scope, { after, horizon: null, remaining: null });
    return respond(200, { cursor, checks });
  },
});
