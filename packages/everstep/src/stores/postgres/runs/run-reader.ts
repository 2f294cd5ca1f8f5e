/** Reads single runs and due tasks. */
import { nextPosition, positionsIn } from '../../../engine/runs/positions.js';
import { ADVANCE_SLOT, type RecordedStep, type Run, type RunPayload } from '../../../engine/runs/run.js';
import type { DueTask, PayloadHead, RunRecord, TaskReference } from '../../../ports/stores/store.js';
import { columnList, flag, integer, type Row, text, textOrNull } from '../../records/columns.js';
import { recordedStepOf, STEP_COLUMNS } from '../../records/journal-rows.js';
import { headersOf, keptEventOf, payloadOf, runIdentityOf, runRecordOf } from '../../records/run-rows.js';
import { taskOf } from '../../records/task-rows.js';
import type { RunInInstance } from '../commit/known-run.js';
import { type Database, type Session, statement } from '../connection/connection.js';
import { columnArrays, columnNames, unnest } from '../connection/row-sets.js';
import { type DueTasksQuery, dueTaskOf, dueTaskParameters, dueTasksStatement } from './due-tasks.js';
import { runCondition, runValues } from './run-conditions.js';
import { RUN_IDENTITY_COLUMNS, RUN_IDENTITY_TABLES, RUN_RECORD_COLUMNS, RUN_RECORD_TABLES } from './run-rows.js';
import { RUN_KEY } from './tables.js';

const SELECT_IDENTITY = statement(`
  SELECT ${RUN_IDENTITY_COLUMNS}, f.run_key IS NOT NULL AS failure_function, coalesce(a.version, 0) AS version
  FROM ${RUN_IDENTITY_TABLES}
  LEFT JOIN active_run a ON a.instance_id = r.instance_id AND a.run_key = r.run_key
  LEFT JOIN failure_function f ON f.instance_id = r.instance_id AND f.run_key = r.run_key
  WHERE ${runCondition('r')}`);
const SELECT_JOURNAL_SIZE = statement(`
  SELECT count(*) AS entries, coalesce(max(step_id), 0) AS last_step_id, coalesce(sum(octet_length(out)), 0)::bigint AS result_bytes
  FROM step s WHERE ${runCondition('s')}`);
const SELECT_STEP_IDS = statement(`SELECT s.step_id FROM step s WHERE ${runCondition('s')}`);
/** Columns are listed instead of `*`: prepared statements of a running node stay valid when a newer version adds a column. */
const SELECT_STEPS = statement(`
  SELECT ${columnList([...STEP_COLUMNS, 'out', 'edited'], 's')}
  FROM step s WHERE ${runCondition('s')} AND s.idx >= $3 ORDER BY s.idx`);
const SELECT_TASKS = statement(`SELECT t.* FROM task t WHERE ${runCondition('t')} ORDER BY t.slot`);
const SELECT_RETRIES = statement(`
  SELECT a.retried FROM attempt a
  WHERE ${runCondition('a')} AND a.slot >= 0 AND a.retry_at IS NULL AND a.at = $3 ORDER BY a.place DESC LIMIT 1`);
const SELECT_PAYLOAD = statement(`SELECT p.* FROM payload p WHERE ${runCondition('p')}`);
const SELECT_PAYLOAD_HEAD = statement(`
  SELECT p.content_type, p.forward_headers, octet_length(p.body) AS body_bytes FROM payload p WHERE ${runCondition('p')}`);
const SELECT_RESULT = statement(`SELECT e.result FROM ended_run e WHERE ${runCondition('e')}`);
const SELECT_EVENTS = statement(`
  SELECT k.event_key, k.event_id, k.received_at, k.content FROM kept_event k WHERE ${runCondition('k')} ORDER BY k.place`);
const FIND_ACTIVE = statement(`
  SELECT a.run_key FROM ${unnest(RUN_KEY)} AS u(${columnNames(RUN_KEY)})
  JOIN active_run a ON a.instance_id = u.instance_id AND a.run_key = u.run_key`);
const INVOKERS = `
  SELECT t.run_key, t.slot FROM task t JOIN active_run a ON a.instance_id = t.instance_id AND a.run_key = t.run_key`;
const SELECT_INVOKER = statement(`${INVOKERS} WHERE t.instance_id = $1 AND t.child_run_key = $2`);
const SELECT_INVOKER_ANYWHERE = statement(`${INVOKERS} WHERE t.child_run_key = $1`);

const SELECT_DUE = dueTasksStatement('true');
const SELECT_DUE_OF_INSTANCE = dueTasksStatement('instance_id = $6');
const SELECT_NEXT_DUE = statement('SELECT due_at FROM task WHERE due_at > $1 ORDER BY due_at LIMIT 1');

async function firstRow(rows: Promise<readonly Row[]>): Promise<Row | null> {
  return (await rows)[0] ?? null;
}

/** Returns how often the delivery that failed the run at `at` had been retried; 0 if no delivery failed it. */
export async function countRetriesBeforeFailure(session: Session, run: RunInInstance, at: number): Promise<number> {
  const row = await firstRow(session.query(SELECT_RETRIES, [...runValues(run), at]));
  return row ? integer(row, 'retried') : 0;
}

/**
 * Reads a run in one snapshot. Usually its next position is known without the positions in its journal; otherwise, the run is read
 * again together with them.
 */
export async function loadRun(database: Database, run: RunInInstance, withPositions = false): Promise<Run | null> {
  const values = runValues(run);
  const loadedRun = await database.snapshot(async (session): Promise<Run | null | 'needs-positions'> => {
    const [identities, sizes, taskRows, events, stepIdRows] = await Promise.all([
      session.query(SELECT_IDENTITY, values),
      session.query(SELECT_JOURNAL_SIZE, values),
      session.query(SELECT_TASKS, values),
      session.query(SELECT_EVENTS, values),
      withPositions ? session.query(SELECT_STEP_IDS, values) : [],
    ]);
    const [identity, size] = [identities[0], sizes[0]];
    if (!identity || !size) return null;
    const openTasks = taskRows.map(taskOf);
    const tasks = new Map(openTasks.map((task) => [task.slot, task]));
    const journalLength = integer(size, 'entries');
    const usedPositions = {
      entries: journalLength,
      lastStepId: integer(size, 'last_step_id'),
      lastSlot: openTasks.at(-1)?.slot ?? 0,
    };
    const nextStepId = nextPosition(usedPositions);
    if (nextStepId === null && !withPositions) return 'needs-positions';
    return {
      ...runIdentityOf(identity),
      ...(nextStepId === null ? positionsIn(stepIdRows.map((step) => integer(step, 'step_id'))) : { nextStepId }),
      journalLength,
      journalBytes: integer(size, 'result_bytes'),
      replayedLength: tasks.has(ADVANCE_SLOT) ? -1 : journalLength,
      version: integer(identity, 'version'),
      tasks,
      keptEvents: events.map(keptEventOf),
      hasFailureFunction: flag(identity, 'failure_function'),
    };
  });
  return loadedRun === 'needs-positions' ? loadRun(database, run, true) : loadedRun;
}

export async function loadPayload(session: Session, run: RunInInstance): Promise<RunPayload | null> {
  const row = await firstRow(session.query(SELECT_PAYLOAD, runValues(run)));
  return row && payloadOf(row);
}

export async function loadPayloadHead(session: Session, run: RunInInstance): Promise<PayloadHead | null> {
  const row = await firstRow(session.query(SELECT_PAYLOAD_HEAD, runValues(run)));
  return row && { ...headersOf(row), bodyBytes: integer(row, 'body_bytes') };
}

/** Returns the result of the run as JSON text. */
export async function loadResult(session: Session, run: RunInInstance): Promise<string | null> {
  const row = await firstRow(session.query(SELECT_RESULT, runValues(run)));
  return row && textOrNull(row, 'result');
}

export async function loadJournal(session: Session, run: RunInInstance, from: number): Promise<readonly RecordedStep[]> {
  return (await session.query(SELECT_STEPS, [...runValues(run), from])).map(recordedStepOf);
}

export async function readDueTasks(session: Session, query: DueTasksQuery): Promise<readonly DueTask[]> {
  const { instanceId } = query;
  const rows =
    instanceId === undefined
      ? session.query(SELECT_DUE, dueTaskParameters(query))
      : session.query(SELECT_DUE_OF_INSTANCE, [...dueTaskParameters(query), instanceId]);
  return (await rows).map(dueTaskOf);
}

export async function readNextDueAt(session: Session, after: number): Promise<number | null> {
  const row = await firstRow(session.query(SELECT_NEXT_DUE, [after]));
  return row && integer(row, 'due_at');
}

/** Returns the runs that are not active. */
export async function filterEndedRuns(session: Session, runs: readonly RunInInstance[]): Promise<readonly RunInInstance[]> {
  const keys = runs.map(({ instanceId, runKey }) => ({ instance_id: instanceId, run_key: runKey }));
  const activeKeys = new Set((await session.query(FIND_ACTIVE, columnArrays(RUN_KEY, keys))).map((row) => text(row, 'run_key')));
  return runs.filter(({ runKey }) => !activeKeys.has(runKey));
}

/** Returns the task that waits for the end of the run. If several tasks refer to it, only one of them belongs to an active run. */
export async function findInvoker(
  session: Session,
  child: RunInInstance,
): Promise<Pick<TaskReference, 'runKey' | 'slot'> | null> {
  const row = await firstRow(session.query(SELECT_INVOKER, runValues(child)));
  return row && { runKey: text(row, 'run_key'), slot: integer(row, 'slot') };
}

/** Like `findInvoker`, for a run that is not created yet and whose instance is therefore unknown. */
export async function findInvokerAnywhere(
  session: Session,
  childRunKey: string,
): Promise<Pick<TaskReference, 'runKey' | 'slot'> | null> {
  const row = await firstRow(session.query(SELECT_INVOKER_ANYWHERE, [childRunKey]));
  return row && { runKey: text(row, 'run_key'), slot: integer(row, 'slot') };
}

const SELECT_DESCENDANTS = statement(`
  SELECT ${RUN_RECORD_COLUMNS} FROM ${RUN_RECORD_TABLES}
  WHERE r.instance_id = $1 AND r.run_key IN (
    (SELECT i.run_key FROM run i WHERE i.instance_id = $1 AND i.invoked_by_run_key = $2 ORDER BY i.run_key LIMIT $3)
    UNION (SELECT f.run_key FROM run f WHERE f.instance_id = $1 AND f.forked_from_run_key = $2 ORDER BY f.run_key LIMIT $3)
    UNION SELECT o.became_run_key FROM ended_run o WHERE ${runCondition('o')} AND o.became_run_key IS NOT NULL
  ) ORDER BY r.place LIMIT $3`);

/** Returns the runs created from this one, in the order of their creation. */
export async function listDescendants(session: Session, run: RunInInstance, limit: number): Promise<readonly RunRecord[]> {
  return (await session.query(SELECT_DESCENDANTS, [...runValues(run), limit])).map(runRecordOf);
}
