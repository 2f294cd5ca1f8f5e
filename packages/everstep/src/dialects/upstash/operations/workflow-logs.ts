/** The run log, for clients of this dialect. */
import Type, { type StaticDecode } from 'typebox';
import type { Caller } from '../../../accounts/authority.js';
import { LIMITS } from '../../../config/limits.js';
import { RunStateSchema } from '../../../contract/runs.js';
import { type ApiContext, answer, type Operation, operation } from '../../../http-api/operation.js';
import { deadLetterFilters, isEmptyRange, RunIdFilter, triggerFilters } from '../../../http-api/operations/filters.js';
import { Cursor, Text, UnixMs } from '../../../http-api/parameters/values.js';
import { statusOfState } from '../../../http-api/presenters/run.js';
import type { RunFilter, RunHistory, RunRecord, Store } from '../../../ports/store.js';
import { firstMessageId } from '../journal.js';
import { isAt, placeFilters } from './run-filters.js';
import { type InvokedRun, presentLoggedRun } from './run-log.js';
import { LoggedRunPage } from './run-log-schemas.js';

const MAX_MESSAGE_ID_LENGTH = 256;

const logQuery = {
  workflowRunId: Type.Optional(RunIdFilter),
  workflowUrl: deadLetterFilters.workflowUrl,
  workflowCreatedAt: Type.Optional(UnixMs('Creation of the run, Unix ms')),
  state: Type.Optional(RunStateSchema),
  messageId: Type.Optional(Text(MAX_MESSAGE_ID_LENGTH, { description: 'ID of a message of the run' })),
  fromDate: Type.Optional(UnixMs('Runs created at or after this time, Unix ms')),
  toDate: Type.Optional(UnixMs('Runs created at or before this time, Unix ms')),
  ...placeFilters,
  ...triggerFilters,
  cursor: Type.Optional(Cursor('Continues a listing, with the same filters; empty begins one.')),
  count: Type.Optional(Type.Integer({ minimum: 1, description: `Runs to return; at most ${LIMITS.runsPageMax} are answered.` })),
  trimBody: Type.Optional(Type.Boolean({ default: false, description: 'Leaves bodies and results away.' })),
};
const LogQuery = Type.Object(logQuery);
const EventQuery = Type.Object({
  groupBy: Type.Enum(['workflowRunId'], { type: 'string', description: 'Events are listed by run.' }),
  ...logQuery,
});
type LogQuery = StaticDecode<typeof LogQuery>;

const hasMessage = ({ run, steps, tasks, attempts }: RunHistory, messageId: string): boolean =>
  firstMessageId(run.key) === messageId || [...steps, ...tasks, ...attempts].some((each) => each.messageId === messageId);

async function invokedRuns({ invoked }: RunHistory, store: Store): Promise<ReadonlyMap<number, InvokedRun>> {
  const found = new Map<number, InvokedRun>();
  for (const { stepId, runKey } of invoked.slice(0, LIMITS.loggedInvocations)) {
    const run = await store.runRecord({ runKey });
    if (run) found.set(stepId, { run, payload: await store.loadPayload({ runKey }) });
  }
  return found;
}

async function loggedRun(history: RunHistory, store: Store, trimBody: boolean) {
  const { run } = history;
  const { instanceId, origin, dlqId, key: runKey } = run;
  return presentLoggedRun({
    history,
    trimBody,
    payload: await store.loadPayload({ runKey }),
    deadLetter: dlqId === null ? null : await store.findDeadLetter({ instanceId, dlqId }),
    invoker: origin?.kind === 'invoke' ? await store.runRecord({ runKey: origin.runKey }) : null,
    invoked: await invokedRuns(history, store),
  });
}

function storeFilterOf(asked: LogQuery): RunFilter {
  return {
    workflowRunId: asked.workflowRunId,
    workflowUrls: asked.workflowUrl,
    createdAt: asked.workflowCreatedAt,
    statuses: asked.state === undefined ? undefined : [statusOfState(asked.state)],
    fromDate: asked.fromDate,
    toDate: asked.toDate,
    labels: asked.label,
    flowControlKeys: asked.flowControlKey,
    callerIps: asked.callerIp,
  };
}

async function listLogs(query: LogQuery, { store, cursors }: ApiContext, { instanceId }: Caller) {
  const { cursor: given, count, trimBody = false, ...asked } = query;
  const scope = { operation: 'upstash-logs', instanceId, filters: asked };
  const begin = given === undefined || given === '' ? null : await cursors.open(scope, given);
  if (isEmptyRange(asked)) return answer(200, { runs: [] });
  const filter = storeFilterOf(asked);
  const { messageId } = asked;
  const wanted = isAt(asked);
  const limit = Math.min(count ?? LIMITS.runsPageDefault, LIMITS.runsPageMax);
  const histories: RunHistory[] = [];
  let after = begin?.after ?? null;
  let looked = 0;
  // What no index finds is looked for in run after run; a request does only so much of that, and leaves the rest to the next.
  do {
    const place = { after, horizon: null, limit: limit - histories.length };
    const page = await store.listRuns({ instanceId, filter, order: 'newest-first', ...place });
    looked += page.items.length;
    const fitting: readonly RunRecord[] = wanted ? page.items.filter(wanted) : page.items;
    for (const { key } of fitting) {
      const history = await store.runHistory({ runKey: key });
      // A run may have been removed since the page was read.
      if (history && (messageId === undefined || hasMessage(history, messageId))) histories.push(history);
    }
    after = page.next;
  } while (after !== null && histories.length < limit && looked < LIMITS.maxRunsLookedAt);
  const runs = [];
  for (const history of histories) runs.push(await loggedRun(history, store, trimBody));
  if (after === null) return answer(200, { runs });
  return answer(200, { cursor: await cursors.seal(scope, { after, horizon: null, left: null }), runs });
}

const listRunLogs = operation({
  operationId: 'listWorkflowLogs',
  tag: 'Logs',
  summary: 'List workflow runs with their steps',
  description: `Newest first. When no cursor is returned, the end has been reached; with host, path or messageId a page may be short, or empty, before that. Unknown parameters are ignored.`,
  method: 'GET',
  path: '/v2/workflows/logs',
  dialect: 'upstash',
  unknownQuery: 'ignore',
  query: LogQuery,
  responses: { 200: LoggedRunPage },
  errors: ['bad-parameter', 'bad-cursor'],
  handle: ({ query }, context, caller) => listLogs(query, context, caller),
});

const listRunEvents = operation({
  operationId: 'listWorkflowEvents',
  tag: 'Logs',
  summary: 'List workflow runs with their steps, as the client asks for them',
  description: 'The same content as listWorkflowLogs; cursors of one are good for the other.',
  method: 'GET',
  path: '/v2/workflows/events',
  dialect: 'upstash',
  unknownQuery: 'ignore',
  query: EventQuery,
  responses: { 200: LoggedRunPage },
  errors: ['bad-parameter', 'bad-cursor'],
  handle: ({ query: { groupBy: _byRun, ...query } }, context, caller) => listLogs(query, context, caller),
});

export const workflowLogOperations: readonly Operation[] = [listRunLogs, listRunEvents];
