/** Reads the history of a run in parts, so that a long journal is never completely in memory. */
import { LIMITS } from '../../../config/limits.js';
import type { FailedAttempt } from '../../../engine/runs/run.js';
import type {
  HistoryQuery,
  HistoryStore,
  JournalSize,
  ListedStep,
  ListedTask,
  Part,
  RunHistory,
} from '../../../ports/stores/store.js';
import { columnList, flag, integer, type Row, text, textOrNull } from '../../records/columns.js';
import { ATTEMPT_COLUMNS, failedAttemptOf, listedStepOf, STEP_COLUMNS } from '../../records/journal-rows.js';
import { eventWithoutContentOf, invokedRunOf, runRecordOf } from '../../records/run-rows.js';
import { SPECIAL_TASK_COLUMNS, TASK_COLUMNS, taskOf } from '../../records/task-rows.js';
import type { RunInInstance } from '../commit/known-run.js';
import { type Database, type Session, type Statement, statement } from '../connection/connection.js';
import { runCondition, runValues } from './run-conditions.js';
import { RUN_IDENTITY_TABLES, RUN_RECORD_COLUMNS, RUN_RECORD_TABLES, STATUS } from './run-rows.js';

const MAX_INTEGER = 2_147_483_647;

interface TablePart {
  readonly table: string;
  /** Column that orders the rows. */
  readonly orderColumn: string;
  readonly where: string;
  readonly columns: string;
  readonly rowBytes: string;
}

/**
 * Returns a statement that reads a part of a table. `$3` and `$4` limit the rows and bytes of the part; `x` is a row. The database
 * returns the length of a long text without reading the text. Each row contains the position of the next one.
 */
const partStatement = ({ table, orderColumn, where, columns, rowBytes }: TablePart): Statement =>
  statement(`
  SELECT p.* FROM (
    SELECT ${columns}, (lead(x.${orderColumn}) OVER by_place)::text AS next_place, row_number() OVER by_place AS part_row,
      coalesce(sum(${rowBytes} + ${LIMITS.assumedRowBytes}) OVER (by_place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::bigint AS part_bytes
    FROM (
      SELECT * FROM ${table} x WHERE ${runCondition('x')} AND ${where} ORDER BY x.${orderColumn} LIMIT $3::integer + 1
    ) x WINDOW by_place AS (ORDER BY x.${orderColumn})
  ) p WHERE p.part_row <= $3::integer AND p.part_bytes < $4::bigint ORDER BY p.part_row`);

/** Columns are listed instead of `*`: prepared statements of a running node stay valid when a newer version adds a column. */
const STEP_COLUMNS_SQL = columnList([...STEP_COLUMNS, 'edited'], 'x');
const SHORT_OUT = 'CASE WHEN octet_length(x.out) <= $5::integer THEN x.out END';
const stepsStatement = (sentColumn: string, sentBytes: string) =>
  partStatement({
    table: 'step',
    orderColumn: 'idx',
    where: 'x.idx >= $6::integer AND x.idx < $7::integer',
    columns: `${STEP_COLUMNS_SQL}${sentColumn}, octet_length(x.out) AS out_bytes, ${SHORT_OUT} AS out`,
    rowBytes: `octet_length(x.name) + ${sentBytes} + coalesce(octet_length(${SHORT_OUT}), 0)`,
  });
const SELECT_STEPS = stepsStatement('', '0');
const SELECT_STEPS_WITH_SENT = stepsStatement(', x.sent', 'coalesce(octet_length(x.sent), 0)');
const SELECT_STEP = statement(`
  SELECT ${STEP_COLUMNS_SQL}, octet_length(x.out) AS out_bytes, CASE WHEN octet_length(x.out) <= $4::integer THEN x.out END AS out
  FROM step x WHERE ${runCondition('x')} AND x.step_id = $3`);
const SELECT_LENGTH = statement(`SELECT coalesce(max(x.idx) + 1, 0) AS length FROM step x WHERE ${runCondition('x')}`);
const SELECT_SIZE = statement(`
  SELECT count(*) AS steps, coalesce(sum(octet_length(x.name) + coalesce(octet_length(x.out), 0)), 0)::bigint AS bytes,
    coalesce(max(octet_length(x.out)), 0) AS longest
  FROM step x WHERE ${runCondition('x')}`);

const IS_STRIPPED = `(x.kind IN ('call', 'invoke') AND octet_length(x.detail) > ${LIMITS.maxInlineBytes})`;
const TASK_COLUMNS_SQL = `${columnList([...TASK_COLUMNS, ...SPECIAL_TASK_COLUMNS], 'x')},
  octet_length(x.detail) AS detail_bytes, ${IS_STRIPPED} AS stripped,
  CASE WHEN ${IS_STRIPPED} THEN (x.detail::jsonb #- '{body}' #- '{invoke,body}')::text ELSE x.detail END AS detail`;
const SELECT_TASKS = partStatement({
  table: 'task',
  orderColumn: 'slot',
  where: 'x.slot >= $5::integer',
  columns: TASK_COLUMNS_SQL,
  rowBytes: 'coalesce(octet_length(x.name), 0) + coalesce(octet_length(x.detail), 0)',
});
const SELECT_FIRST_TASKS = statement(`
  SELECT k.run_key AS of_run, t.* FROM unnest($2::text[]) AS k(run_key) CROSS JOIN LATERAL (
    SELECT ${TASK_COLUMNS_SQL} FROM task x WHERE x.instance_id = $1 AND x.run_key = k.run_key ORDER BY x.slot LIMIT $3::integer
  ) t`);

const attemptsStatement = (exchangeColumn: string, exchangeBytes: string) =>
  partStatement({
    table: 'attempt',
    orderColumn: 'place',
    where: 'x.place >= $5::bigint AND ($6::integer IS NULL OR x.slot = $6::integer)',
    columns: `${columnList(ATTEMPT_COLUMNS, 'x')}${exchangeColumn}`,
    rowBytes: `octet_length(x.message) + coalesce(octet_length(x.thrown), 0) + ${exchangeBytes}`,
  });
const SELECT_ATTEMPTS = attemptsStatement('', '0');
const SELECT_ATTEMPTS_WITH_EXCHANGES = attemptsStatement(', x.exchange', 'coalesce(octet_length(x.exchange), 0)');

const SELECT_RECORD = statement(`SELECT ${RUN_RECORD_COLUMNS} FROM ${RUN_RECORD_TABLES} WHERE ${runCondition('r')}`);
const SELECT_EVENTS = statement(`
  SELECT k.event_key, k.event_id, k.received_at FROM kept_event k WHERE ${runCondition('k')} ORDER BY k.place`);
const SELECT_INVOKED_RUNS = statement(`
  SELECT r.run_key, r.workflow_run_id, r.created_at, r.origin, ${STATUS} AS status
  FROM ${RUN_IDENTITY_TABLES}
  WHERE r.instance_id = $1 AND r.invoked_by_run_key = $2
  LIMIT ${LIMITS.maxListedInvocations}`);

function listedTaskOf(row: Row): ListedTask {
  const task = taskOf(row);
  return flag(row, 'stripped') ? { ...task, bodyLeftOut: integer(row, 'detail_bytes') } : task;
}

function partOf<Item>(rows: readonly Row[], itemOf: (row: Row) => Item): Part<Item> {
  const lastRow = rows.at(-1);
  return { items: rows.map(itemOf), next: lastRow ? textOrNull(lastRow, 'next_place') : null };
}

export const EMPTY_JOURNAL: JournalSize = { steps: 0, bytes: 0, longestOutBytes: 0 };
export const EMPTY_PART: Part<never> = { items: [], next: null };

type RunHistoryQuery = Omit<HistoryQuery, 'runKey'> & { readonly run: RunInInstance };
type StepsQuery = RunHistoryQuery & { readonly from: string; readonly below?: number };
type TasksQuery = Pick<RunHistoryQuery, 'run' | 'bounds'> & { readonly from: string | null };
type AttemptsQuery = Omit<RunHistoryQuery, 'maxOutBytes'> & { readonly from: string | null; readonly slot?: number };

export async function listSteps(session: Session, query: StepsQuery): Promise<Part<ListedStep>> {
  const { run, bounds, maxOutBytes, exchanges, from, below = MAX_INTEGER } = query;
  const values = [...runValues(run), bounds.maxRows, bounds.maxBytes, maxOutBytes, Number(from), below];
  return partOf(await session.query(exchanges ? SELECT_STEPS_WITH_SENT : SELECT_STEPS, values), listedStepOf);
}

export async function listTasks(session: Session, { run, bounds, from }: TasksQuery): Promise<Part<ListedTask>> {
  const values = [...runValues(run), bounds.maxRows, bounds.maxBytes, from === null ? -MAX_INTEGER : Number(from)];
  return partOf(await session.query(SELECT_TASKS, values), listedTaskOf);
}

export async function readFirstTasks(
  session: Session,
  { instanceId, runKeys, limit }: Parameters<HistoryStore['firstTasks']>[0],
): Promise<ReadonlyMap<string, readonly ListedTask[]>> {
  const tasks = new Map<string, ListedTask[]>(runKeys.map((runKey) => [runKey, []]));
  for (const row of await session.query(SELECT_FIRST_TASKS, [instanceId, runKeys, limit]))
    tasks.get(text(row, 'of_run'))?.push(listedTaskOf(row));
  for (const tasksOfRun of tasks.values()) tasksOfRun.sort((a, b) => a.slot - b.slot);
  return tasks;
}

export async function listAttempts(session: Session, query: AttemptsQuery): Promise<Part<FailedAttempt>> {
  const { run, bounds, exchanges, from, slot } = query;
  const values = [...runValues(run), bounds.maxRows, bounds.maxBytes, from ?? '0', slot ?? null];
  return partOf(await session.query(exchanges ? SELECT_ATTEMPTS_WITH_EXCHANGES : SELECT_ATTEMPTS, values), failedAttemptOf);
}

export async function findStep(
  session: Session,
  run: RunInInstance,
  stepId: number,
  maxOutBytes: number,
): Promise<ListedStep | null> {
  const [row] = await session.query(SELECT_STEP, [...runValues(run), stepId, maxOutBytes]);
  return row ? listedStepOf(row) : null;
}

export async function readJournalSize(session: Session, run: RunInInstance): Promise<JournalSize> {
  const [row] = await session.query(SELECT_SIZE, runValues(run));
  if (!row) return EMPTY_JOURNAL;
  return { steps: integer(row, 'steps'), bytes: integer(row, 'bytes'), longestOutBytes: integer(row, 'longest') };
}

/** Reads the run and the first part of its history in one snapshot. */
export function loadHistory(database: Database, query: RunHistoryQuery): Promise<RunHistory | null> {
  const values = runValues(query.run);
  return database.snapshot(async (session) => {
    const [recordRows, lengthRows, steps, tasks, attempts, invokedRows, eventRows] = await Promise.all([
      session.query(SELECT_RECORD, values),
      session.query(SELECT_LENGTH, values),
      listSteps(session, { ...query, from: '0' }),
      listTasks(session, { ...query, from: null }),
      listAttempts(session, { ...query, from: null }),
      session.query(SELECT_INVOKED_RUNS, values),
      session.query(SELECT_EVENTS, values),
    ]);
    const [[recordRow], [lengthRow]] = [recordRows, lengthRows];
    if (!recordRow || !lengthRow) return null;
    return {
      run: runRecordOf(recordRow),
      journalLength: integer(lengthRow, 'length'),
      steps: steps.items,
      tasks: tasks.items,
      attempts: attempts.items,
      next: { steps: steps.next, tasks: tasks.next, attempts: attempts.next },
      invoked: invokedRows.map(invokedRunOf).sort((a, b) => a.stepId - b.stepId),
      keptEvents: eventRows.map(eventWithoutContentOf),
    };
  });
}
