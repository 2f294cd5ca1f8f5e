/** Summaries of the lists of runs, dead letters and messages, with the filters of the lists. */
import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { DEAD_LETTER_FILTERS } from '../../../contract/filters/dead-letter-filters.js';
import { MESSAGE_FILTERS } from '../../../contract/filters/message-filters.js';
import { INDEXED_RUN_FILTERS, RUN_FILTERS, UNINDEXED_RUN_FILTERS } from '../../../contract/filters/run-filters.js';
import {
  DeadLetterField,
  ENDED_MESSAGE_STATES,
  ListSummary,
  MessageField,
  RunField,
} from '../../../contract/insights/list-summaries.js';
import { runKeyOfMessage } from '../../../engine/ids.js';
import { type DestinationFilter, hasDestination, matchesDestination } from '../../../engine/messages/destination-filter.js';
import type { InsightSubject } from '../../../ports/stores/insights/insight-store.js';
import type { DeadLetterRecord, Page, Position, RunFilter, RunRecord } from '../../../ports/stores/store.js';
import { type ApiContext, type Operation, operation, respond } from '../../operation.js';
import { queryFilters, storeFilterOf } from '../../parameters/filters.js';
import { stateOfRun } from '../../presenters/run.js';
import { emptySummary, type SummarizedList, summaryOf } from '../../read-models/list-summaries/list-summary.js';
import { type ExaminedPage, examinedPage } from '../../read-models/list-summaries/scan.js';
import { type ComparedFilter, hasDuration, matchingRuns, narrowFilter } from '../../read-models/run-scan.js';
import { deadLetterQuery, isEmptyRange } from '../filters.js';
import { containsWords, wordsOf } from '../runs/search-runs.js';

const TAG = 'Insights';
const RECORDS_AT_ONCE = 200;
const DESCRIPTION = `Returns how many entries of the list match the filters, over time. Everstep uses its counters if they count exactly the entries of the list. Otherwise it examines the newest entries, at most ${LIMITS.maxRunsSearched}; \`coveredFrom\` shows whether older entries were not counted. With \`field\`, the response also contains the most frequent values of the field.`;

const valueList = (value: string | undefined | null): readonly string[] => (value === undefined || value === null ? [] : [value]);

/** Returns whether the request has no filters except those with these names. */
const hasOnlyFilters = (filters: object, names: readonly string[]): boolean =>
  Object.entries(filters).every(([name, value]) => value === undefined || names.includes(name));

/** Returns the query of the first page of a list, newest entries first. */
const firstPageOf = <Filter>(instanceId: string, filter: Filter, limit: number): Page<Filter> => ({
  instanceId,
  filter,
  order: 'newest-first',
  after: null,
  horizon: null,
  limit,
});

/** Values of the fields that runs and messages have. */
const TRIGGER_VALUES = {
  label: ({ settings }) => settings.labels,
  flowControlKey: ({ settings }) => valueList(settings.flowControl?.key),
  callerIp: ({ callerIp }) => valueList(callerIp),
} as const satisfies Readonly<Record<string, (run: RunRecord) => readonly string[]>>;

const RUN_VALUES: Readonly<Record<RunField, (run: RunRecord) => readonly string[]>> = {
  ...TRIGGER_VALUES,
  state: ({ status }) => [stateOfRun(status)],
  workflowUrl: ({ workflowUrl }) => [workflowUrl],
};

interface RunList {
  readonly instanceId: string;
  readonly filter: RunFilter;
  readonly comparedFilter: ComparedFilter;
  readonly subject: InsightSubject | null;
  readonly searchWords: readonly string[];
  readonly destination: DestinationFilter;
  readonly valuesOf: ((run: RunRecord) => readonly string[]) | null;
}

/** Returns a list of runs or messages to summarize. */
function listOfRuns(
  { reads, service }: Pick<ApiContext, 'reads' | 'service'>,
  { instanceId, filter, comparedFilter, subject, searchWords, destination, valuesOf }: RunList,
): SummarizedList<RunRecord> {
  const filtersByWait = comparedFilter.waitingFor !== undefined;
  const now = service.now();
  const textPage = firstPageOf(instanceId, filter, LIMITS.runsSearchedAtOnce);
  const recordPage = firstPageOf(instanceId, filter, filtersByWait ? LIMITS.foundRunsPageMax : RECORDS_AT_ONCE);
  const deps = { reads: reads.runs, service: service.runs };
  const hasSearchedTexts = (run: Parameters<typeof containsWords>[0]): boolean =>
    containsWords(run, searchWords) && (!hasDestination(destination) || matchesDestination(run.workflowUrl, destination));
  const readTexts = async (after: Position | null) => {
    const page = await reads.runs.listSearchableRuns({ ...textPage, after });
    return examinedPage(
      page,
      page.items.filter((run) => hasSearchedTexts(run) && hasDuration(run, comparedFilter, now)),
    );
  };
  const readRecords = async (after: Position | null): Promise<ExaminedPage<RunRecord>> => {
    const page = await reads.runs.listRuns({ ...recordPage, after });
    const candidates = page.items.filter((run) => hasSearchedTexts({ ...run, labels: run.settings.labels }));
    return examinedPage(page, await matchingRuns(deps, instanceId, candidates, comparedFilter));
  };
  return {
    instanceId,
    subject,
    readOldest: (time) =>
      reads.runs.listSearchableRuns({ ...textPage, filter: { ...filter, ...time }, order: 'oldest-first', limit: 1 }),
    read: filtersByWait ? readRecords : readTexts,
    field: valuesOf && { read: readRecords, valuesOf },
  };
}

const summarizeRuns = operation({
  operationId: 'summarizeRuns',
  tag: TAG,
  summary: 'Summarize the workflow runs',
  description: DESCRIPTION,
  method: 'GET',
  path: '/v2/insights/runs',
  unknownQuery: 'refuse',
  query: Type.Object({
    q: Type.Optional(
      Type.String({ maxLength: LIMITS.maxRunQueryLength, description: 'Words to search for, as in `searchRuns`.' }),
    ),
    ...queryFilters(RUN_FILTERS),
    field: Type.Optional(RunField),
  }),
  responses: { 200: ListSummary },
  errors: ['bad-parameter'],
  async handle({ query: { q = '', field, ...filterQuery } }, { reads, service, slices }, { instanceId }) {
    const searchWords = wordsOf(q.trim());
    const { workflowUrl, fromDate, toDate } = filterQuery;
    const now = service.now();
    const time = { now, fromDate, toDate };
    const comparedFilter = storeFilterOf(UNINDEXED_RUN_FILTERS, filterQuery);
    const filter = isEmptyRange(filterQuery)
      ? null
      : narrowFilter(storeFilterOf(INDEXED_RUN_FILTERS, filterQuery), comparedFilter, now);
    if (filter === null) return respond(200, emptySummary(time, field !== undefined));
    const isCounted = searchWords.length === 0 && hasOnlyFilters(filterQuery, ['workflowUrl', 'fromDate', 'toDate']);
    const summarizedList = listOfRuns(
      { reads, service },
      {
        instanceId,
        filter,
        comparedFilter,
        subject: !isCounted ? null : workflowUrl === undefined ? 'runs' : { workflow: workflowUrl },
        searchWords,
        destination: {},
        valuesOf: field === undefined ? null : RUN_VALUES[field],
      },
    );
    return respond(200, await summaryOf({ ...reads, slices }, summarizedList, time));
  },
});

const STATUS_OF_MESSAGE = { DELIVERED: 'succeeded', FAILED: 'failed', CANCELED: 'canceled' } as const;
const STATE_OF_STATUS = { active: 'IN_PROGRESS', succeeded: 'DELIVERED', failed: 'FAILED', canceled: 'CANCELED' } as const;

const MESSAGE_VALUES: Readonly<Record<MessageField, (run: RunRecord) => readonly string[]>> = {
  ...TRIGGER_VALUES,
  state: ({ status }) => [STATE_OF_STATUS[status]],
  url: ({ workflowUrl }) => [workflowUrl],
  host: ({ workflowUrl }) => (URL.canParse(workflowUrl) ? [new URL(workflowUrl).host] : []),
  queueName: ({ settings }) => valueList(settings.message?.queue),
  topicName: ({ settings }) => valueList(settings.message?.urlGroup),
  scheduleId: ({ settings }) => valueList(settings.message?.scheduleId),
};

const summarizeMessages = operation({
  operationId: 'summarizeMessages',
  tag: TAG,
  summary: 'Summarize the messages',
  description: DESCRIPTION,
  method: 'GET',
  path: '/v2/insights/messages',
  unknownQuery: 'refuse',
  query: Type.Object({
    ...queryFilters(MESSAGE_FILTERS),
    state: Type.Optional(Type.Enum([...ENDED_MESSAGE_STATES], { type: 'string', description: 'How the message ended.' })),
    field: Type.Optional(MessageField),
  }),
  responses: { 200: ListSummary },
  errors: ['bad-parameter'],
  async handle({ query: { state, field, messageIds, ...filterQuery } }, { reads, service, slices }, { instanceId }) {
    const { hosts, paths, ...filter } = storeFilterOf(MESSAGE_FILTERS, filterQuery);
    const runKeys = messageIds?.map(runKeyOfMessage).filter((key) => key !== null);
    const { fromDate, toDate } = filterQuery;
    const summarizedList = listOfRuns(
      { reads, service },
      {
        instanceId,
        comparedFilter: {},
        filter: {
          ...filter,
          kind: 'message',
          ...(runKeys && { runKeys }),
          ...(state && { statuses: [STATUS_OF_MESSAGE[state]] }),
        },
        subject: hasOnlyFilters({ ...filterQuery, state, messageIds }, ['fromDate', 'toDate']) ? 'messages' : null,
        searchWords: [],
        destination: { ...(hosts && { hosts }), ...(paths && { paths }) },
        valuesOf: field === undefined ? null : MESSAGE_VALUES[field],
      },
    );
    return respond(200, await summaryOf({ ...reads, slices }, summarizedList, { now: service.now(), fromDate, toDate }));
  },
});

const DEAD_LETTER_VALUES: Readonly<Record<DeadLetterField, (entry: DeadLetterRecord) => readonly string[]>> = {
  workflowUrl: ({ run }) => [run.workflowUrl],
  label: ({ run }) => TRIGGER_VALUES.label(run),
  flowControlKey: ({ run }) => TRIGGER_VALUES.flowControlKey(run),
  callerIp: ({ run }) => TRIGGER_VALUES.callerIp(run),
  failureFunctionState: ({ failureFunctionState }) => valueList(failureFunctionState),
  fingerprint: ({ fingerprint }) => valueList(fingerprint),
};

const summarizeDeadLetters = operation({
  operationId: 'summarizeDeadLetters',
  tag: TAG,
  summary: 'Summarize the dead letters',
  description: DESCRIPTION,
  method: 'GET',
  path: '/v2/insights/dead-letters',
  unknownQuery: 'refuse',
  query: Type.Object({ ...deadLetterQuery, field: Type.Optional(DeadLetterField) }),
  responses: { 200: ListSummary },
  errors: ['bad-parameter'],
  async handle({ query: { field, ...filterQuery } }, { reads, service, slices }, { instanceId }) {
    const { fromDate, toDate } = filterQuery;
    const filter = { kind: 'workflow', ...storeFilterOf(DEAD_LETTER_FILTERS, filterQuery) } as const;
    const page = firstPageOf(instanceId, filter, RECORDS_AT_ONCE);
    const read = async (after: Position | null) => examinedPage(await reads.deadLetters.listDeadLetters({ ...page, after }));
    const summarizedList: SummarizedList<DeadLetterRecord> = {
      instanceId,
      // No counters apply: they count failed runs, but a dead letter leaves the queue when it is resumed.
      subject: null,
      readOldest: (time) =>
        reads.deadLetters.listDeadLetters({ ...page, filter: { ...filter, ...time }, order: 'oldest-first', limit: 1 }),
      read,
      field: field === undefined ? null : { read, valuesOf: DEAD_LETTER_VALUES[field] },
    };
    return respond(200, await summaryOf({ ...reads, slices }, summarizedList, { now: service.now(), fromDate, toDate }));
  },
});

export const listSummaryOperations: readonly Operation[] = [summarizeRuns, summarizeDeadLetters, summarizeMessages];
