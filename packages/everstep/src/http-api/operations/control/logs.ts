/** Lists the run log. */
import Type, { type StaticDecode } from 'typebox';
import type { Caller } from '../../../accounts/tokens/authority.js';
import { LIMITS } from '../../../config/limits.js';
import { RUN_STATES, RunLogPage } from '../../../contract/runs.js';
import type { RunFilter } from '../../../ports/stores/store.js';
import { type ApiContext, answer, operation, type RequestContext } from '../../operation.js';
import { Cursor, Text, UnixMs } from '../../parameters/values.js';
import { statusOfState } from '../../presenters/run.js';
import { presentRunLog } from '../../presenters/run-log.js';
import { PageBudget, readHistory, readPage } from '../../read-models/run-pages.js';
import { isEmptyRange, RunIdFilter, triggerFilters } from '../filters.js';

/** Filters of run listings. */
export const logFilters = {
  workflowRunId: Type.Optional(RunIdFilter),
  workflowUrl: Type.Optional(Text(LIMITS.maxWorkflowUrlLength, { description: 'URL of the workflow.' })),
  workflowCreatedAt: Type.Optional(UnixMs('Time when the run was created, in Unix milliseconds.')),
  state: Type.Optional(Type.Enum([...RUN_STATES], { type: 'string', description: 'State of the run.' })),
  fromDate: Type.Optional(UnixMs('Only runs that were created at or after this time, in Unix milliseconds.')),
  toDate: Type.Optional(UnixMs('Only runs that were created at or before this time, in Unix milliseconds.')),
  ...triggerFilters,
};
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
const LogQuery = Type.Object({ ...logFilters, ...page });
const EventQuery = Type.Object({
  groupBy: Type.Enum(['workflowRunId'], { type: 'string', description: 'Events are grouped by run.' }),
  ...logFilters,
  ...page,
});

const RunFilters = Type.Object(logFilters);

/** Returns the store filter of a query. Undefined fields do not filter. */
export const runFilterOf = (asked: StaticDecode<typeof RunFilters>): RunFilter => ({
  workflowRunId: asked.workflowRunId,
  workflowUrls: asked.workflowUrl === undefined ? undefined : [asked.workflowUrl],
  createdAt: asked.workflowCreatedAt,
  statuses: asked.state === undefined ? undefined : [statusOfState(asked.state)],
  fromDate: asked.fromDate,
  toDate: asked.toDate,
  labels: asked.label,
  flowControlKeys: asked.flowControlKey,
  callerIps: asked.callerIp,
});

async function listLogs(
  query: StaticDecode<typeof LogQuery>,
  context: ApiContext,
  caller: Caller,
  { reserve }: Pick<RequestContext, 'reserve'>,
) {
  const { cursor: given, count, trimBody = false, ...asked } = query;
  const { reads, cursors } = context;
  const { instanceId } = caller;
  const scope = { operation: 'logs', instanceId, filters: asked };
  const start = given === undefined || given === '' ? null : await cursors.open(scope, given);
  if (isEmptyRange(asked)) return answer(200, { runs: [] });
  const listing = await reads.runs.listRuns({
    instanceId,
    filter: runFilterOf(asked),
    order: 'newest-first',
    after: start?.after ?? null,
    horizon: null,
    limit: count ?? LIMITS.runsPageDefault,
  });
  const budget = new PageBudget(reserve);
  const { runs, next } = await readPage(listing, (run) => readHistory(reads.runs, run, budget, !trimBody));
  const cursor = next === null ? {} : { cursor: await cursors.seal(scope, { after: next, horizon: null, left: null }) };
  return answer(200, { ...cursor, runs: runs.map((history) => presentRunLog(history, { trimBody })) });
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
