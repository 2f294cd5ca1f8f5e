/** The run log. */
import Type, { type StaticDecode } from 'typebox';
import type { Caller } from '../../accounts/authority.js';
import { LIMITS } from '../../config/limits.js';
import { RunLogPage, RunStateSchema } from '../../contract/runs.js';
import type { RunFilter } from '../../ports/store.js';
import { type ApiContext, answer, operation, type RequestContext } from '../operation.js';
import { Cursor, Text, UnixMs } from '../parameters/values.js';
import { statusOfState } from '../presenters/run.js';
import { presentRunLog } from '../presenters/run-log.js';
import { PageRoom, readHistory, readPage } from '../run-pages.js';
import { isEmptyRange, RunIdFilter, triggerFilters } from './filters.js';

/** What runs are filtered by. */
export const logFilters = {
  workflowRunId: Type.Optional(RunIdFilter),
  workflowUrl: Type.Optional(Text(LIMITS.maxWorkflowUrlLength, { description: 'URL of the workflow' })),
  workflowCreatedAt: Type.Optional(UnixMs('Creation of the run, Unix ms')),
  state: Type.Optional(RunStateSchema),
  fromDate: Type.Optional(UnixMs('Runs created at or after this time, Unix ms')),
  toDate: Type.Optional(UnixMs('Runs created at or before this time, Unix ms')),
  ...triggerFilters,
};
const page = {
  cursor: Type.Optional(Cursor('Continues a listing, with the same filters; empty begins one.')),
  count: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LIMITS.runsPageMax,
      default: LIMITS.runsPageDefault,
      description: 'Runs to return.',
    }),
  ),
  trimBody: Type.Optional(Type.Boolean({ default: false, description: 'Leaves the results of steps and of runs away.' })),
};
const LogQuery = Type.Object({ ...logFilters, ...page });
const EventQuery = Type.Object({
  groupBy: Type.Enum(['workflowRunId'], { type: 'string', description: 'Events are listed by run.' }),
  ...logFilters,
  ...page,
});

const RunFilters = Type.Object(logFilters);

/** `undefined` in a filter of the store asks for nothing. */
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
  const { store, cursors } = context;
  const { instanceId } = caller;
  const scope = { operation: 'logs', instanceId, filters: asked };
  const begin = given === undefined || given === '' ? null : await cursors.open(scope, given);
  if (isEmptyRange(asked)) return answer(200, { runs: [] });
  const listing = await store.listRuns({
    instanceId,
    filter: runFilterOf(asked),
    order: 'newest-first',
    after: begin?.after ?? null,
    horizon: null,
    limit: count ?? LIMITS.runsPageDefault,
  });
  const room = new PageRoom(reserve);
  const { runs, next } = await readPage(listing, (run) => readHistory(store, run, room, !trimBody));
  const cursor = next === null ? {} : { cursor: await cursors.seal(scope, { after: next, horizon: null, left: null }) };
  return answer(200, { ...cursor, runs: runs.map((history) => presentRunLog(history, { trimBody })) });
}

export const listRunLogs = operation({
  operationId: 'listRunLogs',
  tag: 'Logs',
  summary: 'List workflow runs with their steps',
  description: 'Newest first. When no cursor is returned, the end has been reached. Unknown parameters are ignored.',
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
  summary: 'List workflow runs with their steps (path of the published SDKs)',
  description: 'The same content as listRunLogs; cursors of one are good for the other.',
  method: 'GET',
  path: '/v2/workflows/events',
  unknownQuery: 'ignore',
  query: EventQuery,
  responses: { 200: RunLogPage },
  errors: ['bad-parameter', 'bad-cursor'],
  handle: ({ query: { groupBy: _byRun, ...query }, request }, context, caller) => listLogs(query, context, caller, request),
});
