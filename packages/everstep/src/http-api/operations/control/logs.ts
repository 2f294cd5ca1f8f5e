/** Lists the run log. */
import Type, { type StaticDecode } from 'typebox';
import type { Caller } from '../../../accounts/tokens/caller.js';
import { LIMITS } from '../../../config/limits.js';
import { INDEXED_RUN_FILTERS, RUN_FILTERS, UNINDEXED_RUN_FILTERS } from '../../../contract/filters/run-filters.js';
import { RunLogPage } from '../../../contract/runs.js';
import type { ListedRun, Listing } from '../../../ports/stores/store.js';
import { type ApiContext, operation, type RequestContext, respond } from '../../operation.js';
import { queryFilters, storeFilterOf } from '../../parameters/filters.js';
import { Cursor } from '../../parameters/values.js';
import { presentRunLog } from '../../presenters/run-log.js';
import { PageBudget, readHistory, readPage } from '../../read-models/run-pages.js';
import { hasConditions, type Scan, type ScanDeps, scanRuns } from '../../read-models/run-scan.js';
import { waitsOfHistories } from '../../read-models/waits.js';
import { isEmptyRange, RunOrder } from '../filters.js';

const filterParameters = queryFilters(RUN_FILTERS);
const pageParameters = {
  order: RunOrder,
  cursor: Type.Optional(Cursor('Cursor from the previous page, with the same filters. Omit it for the first page.')),
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
const LogQuery = Type.Object({ ...filterParameters, ...pageParameters });
const EventQuery = Type.Object({
  groupBy: Type.Enum(['workflowRunId'], { type: 'string', description: 'Events are grouped by run.' }),
  ...filterParameters,
  ...pageParameters,
});

async function listByScan(deps: ScanDeps, scan: Scan): Promise<Listing<ListedRun>> {
  const { runs, next } = await scanRuns(deps, scan);
  return { items: runs, next };
}

async function listLogs(
  query: StaticDecode<typeof LogQuery>,
  context: ApiContext,
  caller: Caller,
  { reserve }: Pick<RequestContext, 'reserve'>,
) {
  const { cursor: cursorText, count, trimBody = false, ...filterQuery } = query;
  const { order = 'newest-first' } = filterQuery;
  const { reads, cursors, service, slices } = context;
  const { instanceId } = caller;
  const scope = { operation: 'logs', instanceId, filters: filterQuery };
  const cursorState = cursorText === undefined || cursorText === '' ? null : await cursors.open(scope, cursorText);
  if (isEmptyRange(filterQuery)) return respond(200, { runs: [] });
  const filter = storeFilterOf(INDEXED_RUN_FILTERS, filterQuery);
  const comparedFilter = storeFilterOf(UNINDEXED_RUN_FILTERS, filterQuery);
  const [after, limit] = [cursorState?.after ?? null, count ?? LIMITS.runsPageDefault];
  const listing = hasConditions(comparedFilter)
    ? await listByScan(
        { reads: reads.runs, service: service.runs, slices },
        { instanceId, filter, comparedFilter, order, after, count: limit },
      )
    : await reads.runs.listRuns({ instanceId, filter, order, after, horizon: null, limit });
  const budget = new PageBudget(reserve);
  const { runs, next } = await readPage(listing, (run) => readHistory(reads.runs, run, budget, !trimBody));
  const cursor = next === null ? {} : { cursor: await cursors.seal(scope, { after: next, horizon: null, remaining: null }) };
  const waits = await waitsOfHistories(service.runs, runs);
  return respond(200, { ...cursor, runs: runs.map((history) => presentRunLog(history, { trimBody, waits })) });
}

export const listRunLogs = operation({
  operationId: 'listRunLogs',
  tag: 'Logs',
  summary: 'List workflow runs with their steps',
  description:
    'Returns runs, newest first or in the given `order`. A response without a cursor is the last page. With `waitingFor`, `minDurationMs` or `maxDurationMs`, a page can be short or empty although more pages follow. Unknown parameters are ignored.',
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
  handle: ({ query: { groupBy: _groupBy, ...query }, request }, context, caller) => listLogs(query, context, caller, request),
});
