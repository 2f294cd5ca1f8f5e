/** The run log in the format of this dialect. */
import Type, { type StaticDecode } from 'typebox';
import type { Caller } from '../../../accounts/tokens/caller.js';
import { LIMITS, PART_LIMITS } from '../../../config/limits.js';
import { DEAD_LETTER_FILTERS } from '../../../contract/filters/dead-letter-filters.js';
import { INDEXED_RUN_FILTERS } from '../../../contract/filters/run-filters.js';
import { firstMessageId } from '../../../dialects/upstash/journal.js';
import { omittedResultBytes, readAttempts, readSteps, readTasks, withFullResult } from '../../../ports/stores/history-parts.js';
import type { ListedRun, RunFilter, RunRecord } from '../../../ports/stores/store.js';
import { type ApiContext, type Operation, operation, type RequestContext, respond } from '../../operation.js';
import { isEmptyRange } from '../../operations/filters.js';
import { queryFilters, storeFilterOf } from '../../parameters/filters.js';
import { Cursor, Text } from '../../parameters/values.js';
import type { DeadLetterReads, Reads, RunReads } from '../../read-models/reads.js';
import type { ListedHistory } from '../../read-models/run-histories.js';
import { DOES_NOT_FIT, PageBudget, readHistory, readPage } from '../../read-models/run-pages.js';
import { urlPartFilters, urlPartPredicate } from './run-filters.js';
import { type InvokedRun, type ListedPayload, type LogSource, presentLoggedRun } from './run-log.js';
import { type LoggedRun, LoggedRunPage } from './run-log-schemas.js';

const MAX_MESSAGE_ID_LENGTH = 256;

const LOG_FILTERS = { ...INDEXED_RUN_FILTERS, workflowUrl: DEAD_LETTER_FILTERS.workflowUrl } as const;
const logQuery = {
  ...queryFilters(LOG_FILTERS),
  ...urlPartFilters,
  messageId: Type.Optional(Text(MAX_MESSAGE_ID_LENGTH, { description: 'Id of a message of the run' })),
  cursor: Type.Optional(Cursor('Continues a listing with the same filters. An empty cursor starts a new listing.')),
  count: Type.Optional(Type.Integer({ minimum: 1, description: `Number of runs to return, at most ${LIMITS.runsPageMax}.` })),
  trimBody: Type.Optional(Type.Boolean({ default: false, description: 'Omits bodies and results.' })),
};
const LogQuery = Type.Object(logQuery);
const EventQuery = Type.Object({
  groupBy: Type.Enum(['workflowRunId'], { type: 'string', description: 'Groups events by run.' }),
  ...logQuery,
});
type LogQuery = StaticDecode<typeof LogQuery>;

async function hasMessage(store: RunReads, { key }: RunRecord, wantedId: string): Promise<boolean> {
  if (firstMessageId(key) === wantedId) return true;
  const partQuery = { runKey: key, bounds: PART_LIMITS };
  const lists = [readSteps(store, { ...partQuery, maxOutBytes: 0 }), readTasks(store, partQuery), readAttempts(store, partQuery)];
  for (const list of lists) for await (const part of list) if (part.some(({ messageId }) => messageId === wantedId)) return true;
  return false;
}

/** Loads the payload of a run, without its body if the page has no space left for it. */
async function loadPayload(
  store: RunReads,
  runKey: string,
  budget: PageBudget,
  trimBody: boolean,
): Promise<ListedPayload | null> {
  const payloadHead = await store.payloadHead({ runKey });
  if (!payloadHead) return null;
  const { bodyBytes, ...headers } = payloadHead;
  if (!trimBody && (await budget.addIfFits(bodyBytes))) return store.loadPayload({ runKey });
  return { ...headers, body: new Uint8Array(), ...(trimBody ? {} : { bodyLeftOut: bodyBytes }) };
}

/** Loads the runs that steps invoked, with payloads and results as long as the page has space. */
async function loadInvokedRuns({ invoked }: ListedHistory, store: RunReads, budget: PageBudget, trimBody: boolean) {
  const runs = new Map<number, InvokedRun>();
  for (const { stepId, runKey } of invoked.slice(0, LIMITS.maxLoggedInvocations)) {
    const record = await store.findRun({ runKey });
    if (!record) continue;
    const isIncluded = !trimBody && (await budget.addIfFits(omittedResultBytes(record)));
    const run = isIncluded ? ((await withFullResult(store, record)) ?? record) : record;
    runs.set(stepId, { run, payload: await loadPayload(store, runKey, budget, trimBody) });
  }
  return runs;
}

async function loadDeadLetter(
  store: DeadLetterReads,
  instanceId: string,
  dlqId: string | null,
): Promise<LogSource['deadLetter']> {
  const entry = dlqId === null ? null : await store.findDeadLetter({ instanceId, dlqId });
  const bodies = entry && (await store.loadDeadLetterBodies({ instanceId, dlqIds: [entry.dlqId] })).get(entry.dlqId);
  return entry && { ...entry, responseBody: bodies?.responseBody ?? new Uint8Array() };
}

async function loadLoggedRun(
  history: ListedHistory,
  { runs: store, deadLetters }: Reads,
  budget: PageBudget,
  trimBody: boolean,
): Promise<LoggedRun> {
  const { instanceId, origin, dlqId, key: runKey } = history.run;
  const payload = await loadPayload(store, runKey, budget, trimBody);
  const headersBytes = payload ? JSON.stringify(payload.forwardHeaders).length : 0;
  // The headers are repeated in every step.
  const repeatsHeaders = headersBytes * history.steps.length <= budget.remaining / 4;
  budget.take(headersBytes * (repeatsHeaders ? history.steps.length : 1));
  return presentLoggedRun({
    history,
    trimBody,
    payload,
    repeatsHeaders,
    deadLetter: await loadDeadLetter(deadLetters, instanceId, dlqId),
    invoker: origin?.kind === 'invoke' ? await store.findRun({ runKey: origin.runKey }) : null,
    invokedRuns: await loadInvokedRuns(history, store, budget, trimBody),
  });
}

/** Half of the maximum page size, because call results appear twice: in `out` and in their own fields. */
const PAGE_BUDGET_BYTES = LIMITS.maxPageBytes / 2;

async function listLogs(
  query: LogQuery,
  { reads, cursors }: ApiContext,
  { instanceId }: Caller,
  { reserve }: Pick<RequestContext, 'reserve'>,
) {
  const { cursor: cursorText, count, trimBody = false, ...filterQuery } = query;
  const scope = { operation: 'upstash-logs', instanceId, filters: filterQuery };
  const cursorState = cursorText === undefined || cursorText === '' ? null : await cursors.open(scope, cursorText);
  if (isEmptyRange(filterQuery)) return respond(200, { runs: [] });
  const filter: RunFilter = storeFilterOf(LOG_FILTERS, filterQuery);
  const { messageId } = filterQuery;
  const matchesUrl = urlPartPredicate(filterQuery);
  const limit = Math.min(count ?? LIMITS.runsPageDefault, LIMITS.runsPageMax);
  const budget = new PageBudget(reserve, PAGE_BUDGET_BYTES);
  const presentRun = async (run: ListedRun): Promise<LoggedRun | null | typeof DOES_NOT_FIT> => {
    if (matchesUrl && !matchesUrl(run)) return null;
    if (messageId !== undefined && !(await hasMessage(reads.runs, run, messageId))) return null;
    const history = await readHistory(reads.runs, run, budget, !trimBody);
    return history === null || history === DOES_NOT_FIT ? history : loadLoggedRun(history, reads, budget, trimBody);
  };
  const runs: LoggedRun[] = [];
  let after = cursorState?.after ?? null;
  let scannedCount = 0;
  let isFull = false;
  // Filters without an index are checked run by run. A request scans a limited number of runs; the cursor continues
  // after them.
  do {
    const position = { after, horizon: null, limit: limit - runs.length };
    const listing = await reads.runs.listRuns({ instanceId, filter, order: 'newest-first', ...position });
    scannedCount += listing.items.length;
    const page = await readPage(listing, presentRun);
    runs.push(...page.runs);
    isFull = page.isFull;
    after = page.isFull && page.next === null ? after : page.next;
  } while (after !== null && !isFull && runs.length < limit && scannedCount < LIMITS.maxRunsScanned);
  if (after === null) return respond(200, { runs });
  return respond(200, { cursor: await cursors.seal(scope, { after, horizon: null, remaining: null }), runs });
}

const listRunLogs = operation({
  operationId: 'listWorkflowLogs',
  tag: 'Logs',
  summary: 'List workflow runs with their steps',
  description:
    'Newest first. The last page has no cursor. With host, path or messageId, a page can be short or empty before the end. Unknown parameters are ignored.',
  method: 'GET',
  path: '/v2/workflows/logs',
  dialect: 'upstash',
  unknownQuery: 'ignore',
  query: LogQuery,
  responses: { 200: LoggedRunPage },
  errors: ['bad-parameter', 'bad-cursor'],
  handle: ({ query, request }, context, caller) => listLogs(query, context, caller, request),
});

const listRunEvents = operation({
  operationId: 'listWorkflowEvents',
  tag: 'Logs',
  summary: 'List workflow runs with their steps (SDK path)',
  description: 'Returns the same content as listWorkflowLogs. Cursors of the two operations are interchangeable.',
  method: 'GET',
  path: '/v2/workflows/events',
  dialect: 'upstash',
  unknownQuery: 'ignore',
  query: EventQuery,
  responses: { 200: LoggedRunPage },
  errors: ['bad-parameter', 'bad-cursor'],
  handle: ({ query: { groupBy: _byRun, ...query }, request }, context, caller) => listLogs(query, context, caller, request),
});

export const workflowLogOperations: readonly Operation[] = [listRunLogs, listRunEvents];
