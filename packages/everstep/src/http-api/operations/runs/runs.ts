/** Operations of a single run: journal, steps, result and cancellation. */

import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { ApiError } from '../../../contract/error-codes.js';
import { ActiveRun, CanceledRuns, JournalStep, RunJournal, RunResult } from '../../../contract/runs.js';
import { NO_LENGTH_LIMIT, omittedResultBytes } from '../../../ports/stores/history-parts.js';
import type { RunId, RunRecord } from '../../../ports/stores/store.js';
import { change } from '../../audited/audit-rule.js';
import { operation, respond } from '../../operation.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { Cursor, Duration, Text, UnixMs } from '../../parameters/values.js';
import { presentJournalStep, presentReference, presentResult } from '../../presenters/run.js';
import type { InvokedByStep } from '../../presenters/step-fields.js';
import type { RunReads } from '../../read-models/reads.js';
import { requireFullResult } from '../../read-models/run-histories.js';
import { journalPageOf, parseJournalPosition, positionText } from './journal-pages.js';
import { journalOf } from './journals.js';

export const RunIdPath = Type.Object({ workflowRunId: Text(LIMITS.maxRunIdLength, { description: 'Id of the run.' }) });
export const workflowCreatedAt = Type.Optional(
  UnixMs(
    'Time when the run was created, in Unix milliseconds. Distinguishes runs that used the same id. Default: the latest run.',
  ),
);

/** Returns the run. Throws ApiError if it does not exist. */
export async function requireRun(store: RunReads, query: RunId): Promise<RunRecord> {
  const run = await store.findRun(query);
  if (run) return run;
  const creationText = query.createdAt === undefined ? '' : ` created at ${query.createdAt}`;
  throw new ApiError('not-found', `run ${quoteValue(query.workflowRunId)}${creationText} not found`);
}

/** Empty, because the result of a recorded invoke step contains the run that it invoked. */
const NO_INVOCATIONS: InvokedByStep = new Map();

export const getRun = operation({
  operationId: 'getRun',
  tag: 'Runs',
  summary: 'Get the journal of a run',
  description:
    'Returns the input of the run, the recorded steps in the order in which they were recorded, the pending tasks and the failed attempts. With `count`, returns a page of the steps and failed attempts. The cursor of the last page returns the entries that were added since then, so a client that follows a run reads nothing twice. Only the first page contains the input.',
  method: 'GET',
  path: '/v2/workflows/runs/{workflowRunId}',
  unknownQuery: 'ignore',
  pathParameters: RunIdPath,
  query: Type.Object({
    workflowCreatedAt,
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.journalPageMax,
        description: 'Maximum number of steps, of failed attempts and of pending tasks to return. Default: all, in one response.',
      }),
    ),
    cursor: Type.Optional(
      Cursor('With `count`: cursor from the previous page, with the same filters. Omit it for the first page.'),
    ),
    maxResultBytes: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: LIMITS.maxInlineBytes,
        default: LIMITS.maxInlineBytes,
        description: 'With `count`: longer results of steps are omitted. `getRunStep` returns them.',
      }),
    ),
  }),
  responses: { 200: RunJournal },
  errors: ['bad-parameter', 'bad-cursor', 'not-found'],
  async handle({ path: { workflowRunId }, query, request }, { reads, cursors, service }, { instanceId }) {
    const {
      workflowCreatedAt: createdAt,
      count,
      cursor: cursorText = '',
      maxResultBytes: maxOutBytes = LIMITS.maxInlineBytes,
    } = query;
    if (count === undefined && cursorText !== '')
      throw new ApiError('bad-parameter', 'the query parameter "cursor" requires "count"; give both');
    const run = await requireRun(reads.runs, { instanceId, workflowRunId, createdAt });
    const deps = { store: reads.runs, service: service.runs };
    if (count === undefined) return respond(200, await journalOf(deps, run, request));
    const scope = { operation: 'journal', instanceId, filters: { workflowRunId, createdAt: run.createdAt } };
    const from = parseJournalPosition(cursorText === '' ? null : (await cursors.open(scope, cursorText)).after);
    const { journal, next } = await journalPageOf(deps, run, { from, count, maxOutBytes }, request);
    const cursor = await cursors.seal(scope, { after: positionText(next), horizon: null, remaining: null });
    return respond(200, { ...journal, cursor });
  },
});

export const getRunStep = operation({
  operationId: 'getRunStep',
  tag: 'Runs',
  summary: 'Get a recorded step of a run',
  description: 'Returns the step with its whole result, including results that other responses omit because of their length.',
  method: 'GET',
  path: '/v2/workflows/runs/{workflowRunId}/steps/{stepId}',
  unknownQuery: 'refuse',
  pathParameters: Type.Object({
    workflowRunId: RunIdPath.properties.workflowRunId,
    stepId: Type.Integer({ minimum: 1, maximum: LIMITS.maxJournalSteps, description: 'Position of the step.' }),
  }),
  query: Type.Object({ workflowCreatedAt }),
  responses: { 200: JournalStep },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { workflowRunId, stepId }, query, request }, { reads }, { instanceId }) {
    const run = await requireRun(reads.runs, { instanceId, workflowRunId, createdAt: query.workflowCreatedAt });
    const listedStep = await reads.runs.findStep({ runKey: run.key, stepId, maxOutBytes: LIMITS.maxInlineBytes });
    if (listedStep?.outLeftOut !== undefined) await request.reserve(2 * listedStep.outLeftOut);
    const step =
      listedStep?.outLeftOut === undefined
        ? listedStep
        : await reads.runs.findStep({ runKey: run.key, stepId, maxOutBytes: NO_LENGTH_LIMIT });
    if (!step) throw new ApiError('not-found', `run ${quoteValue(workflowRunId)} has no recorded step ${stepId}`);
    return respond(200, presentJournalStep(step, run.settings.redact, NO_INVOCATIONS));
  },
});

export const getRunResult = operation({
  operationId: 'getRunResult',
  showsPayloads: true,
  tag: 'Runs',
  summary: 'Wait for the result of a run',
  description:
    'Responds with 200 when the run has ended, or with 202 when the timeout expires. The result is not redacted, because it is meant for the caller that started the run. Read-only tokens get the redacted result.',
  method: 'GET',
  path: '/v2/workflows/runs/{workflowRunId}/result',
  unknownQuery: 'ignore',
  pathParameters: RunIdPath,
  query: Type.Object({
    timeout: Type.Optional(
      Duration(
        { minMs: 0, maxMs: LIMITS.maxResultWaitMs },
        {
          description: 'Maximum time to wait, for example `30s`. 0 responds immediately.',
          default: `${LIMITS.defaultResultWaitMs / 1_000}s`,
        },
      ),
    ),
    workflowCreatedAt,
  }),
  responses: { 200: RunResult, 202: ActiveRun },
  errors: ['bad-parameter', 'not-found'],
  async handle({ path: { workflowRunId }, query, request }, { reads, service, resultWaits }, { instanceId, access }) {
    const run = await requireRun(reads.runs, { instanceId, workflowRunId, createdAt: query.workflowCreatedAt });
    const isRedacted = access === 'read-only';
    const resultOf = async (endedRun: RunRecord): Promise<RunResult> => {
      await request.reserve(2 * omittedResultBytes(endedRun));
      return presentResult(await requireFullResult(reads.runs, endedRun), isRedacted);
    };
    if (run.status !== 'active') return respond(200, await resultOf(run));
    const timeoutMs = query.timeout ?? LIMITS.defaultResultWaitMs;
    const reference = { runKey: run.key, workflowRunId, createdAt: run.createdAt };
    const wait = () => service.runs.awaitEnd({ instanceId, run: reference, timeoutMs, signal: request.signal() });
    const endedRun = timeoutMs === 0 ? null : await resultWaits.during(instanceId, wait);
    if (endedRun) return respond(200, await resultOf(endedRun));
    return respond(202, { ...presentReference(run), workflowState: 'RUN_STARTED' as const });
  },
});

export const cancelRun = operation({
  operationId: 'cancelRun',
  audit: change('run.cancel', 'workflowRunId'),
  tag: 'Runs',
  summary: 'Cancel a run',
  description:
    'The state of the run becomes `RUN_CANCELED`. The run is not added to the dead letter queue, and its failure callback is not called.',
  method: 'DELETE',
  path: '/v2/workflows/runs/{workflowRunId}',
  unknownQuery: 'refuse',
  pathParameters: RunIdPath,
  query: Type.Object({ workflowCreatedAt }),
  responses: { 200: CanceledRuns },
  errors: ['bad-parameter', 'not-found', 'run-not-active'],
  async handle({ path: { workflowRunId }, query }, { service }, { instanceId }) {
    const outcome = await service.runs.cancel({ instanceId, workflowRunId, createdAt: query.workflowCreatedAt });
    switch (outcome.kind) {
      case 'canceled':
        return respond(200, { cancelled: 1 });
      case 'not-found':
        throw new ApiError('not-found', `run ${quoteValue(workflowRunId)} not found`);
      case 'not-active':
        throw new ApiError('run-not-active', `run ${quoteValue(workflowRunId)} has already ended and cannot be canceled`);
    }
  },
});
