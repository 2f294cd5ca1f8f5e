/** Reads the run log: pages of runs with any filter. */
import type { ListedRun, Listing, Page, Position, RunFilter, RunRecord, SearchableRun } from '../../../ports/stores/store.js';
import { runRecordOf } from '../../records/run-rows.js';
import { integer, integerOrNull, json, type Row, text, textOrNull } from '../connection/columns.js';
import { type Session, statement, unpreparedStatement } from '../connection/connection.js';
import { RUN_IDENTITY_TABLES, RUN_RECORD_COLUMNS, RUN_RECORD_TABLES } from '../runs/run-rows.js';
import {
  type Candidates,
  type Condition,
  type Conditions,
  candidatesSql,
  conditionsIn,
  creationConditions,
  EMPTY_LISTING,
  hasEmptyList,
  type LeadSource,
  Parameters,
  pageOf,
} from './listing.js';

/** Maximum number of URLs with the same prefix that are looked up individually. */
const MAX_URLS = 100;

/** Workflow runs and plain messages are never listed together. */
type RunKind = NonNullable<RunFilter['kind']>;

const runCandidates = (kind: RunKind): Candidates => ({
  alias: 'r',
  source: 'run r',
  columns: ['instance_id', 'run_key', 'place'],
  baseCondition: kindCondition('r', kind),
});
/** Returns a condition on a table whose indexes start with `message`. */
const kindCondition = (table: string, kind: RunKind): string => `${table}.message = ${kind === 'message'}`;

/** Returns a condition for rows of the run `r`. It compares with $1, because a planner cannot derive the instance in a subquery. */
const sameRunCondition = (table: string) => `${table}.instance_id = $1 AND ${table}.run_key = r.run_key`;
/** Returns SQL for the run `r` of a row in another table. OFFSET 0 makes the database look up the run for each row. */
const lateralRun = (table: string) => `LATERAL (
  SELECT * FROM run r WHERE r.instance_id = $1 AND r.run_key = ${table}.run_key OFFSET 0) r`;
/** SQL for the state of a run, as a subquery for each row. The database must not turn it into a join, which would read all rows. */
const STATE = `coalesce((SELECT e.state FROM ended_run e WHERE ${sameRunCondition('e')}), 'active')`;

const SELECT_URLS_WITH_PREFIX = statement(`
  WITH RECURSIVE url AS (
    (SELECT workflow_url AS value FROM run
      WHERE instance_id = $1 AND message = $4 AND workflow_url >= $2 ORDER BY workflow_url LIMIT 1)
    UNION ALL
    SELECT (SELECT workflow_url FROM run
      WHERE instance_id = $1 AND message = $4 AND workflow_url > url.value ORDER BY workflow_url LIMIT 1)
    FROM url WHERE starts_with(url.value, $2)
  )
  SELECT value FROM url WHERE starts_with(value, $2) LIMIT $3`);
const newestPositionSql = (kind: RunKind) =>
  `(SELECT place FROM run WHERE instance_id = $1 AND ${kindCondition('run', kind)} ORDER BY place DESC LIMIT 1)`;
const SELECT_NEWEST_POSITION = statement(
  `SELECT greatest(${newestPositionSql('workflow')}, ${newestPositionSql('message')})::text AS place`,
);
const findRecordStatement = (condition: string) =>
  statement(`
  SELECT ${RUN_RECORD_COLUMNS} FROM ${RUN_RECORD_TABLES}
  WHERE r.instance_id = $1 AND r.workflow_run_id = $2 AND NOT r.message ${condition} ORDER BY r.place DESC LIMIT 1`);
const FIND_LATEST = findRecordStatement('');
const FIND_CREATED_AT = findRecordStatement('AND r.created_at = $3');

/** Returns a condition for any of the values in the column, whose index must continue with the position. */
function valuesCondition(kind: RunKind, column: string, values: readonly string[], parameters: Parameters): Condition {
  const list = parameters.addList(values, 'text');
  return {
    test: `r.${column} = ANY(${list})`,
    leadSources: [
      { values: list, from: `run r WHERE r.instance_id = $1 AND ${kindCondition('r', kind)} AND r.${column} = v.value` },
    ],
  };
}

function labelCondition(kind: RunKind, values: readonly string[], parameters: Parameters): Condition {
  const list = parameters.addList(values, 'text');
  const hasLabel = `l.instance_id = $1 AND ${kindCondition('l', kind)} AND l.label = v.value`;
  return {
    test: `(SELECT true FROM run_label l WHERE ${sameRunCondition('l')} AND l.label = ANY(${list}) LIMIT 1)`,
    leadSources: [
      {
        values: list,
        from: `run_label l, ${lateralRun('l')} WHERE ${hasLabel}`,
        countFrom: `run_label l WHERE ${hasLabel}`,
        placeColumn: 'l.place',
        canRepeatRows: values.length > 1,
      },
    ],
  };
}

/** Returns a condition on the status. Active runs and ended runs are in separate tables. A failed run has one of two states. */
function statusCondition(
  kind: RunKind,
  values: readonly string[],
  { fromDate, toDate }: RunFilter,
  parameters: Parameters,
): Condition {
  const states = values.flatMap((status) => (status === 'failed' ? ['failed', 'deadLetter'] : [status]));
  const list = parameters.addList(states, 'text');
  const bounds: string[] = [];
  if (fromDate !== undefined) bounds.push(`created_at >= ${parameters.addValue(fromDate, 'bigint')}`);
  if (toDate !== undefined) bounds.push(`created_at <= ${parameters.addValue(toDate, 'bigint')}`);
  const createdConditions = (alias: string) => bounds.map((bound) => ` AND ${alias}.${bound}`).join('');
  const leadSource = (table: string, condition: string): LeadSource => ({
    values: list,
    from: `${table} s, ${lateralRun('s')} WHERE s.instance_id = $1 AND ${condition}${createdConditions('s')}`,
    countFrom: `${table} s WHERE s.instance_id = $1 AND ${condition}`,
    placeColumn: 's.place',
  });
  // Each kind has a separate index.
  const leadSources = [leadSource('ended_run', `${kind === 'message' ? 's.message' : 'NOT s.message'} AND s.state = v.value`)];
  if (values.includes('active')) leadSources.push(leadSource('active_run', `${kindCondition('s', kind)} AND v.value = 'active'`));
  return { test: `${STATE} = ANY(${list})${createdConditions('r')}`, leadSources };
}

/** Returns the conditions of the fields, except for those that the listing resolves together with others. */
function conditionsOfFields(
  kind: RunKind,
  filter: RunFilter,
): Conditions<Omit<RunFilter, 'kind' | 'workflowUrlPrefix' | 'createdAt' | 'fromDate' | 'toDate'>> {
  const textCondition =
    (column: string) =>
    (values: readonly string[], parameters: Parameters): Condition =>
      valuesCondition(kind, column, values, parameters);
  return {
    runKeys: textCondition('run_key'),
    workflowRunId: (id, parameters) => textCondition('workflow_run_id')([id], parameters),
    queues: textCondition('queue'),
    urlGroups: textCondition('url_group'),
    scheduleIds: textCondition('schedule_id'),
    flowControlKeys: textCondition('flow_key'),
    workflowUrls: textCondition('workflow_url'),
    callerIps: textCondition('caller_ip'),
    labels: (values, parameters) => labelCondition(kind, values, parameters),
    statuses: (values, parameters) => statusCondition(kind, values, filter, parameters),
  };
}

/** Returns all conditions. `urls` are the URLs with the prefix of the filter; null if there are too many to look them up. */
function conditionsOf(
  { instanceId, filter }: Page<RunFilter>,
  urls: readonly string[] | null,
  parameters: Parameters,
): readonly Condition[] {
  parameters.addValue(instanceId, 'text');
  const kind = kindOf(filter);
  const { workflowUrlPrefix: prefix, createdAt, fromDate, toDate } = filter;
  const conditions = [...conditionsIn(conditionsOfFields(kind, filter), filter, parameters)];
  if (prefix && urls) conditions.push(valuesCondition(kind, 'workflow_url', urls, parameters));
  if (prefix && !urls) conditions.push({ test: `starts_with(r.workflow_url, ${parameters.addValue(prefix, 'text')})` });
  conditions.push(...creationConditions(runCandidates(kind), createdAt, createdAt, parameters));
  conditions.push(...creationConditions(runCandidates(kind), fromDate, toDate, parameters));
  return conditions;
}

const kindOf = ({ kind = 'workflow' }: RunFilter): RunKind => kind;

/** Returns whether no run can match the filter. */
function matchesNothing(filter: RunFilter): boolean {
  const { queues, urlGroups, scheduleIds } = filter;
  const hasMessageFilter = [queues, urlGroups, scheduleIds].some((values) => values !== undefined);
  return (filter.kind !== 'message' && hasMessageFilter) || hasEmptyList(filter);
}

async function readUrlsWithPrefix(
  session: Session,
  { instanceId, filter }: Page<RunFilter>,
  prefix: string,
): Promise<readonly string[] | null> {
  const rows = await session.query(SELECT_URLS_WITH_PREFIX, [instanceId, prefix, MAX_URLS + 1, kindOf(filter) === 'message']);
  return rows.length > MAX_URLS ? null : rows.map((row) => text(row, 'value'));
}

const listedRunOf = (row: Row): ListedRun => ({ ...runRecordOf(row), position: text(row, 'place') });

export function listRuns(session: Session, page: Page<RunFilter>): Promise<Listing<ListedRun>> {
  return listPage(session, page, RUN_RECORD_COLUMNS, RUN_RECORD_TABLES, listedRunOf);
}

const SEARCHABLE_COLUMNS = `r.run_key, r.workflow_run_id, r.created_at, r.workflow_url,
  (r.settings::json -> 'labels')::text AS labels, e.completed_at, e.error, r.place::text AS place`;

const searchableRunOf = (row: Row): SearchableRun => ({
  runKey: text(row, 'run_key'),
  workflowRunId: text(row, 'workflow_run_id'),
  createdAt: integer(row, 'created_at'),
  completedAt: integerOrNull(row, 'completed_at'),
  workflowUrl: text(row, 'workflow_url'),
  labels: json<readonly string[]>(row, 'labels'),
  error: textOrNull(row, 'error'),
  position: text(row, 'place'),
});

export function listSearchableRuns(session: Session, page: Page<RunFilter>): Promise<Listing<SearchableRun>> {
  return listPage(session, page, SEARCHABLE_COLUMNS, RUN_IDENTITY_TABLES, searchableRunOf);
}

/** Reads a page of runs. `tables` starts with the table of runs. */
async function listPage<Item>(
  session: Session,
  page: Page<RunFilter>,
  columns: string,
  tables: string,
  itemOf: (row: Row) => Item,
): Promise<Listing<Item>> {
  const { filter } = page;
  const urls = filter.workflowUrlPrefix ? await readUrlsWithPrefix(session, page, filter.workflowUrlPrefix) : null;
  const parameters = new Parameters();
  const conditions = (candidateParameters: Parameters) => conditionsOf(page, urls, candidateParameters);
  const candidates = await candidatesSql(session, page, runCandidates(kindOf(filter)), conditions, parameters);
  if (matchesNothing(filter)) return EMPTY_LISTING;
  const rows = await session.query(
    unpreparedStatement(`
    SELECT ${columns} FROM (${candidates}) c, LATERAL (
      SELECT * FROM run WHERE run.instance_id = $1 AND run.run_key = c.run_key
    ) ${tables.replace('run r', 'r')}
    ORDER BY r.place ${page.order === 'newest-first' ? 'DESC' : 'ASC'}`),
    parameters.values,
  );
  return pageOf(rows, page.limit, (row) => text(row, 'place'), itemOf);
}

/** Returns the run with this id that was created at `createdAt`, or the latest one. */
export async function findRun(
  session: Session,
  instanceId: string,
  workflowRunId: string,
  createdAt: number | undefined,
): Promise<RunRecord | null> {
  const [row] =
    createdAt === undefined
      ? await session.query(FIND_LATEST, [instanceId, workflowRunId])
      : await session.query(FIND_CREATED_AT, [instanceId, workflowRunId, createdAt]);
  return row ? runRecordOf(row) : null;
}

/** Returns the position of the newest run; 0 if there is none. */
export async function runHorizon(session: Session, instanceId: string): Promise<Position> {
  const [row] = await session.query(SELECT_NEWEST_POSITION, [instanceId]);
  return (row && textOrNull(row, 'place')) ?? '0';
}
