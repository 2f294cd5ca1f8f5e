/** Writes schedules, and reads those that the guards of a batch name. */
import { createHash } from 'node:crypto';
import type { Schedule } from '../../../engine/runs/run.js';
import type { StoreWrite } from '../../../ports/stores/store.js';
import { storedBytesSql } from '../../../ports/stores/stored-bytes.js';
import { integer, integerOrNull, text } from '../connection/columns.js';
import {
  distributableStatement,
  type Session,
  type SqlValue,
  statement,
  type TransactionSession,
} from '../connection/connection.js';
import { type ObjectKey, objectKeyArrays } from '../connection/row-sets.js';
import { addBytesSql, changeAndCountBytesSql } from '../storage/stored-bytes.js';

export type ScheduleWrite = Extract<StoreWrite, { readonly kind: 'put-schedule' | 'delete-schedule' }>;

export interface ScheduleReference {
  readonly instanceId: string;
  readonly scheduleId: string;
}

/** Columns with their types, and the functions that return their values. */
const COLUMNS: readonly (readonly [column: string, type: string, readValue: (schedule: Schedule) => SqlValue])[] = [
  ['instance_id', 'text', ({ instanceId }) => instanceId],
  ['schedule_id', 'text', ({ scheduleId }) => scheduleId],
  ['created_at', 'bigint', ({ createdAt }) => createdAt],
  ['next_at', 'bigint', ({ nextAt }) => nextAt],
  ['last_fired_at', 'bigint', ({ lastFiredAt }) => lastFiredAt],
  ['delay_ms', 'bigint', ({ delayMs }) => delayMs],
  ['paused', 'boolean', ({ paused }) => paused],
  ['last_run_id', 'text', ({ lastRunId }) => lastRunId],
  ['cron', 'text', ({ cron }) => cron],
  ['time_zone', 'text', ({ timeZone }) => timeZone],
  ['dialect', 'text', ({ dialect }) => dialect],
  ['workflow_url', 'text', ({ workflowUrl }) => workflowUrl],
  ['caller_ip', 'text', ({ callerIp }) => callerIp],
  ['settings', 'text', ({ settings }) => JSON.stringify(settings)],
  ['content_type', 'text', ({ payload }) => payload.contentType],
  ['forward_headers', 'text', ({ payload }) => JSON.stringify(payload.forwardHeaders)],
  ['body', 'bytea', ({ payload }) => payload.body],
];
const COLUMN_NAMES = COLUMNS.map(([column]) => column);

/** Inserts schedules. `n` is the order in which the batch first names them, which is the order of creation. */
const INSERT = `
  INSERT INTO schedule (${COLUMN_NAMES.join(', ')})
  SELECT ${COLUMN_NAMES.map((name) => `w.${name}`).join(', ')}
  FROM unnest(${COLUMNS.map(([, type], index) => `$${index + 1}::${type}[]`).join(', ')})
    WITH ORDINALITY AS w (${COLUMN_NAMES.join(', ')}, n)
  ORDER BY w.n
  ON CONFLICT (instance_id, schedule_id)
  DO UPDATE SET ${COLUMN_NAMES.slice(2)
    .map((column) => `${column} = excluded.${column}`)
    .join(', ')}`;
const BYTES = `SELECT s.instance_id, ${storedBytesSql('schedule', 's')} AS bytes FROM schedule s`;
const PUT = distributableStatement(
  changeAndCountBytesSql(`${INSERT} RETURNING schedule.instance_id, ${storedBytesSql('schedule', 'schedule')} AS bytes`),
  [
    INSERT,
    addBytesSql(`(${BYTES} JOIN unnest($1::text[], $2::text[]) AS w (instance_id, schedule_id)
    ON s.instance_id = w.instance_id AND s.schedule_id = w.schedule_id) put`),
  ],
);
const KEYS = 'unnest($1::text[], $2::text[]) AS w (instance_id, schedule_id)';
const DELETE = statement(
  changeAndCountBytesSql(
    `DELETE FROM schedule s USING ${KEYS}
     WHERE s.instance_id = w.instance_id AND s.schedule_id = w.schedule_id
     RETURNING s.instance_id, ${storedBytesSql('schedule', 's')} AS bytes`,
    '-',
  ),
);
/** Subtracts the bytes of schedules that the next statement replaces, and locks their rows. */
const SUBTRACT_BYTES = statement(
  changeAndCountBytesSql(
    `SELECT s.instance_id, ${storedBytesSql('schedule', 's')} AS bytes FROM schedule s JOIN ${KEYS}
       ON s.instance_id = w.instance_id AND s.schedule_id = w.schedule_id
     ORDER BY s.instance_id, s.schedule_id FOR UPDATE OF s`,
    '-',
  ),
);
const LOCK = statement(`
  SELECT s.instance_id, s.schedule_id, s.next_at FROM schedule s
  JOIN unnest($1::text[], $2::text[]) AS w (instance_id, schedule_id)
    ON s.instance_id = w.instance_id AND s.schedule_id = w.schedule_id
  ORDER BY s.instance_id, s.schedule_id FOR UPDATE OF s`);

const firstOfNextInstanceSql = (where: string) => `
  SELECT instance_id AS id, next_at AS at FROM schedule WHERE next_at IS NOT NULL ${where} ORDER BY instance_id, next_at, seq LIMIT 1`;
/** Selects the instances with due schedules, stepping from one instance to the next in the index. */
const SELECT_INSTANCES = statement(`
  WITH RECURSIVE first AS (
    (${firstOfNextInstanceSql('')})
    UNION ALL
    SELECT next.* FROM first CROSS JOIN LATERAL (${firstOfNextInstanceSql('AND instance_id > first.id')}) AS next
  )
  SELECT id FROM first WHERE at <= $1`);
/** Selects the same instances from distributed tables, with a plain read over all servers. */
const SELECT_INSTANCES_ON_SERVERS = statement(`
  SELECT DISTINCT instance_id AS id FROM schedule WHERE next_at IS NOT NULL AND next_at <= $1 ORDER BY 1`);
/** Columns that are compared. Bodies can be long, so only their hashes are read. */
const COMPARED_COLUMNS = COLUMN_NAMES.map((column) =>
  column === 'body' ? `encode(sha256(s.body), 'hex') AS body` : `s.${column}`,
).join(', ');
const SELECT_COMPARED = statement(`
  SELECT ${COMPARED_COLUMNS} FROM schedule s JOIN unnest($1::text[], $2::text[]) AS w (instance_id, schedule_id)
    ON s.instance_id = w.instance_id AND s.schedule_id = w.schedule_id`);
const COUNT_SCHEDULES = statement(`
  SELECT w.instance_id, (SELECT count(*) FROM schedule s WHERE s.instance_id = w.instance_id) AS schedules
  FROM unnest($1::text[]) AS w (instance_id)`);

const keyOf = ({ instanceId, scheduleId }: ScheduleReference): string => `${instanceId}\n${scheduleId}`;
const referenceOf = (write: ScheduleWrite): ScheduleReference => (write.kind === 'put-schedule' ? write.schedule : write);

/** Sends all writes of a batch, in their order, without waiting. */
export function writeSchedules(session: TransactionSession, writes: readonly ScheduleWrite[]): void {
  const deletedSchedules = new Map<string, ScheduleReference>();
  const latestSchedules = new Map<string, Schedule>();
  for (const write of writes) {
    const key = keyOf(referenceOf(write));
    if (write.kind === 'put-schedule') {
      latestSchedules.set(key, write.schedule);
    } else {
      deletedSchedules.set(key, write);
      latestSchedules.delete(key);
    }
  }
  // A schedule that is created again after its deletion is a new one.
  if (deletedSchedules.size > 0) {
    const references = [...deletedSchedules.values()];
    session.send(DELETE, [references.map(({ instanceId }) => instanceId), references.map(({ scheduleId }) => scheduleId)]);
  }
  const schedules = [...latestSchedules.values()];
  if (schedules.length === 0) return;
  session.send(SUBTRACT_BYTES, [schedules.map(({ instanceId }) => instanceId), schedules.map(({ scheduleId }) => scheduleId)]);
  session.send(
    PUT,
    COLUMNS.map(([, , readValue]) => schedules.map(readValue)),
  );
}

/**
 * Returns the next ticks of these schedules in their order; undefined if there is no such schedule. Locks the rows of the schedules
 * in a fixed order, until the transaction ends. Sends its statement immediately.
 */
export async function lockNextTicks(
  session: TransactionSession,
  schedules: readonly ScheduleReference[],
): Promise<readonly (number | null | undefined)[]> {
  const rows = await session.query(LOCK, [
    schedules.map(({ instanceId }) => instanceId),
    schedules.map(({ scheduleId }) => scheduleId),
  ]);
  const ticks = new Map(
    rows.map((row) => [
      keyOf({ instanceId: text(row, 'instance_id'), scheduleId: text(row, 'schedule_id') }),
      integerOrNull(row, 'next_at'),
    ]),
  );
  return schedules.map((schedule) => ticks.get(keyOf(schedule)));
}

/** Returns a digest by which the contents of schedules are compared. */
export function digestOf(schedule: Schedule): string {
  const hash = createHash('sha256').update(schedule.payload.body).digest('hex');
  return JSON.stringify(COLUMNS.map(([column, , readValue]) => (column === 'body' ? hash : readValue(schedule))));
}

/** Returns the digests of the schedules that exist. */
export async function readDigests(session: Session, references: readonly ObjectKey[]) {
  const rows = await session.query(SELECT_COMPARED, objectKeyArrays(references));
  return rows.map((row) => ({
    instanceId: text(row, 'instance_id'),
    scheduleId: text(row, 'schedule_id'),
    digest: JSON.stringify(COLUMN_NAMES.map((column) => row[column] ?? null)),
  }));
}

/** Returns the number of schedules of each instance. */
export async function countSchedulesOf(session: Session, instanceIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await session.query(COUNT_SCHEDULES, [instanceIds]);
  return new Map(rows.map((row) => [text(row, 'instance_id'), integer(row, 'schedules')]));
}

export async function instancesWithDueSchedules(session: Session, before: number): Promise<readonly string[]> {
  const statement = session.engine.isDistributed ? SELECT_INSTANCES_ON_SERVERS : SELECT_INSTANCES;
  return (await session.query(statement, [before])).map((row) => text(row, 'id'));
}
