/** Lists the attempts of a run with their requests and responses. */
import Type from 'typebox';
import { LIMITS, PART_LIMITS } from '../../../config/limits.js';
import { RunAttempts } from '../../../contract/attempts.js';
import { ApiError } from '../../../contract/error-codes.js';
import { runKeyOfMessage } from '../../../engine/ids.js';
import { NO_LENGTH_LIMIT, readAttempts, readSteps } from '../../../ports/stores/history-parts.js';
import type { RunRecord } from '../../../ports/stores/store.js';
import { operation, type RequestContext, respond } from '../../operation.js';
import { quoteValue } from '../../parameters/value-errors.js';
import { Cursor, Text, UnixMs } from '../../parameters/values.js';
import { type AttemptSource, presentAttempts } from '../../presenters/attempts.js';
import type { RunReads } from '../../read-models/reads.js';
import { historyBytes } from '../../read-models/run-histories.js';
import { RunIdPath, requireRun } from './runs.js';

/** Finds the run of a plain message by the id of the message, which contains the run key. */
async function findMessage(store: RunReads, instanceId: string, messageId: string): Promise<RunRecord | null> {
  const runKey = runKeyOfMessage(messageId);
  const run = runKey === null ? null : await store.findRun({ runKey });
  return run?.instanceId === instanceId && run.workflowRunId === messageId ? run : null;
}

/** Returns the data of attempts, which is read in parts, or null if the run was removed. */
async function openAttemptSource(
  store: RunReads,
  runKey: string,
  reserve: RequestContext['reserve'],
): Promise<AttemptSource | null> {
  const history = await store.runHistory({ runKey, bounds: PART_LIMITS, maxOutBytes: LIMITS.maxInlineBytes });
  if (!history) return null;
  const { longestOutBytes } = await store.journalSize({ runKey });
  const payloadBytes = (await store.payloadHead({ runKey }))?.bodyBytes ?? 0;
  await reserve(2 * Math.max(historyBytes(history), longestOutBytes + payloadBytes));
  const readOptions = { runKey, bounds: PART_LIMITS, exchanges: true } as const;
  return {
    run: history.run,
    payload: await store.loadPayload({ runKey }),
    head: history.steps,
    tasks: history.tasks,
    steps: () => readSteps(store, { ...readOptions, below: history.journalLength, maxOutBytes: LIMITS.maxInlineBytes }),
    attempts: () => readAttempts(store, readOptions),
    findStep: (stepId, isWhole) => store.findStep({ runKey, stepId, maxOutBytes: isWhole ? NO_LENGTH_LIMIT : 0 }),
  };
}

export const listRunAttempts = operation({
  operationId: 'listRunAttempts',
  tag: 'Runs',
  summary: 'List the attempts of a run',
  description: `Returns attempts, oldest first. A failed attempt contains the request, without secrets, and the first ${LIMITS.maxKeptAttemptBodyBytes} bytes of the response, unless it was recorded by an earlier version of Everstep. A successful attempt contains the result of its step. Request bodies are limited to ${LIMITS.maxKeptAttemptRequestBytes} bytes. Those of calls, callbacks and messages are stored; those of steps are reconstructed from the input and the journal. The request of a call that succeeded at its first attempt is not stored and is null. The id can also be that of a plain message.`,
  method: 'GET',
  path: '/v2/workflows/runs/{workflowRunId}/attempts',
  unknownQuery: 'refuse',
  pathParameters: RunIdPath,
  query: Type.Object({
    createdAt: Type.Optional(
      UnixMs(
        'Time when the run was created, in Unix milliseconds. Distinguishes runs that used the same id. Default: the latest run.',
      ),
    ),
    stepId: Type.Optional(Type.Integer({ minimum: 1, description: 'Only attempts of the step at this position.' })),
    messageId: Type.Optional(
      Text(LIMITS.maxRunIdLength, {
        description: 'Only attempts of the message with this id, such as one call to the workflow code.',
      }),
    ),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.attemptsPageMax,
        default: LIMITS.attemptsPageDefault,
        description: 'Maximum number of attempts to return.',
      }),
    ),
    cursor: Type.Optional(Cursor('Cursor from the previous page, with the same filters. Omit it for the first page.')),
  }),
  responses: { 200: RunAttempts },
  errors: ['bad-parameter', 'bad-cursor', 'not-found'],
  async handle({ path: { workflowRunId }, query, request }, { reads, cursors }, { instanceId }) {
    const { cursor: cursorText, count, ...filter } = query;
    const scope = { operation: 'attempts', instanceId, filters: { workflowRunId, ...filter } };
    const cursorState = cursorText === undefined || cursorText === '' ? null : await cursors.open(scope, cursorText);
    const run =
      (await findMessage(reads.runs, instanceId, workflowRunId)) ??
      (await requireRun(reads.runs, { instanceId, workflowRunId, createdAt: filter.createdAt }));
    const source = await openAttemptSource(reads.runs, run.key, request.reserve);
    if (!source) throw new ApiError('not-found', `run ${quoteValue(workflowRunId)} was removed`);
    const limit = count ?? LIMITS.attemptsPageDefault;
    const { attempts, next } = await presentAttempts(source, filter, cursorState ? Number(cursorState.after) : 0, limit);
    const position = next === null ? null : { after: String(next), horizon: null, remaining: null };
    return respond(200, { ...(position ? { cursor: await cursors.seal(scope, position) } : {}), attempts });
  },
});
