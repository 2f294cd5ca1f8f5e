/** Lists the run log. */
import Type, { type StaticDecode } from 'typebox';
import type { Caller } from '../../../accounts/tokens/caller.js';
import { LIMITS } from '../../../config/limits.js';
import { RUN_FILTERS } from '../../../contract/filters/run-filters.js';
import { RunLogPage } from '../../../contract/runs.js';
import { type ApiContext, answer, operation, type RequestContext } from '../../operation.js';
import { queryFilters, storeFilterOf } from '../../parameters/filters.js';
import { Cursor } from '../../parameters/values.js';
import { presentRunLog } from '../../presenters/run-log.js';
import { PageBudget, readHistory, readPage } from '../../read-models/run-pages.js';
import { waitsOfHistories } from '../../read-models/waits.js';
import { isEmptyRange } from '../filters.js';

const filters = queryFilters(RUN_FILTERS);
const page = {
  cursor: Type.Optional(Cursor('Cursor of the previous page, with the same filters. Empty: first page.')),
  count: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LIMITS.runsPageMax,
      default: LIMITS.runsPageDefault,
      description: 'Maximum number of runs to return.',
    }),
  ),
  trimBody: Type.Optional(Type.Boolean({ default: false, description: 'Omits the results of steps and runs.' })),
};
const LogQuery = Type.Object({ ...filters, ...page });
const EventQuery = Type.Object({
  groupBy: Type.Enum(['workflowRunId'], { type: 'string', description: 'Events are grouped by run.' }),
  ...filters,
  ...page,
});

async function listLogs(
  query: StaticDecode<typeof LogQuery>,
  context: ApiContext,
  caller: Caller,
  { reserve }: Pick<RequestContext, 'reserve'>,
) {
  const { cursor: given, count, trimBody = false, ...asked } = query;
  const { reads, cursors, service } = context;
  const { instanceId } = caller;
  const scope = { operation: 'logs', instanceId, filters: asked };
  const start = given === undefined || given === '' ? null : await cursors.open(scope, given);
  if (isEmptyRange(asked)) return answer(200, { runs: [] });
  const listing = await reads.runs.listRuns({
    instanceId,
    filter: storeFilterOf(RUN_FILTERS, asked),
    order: 'newest-first',
    after: start?.after ?? null,
    horizon: null,
    limit: count ?? LIMITS.runsPageDefault,
  });
  const budget = new PageBudget(reserve);
  const { runs, next } = await readPage(listing, (run) => readHistory(reads.runs, run, budget, !trimBody));
  const cursor = next === null ? {} : { cursor: await cursors.seal(scope, { after: next, horizon: null, left: null }) };
  const waits = await waitsOfHistories(service.runs, runs);
  return answer(200, { ...cursor, runs: runs.map((history) => presentRunLog(history, { trimBody, waits })) });
}

export const listRunLogs = operation({
  operationId: 'listRunLogs',
  tag: 'Logs',
  summary: 'List workflow runs with their steps',
  description: 'Returns runs newest first. A response without a cursor is the last page. Unknown parameters are ignored.',
  method: 'GET',
  path: '/v2/workflows/logs',
  unknownQuery: 'ignore',
  query: LogQuery,
  responses: { 200: RunLogPage },
  errors: ['bad-parameter', 'bad-cursor'],
  handle: ({ query, request }, context, caller) => listLogs(query, context, caller, request),
});

export const listRunEvents = operation({
  operationId: 'listRunEvents',
  tag: 'Logs',
  summary: 'List workflow runs with their steps, at the path of the published SDKs',
  description: 'Returns the same content as `listRunLogs`. The cursors of both operations are interchangeable.',
  method: 'GET',
  path: '/v2/workflows/events',
  unknownQuery: 'ignore',
  query: EventQuery,
  responses: { 200: RunLogPage },
  errors: ['bad-parameter', 'bad-cursor'],
  handle: ({ query: { groupBy: _byRun, ...query }, request }, context, caller) => listLogs(query, context, caller, request),
});
