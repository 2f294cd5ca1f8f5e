/** Reads the dead letter queue: pages of entries with any filter, and single entries. */
import { LIMITS } from '../../../config/limits.js';
import type {
  DeadLetterBodies,
  DeadLetterFilter,
  DeadLetterRecord,
  Listing,
  Page,
  Position,
} from '../../../ports/stores/store.js';
import { bodiesOf } from '../../records/run-rows.js';
import { text } from '../connection/columns.js';
import { type Session, type SqlValue, statement, unpreparedStatement } from '../connection/connection.js';
import { DEAD_LETTER_COLUMNS, joinedDeadLetterOf, RUN_RECORD_COLUMNS, RUN_RECORD_TABLES } from '../runs/run-rows.js';
import {
  type Candidates,
  type Condition,
  type Conditions,
  candidatesSql,
  conditionsIn,
  creationConditions,
  EMPTY_LISTING,
  hasEmptyList,
  Parameters,
  pageOf,
} from './listing.js';

const LAST_CHARACTER = '\u{10FFFF}';

const DEAD_LETTER_CANDIDATES: Candidates = {
  alias: 'd',
  source: 'dead_letter d',
  columns: ['instance_id', 'dlq_id', 'run_key', 'place'],
};

const RECORD_COLUMNS = `${RUN_RECORD_COLUMNS}, ${DEAD_LETTER_COLUMNS}`;
const JOIN_PAYLOAD = 'JOIN payload p ON p.instance_id = r.instance_id AND p.run_key = r.run_key';

const FIND_RECORD = statement(`
  SELECT ${RECORD_COLUMNS} FROM ${RUN_RECORD_TABLES} ${JOIN_PAYLOAD} WHERE d.instance_id = $1 AND d.dlq_id = $2`);
const SELECT_BODIES = statement(`
  SELECT d.dlq_id, d.response_body, d.failed_by, p.body FROM dead_letter d
  JOIN payload p ON p.instance_id = d.instance_id AND p.run_key = d.run_key
  WHERE d.instance_id = $1 AND d.dlq_id = ANY($2::text[])`);
const SELECT_NEWEST_POSITION = statement(
  'SELECT place::text AS place FROM dead_letter WHERE instance_id = $1 ORDER BY dead_letter.place DESC LIMIT 1',
);

/** Returns a condition for any of the values in the column, whose index must continue with the position. */
function valuesCondition(
  column: string,
  values: readonly SqlValue[],
  parameters: Parameters,
  type: 'text' | 'integer' | 'boolean' = 'text',
): Condition {
  const list = parameters.addList(values, type);
  return {
    test: `d.${column} = ANY(${list})`,
    leadSources: [{ values: list, from: `dead_letter d WHERE d.instance_id = $1 AND d.${column} = v.value` }],
  };
}

function labelCondition(values: readonly string[], parameters: Parameters): Condition {
  const list = parameters.addList(values, 'text');
  return {
    test: `(SELECT true FROM dead_letter_label l WHERE l.instance_id = $1 AND l.dlq_id = d.dlq_id AND l.label = ANY(${list}) LIMIT 1)`,
    leadSources: [
      {
        values: list,
        from: `dead_letter_label l, LATERAL (
          SELECT * FROM dead_letter d WHERE d.instance_id = $1 AND d.dlq_id = l.dlq_id OFFSET 0
        ) d WHERE l.instance_id = $1 AND l.label = v.value`,
        countFrom: 'dead_letter_label l WHERE l.instance_id = $1 AND l.label = v.value',
        placeColumn: 'l.place',
        canRepeatRows: values.length > 1,
      },
    ],
  };
}

/** Returns a condition for a prefix. Ids are compared byte by byte, so ids with the same prefix are adjacent in the index. */
function prefixCondition(prefix: string, parameters: Parameters): Condition {
  const from = parameters.addValue(prefix, 'text');
  const to = parameters.addValue(prefix + LAST_CHARACTER.repeat(LIMITS.maxRunIdLength), 'text');
  return unorderedCondition(`d.workflow_run_id >= ${from} AND d.workflow_run_id <= ${to}`);
}

/** Returns a condition that leads if it finds few rows. OFFSET 0 prevents a scan of all rows in the order of their positions. */
function unorderedCondition(test: string): Condition {
  const countFrom = `dead_letter d WHERE d.instance_id = $1 AND ${test}`;
  const from = `(SELECT * FROM ${countFrom} OFFSET 0) d WHERE true`;
  return { test, leadSources: [{ values: 'ARRAY[true]', from, countFrom }], isUnordered: true };
}

const textCondition =
  (column: string) =>
  (values: readonly string[], parameters: Parameters): Condition =>
    valuesCondition(column, values, parameters);

const CONDITIONS: Conditions<Omit<DeadLetterFilter, 'fromDate' | 'toDate'>> = {
  dlqIds: textCondition('dlq_id'),
  workflowRunId: (id, parameters) => valuesCondition('workflow_run_id', [id], parameters),
  queues: textCondition('queue'),
  urlGroups: textCondition('url_group'),
  scheduleIds: textCondition('schedule_id'),
  flowControlKeys: textCondition('flow_key'),
  workflowUrls: textCondition('workflow_url'),
  failureFunctionStates: textCondition('failure_function_state'),
  callerIps: textCondition('caller_ip'),
  fingerprints: textCondition('fingerprint'),
  workflowCreatedAt: (at, parameters) => unorderedCondition(`d.run_created_at = ${parameters.addValue(at, 'bigint')}`),
  labels: labelCondition,
  responseStatuses: (statuses, parameters) => valuesCondition('response_status', statuses, parameters, 'integer'),
  kind: (kind, parameters) => valuesCondition('message', [kind === 'message'], parameters, 'boolean'),
  workflowRunIdPrefix: (prefix, parameters) => (prefix === '' ? null : prefixCondition(prefix, parameters)),
};

function conditionsOf({ instanceId, filter }: Page<DeadLetterFilter>, parameters: Parameters): readonly Condition[] {
  parameters.addValue(instanceId, 'text');
  return [
    ...conditionsIn(CONDITIONS, filter, parameters),
    ...creationConditions(DEAD_LETTER_CANDIDATES, filter.fromDate, filter.toDate, parameters),
  ];
}

/** Returns SQL that selects the entries of the page and one more; null if no entry can match. */
async function pageEntriesSql(session: Session, page: Page<DeadLetterFilter>, parameters: Parameters): Promise<string | null> {
  const sql = await candidatesSql(
    session,
    page,
    DEAD_LETTER_CANDIDATES,
    (candidateParameters) => conditionsOf(page, candidateParameters),
    parameters,
  );
  return hasEmptyList(page.filter) ? null : sql;
}

export async function listDeadLetterIds(session: Session, page: Page<DeadLetterFilter>): Promise<Listing<string>> {
  const parameters = new Parameters();
  const sql = await pageEntriesSql(session, page, parameters);
  if (sql === null) return EMPTY_LISTING;
  const order = page.order === 'newest-first' ? 'DESC' : 'ASC';
  const rows = await session.query(
    unpreparedStatement(`SELECT c.dlq_id, c.place::text AS shown_place FROM (${sql}) c ORDER BY c.place ${order}`),
    parameters.values,
  );
  return pageOf(
    rows,
    page.limit,
    (row) => text(row, 'shown_place'),
    (row) => text(row, 'dlq_id'),
  );
}

export async function listDeadLetters(session: Session, page: Page<DeadLetterFilter>): Promise<Listing<DeadLetterRecord>> {
  const parameters = new Parameters();
  const sql = await pageEntriesSql(session, page, parameters);
  if (sql === null) return EMPTY_LISTING;
  const rows = await session.query(
    unpreparedStatement(`
    SELECT ${RECORD_COLUMNS} FROM (${sql}) c, LATERAL (
      SELECT * FROM run WHERE run.instance_id = $1 AND run.run_key = c.run_key
    ) ${RUN_RECORD_TABLES.replace('run r', 'r')} ${JOIN_PAYLOAD}
    WHERE r.instance_id = $1 AND p.instance_id = $1 AND d.instance_id = $1
    ORDER BY c.place ${page.order === 'newest-first' ? 'DESC' : 'ASC'}`),
    parameters.values,
  );
  return pageOf(rows, page.limit, (row) => text(row, 'entry_place'), joinedDeadLetterOf);
}

export async function loadDeadLetterBodies(
  session: Session,
  instanceId: string,
  dlqIds: readonly string[],
): Promise<ReadonlyMap<string, DeadLetterBodies>> {
  const rows = await session.query(SELECT_BODIES, [instanceId, dlqIds]);
  return new Map(rows.map((row) => [text(row, 'dlq_id'), bodiesOf(row)]));
}

export async function findDeadLetter(session: Session, instanceId: string, dlqId: string): Promise<DeadLetterRecord | null> {
  const [row] = await session.query(FIND_RECORD, [instanceId, dlqId]);
  return row ? joinedDeadLetterOf(row) : null;
}

/** Returns the position of the newest entry; 0 if there is none. */
export async function deadLetterHorizon(session: Session, instanceId: string): Promise<Position> {
  const [row] = await session.query(SELECT_NEWEST_POSITION, [instanceId]);
  return row ? text(row, 'place') : '0';
}
