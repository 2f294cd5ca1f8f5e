/** Reads schedules. Each store writes them in its own way, because it counts their bytes. */
import { LIMITS } from '../../../config/limits.js';
import { DIALECT_NAMES, type RunPayload, type Schedule } from '../../../engine/runs/run.js';
import type { ListedSchedule, Listing, Position, Store } from '../../../ports/stores/store.js';
import { integer, type Row, text } from '../../records/columns.js';
import { ofInstance } from '../sql/dialect.js';
import { type Procedure, row, rows } from '../sql/procedure.js';
import { byDialect, raw, sql } from '../sql/sql.js';
import { BYTES, FLAG, json, NUMBER, nullable, oneOf, TEXT, table } from '../sql/table.js';

type StoredSchedule = Omit<Schedule, 'payload' | 'instanceId'> & RunPayload;

export const SCHEDULE = table<StoredSchedule>('schedule', {
  scheduleId: TEXT,
  createdAt: NUMBER,
  nextAt: nullable(NUMBER),
  paused: FLAG,
  lastFiredAt: nullable(NUMBER),
  lastRunId: nullable(TEXT),
  cron: TEXT,
  timeZone: TEXT,
  delayMs: NUMBER,
  dialect: oneOf(DIALECT_NAMES),
  workflowUrl: TEXT,
  callerIp: TEXT,
  settings: json(),
  contentType: nullable(TEXT),
  forwardHeaders: json(),
  body: BYTES,
});

function scheduleOf(foundRow: Row): Schedule {
  const { body, contentType, forwardHeaders, ...schedule } = SCHEDULE.read(foundRow);
  return { ...schedule, instanceId: text(foundRow, 'instance_id'), payload: { body, contentType, forwardHeaders } };
}

function listedScheduleOf(foundRow: Row): ListedSchedule {
  const bodyBytes = integer(foundRow, 'body_bytes');
  return bodyBytes > LIMITS.maxListedBodyBytes ? { ...scheduleOf(foundRow), bodyLeftOut: bodyBytes } : scheduleOf(foundRow);
}

const INSTANCE_ID = byDialect({
  sqlite: raw('(SELECT instance_id FROM tenant WHERE seq = s.tenant) AS instance_id'),
  postgres: raw('s.instance_id'),
});
const NO_BODY = byDialect({ sqlite: raw(`x''`), postgres: raw(`''::bytea`) });
const SHORT_BODY = sql`CASE WHEN length(s.body) > ${raw(String(LIMITS.maxListedBodyBytes))} THEN ${NO_BODY} ELSE s.body END`;
const SELECT = sql`SELECT ${SCHEDULE.columns('s')}, ${INSTANCE_ID} FROM schedule s`;
const SELECT_LISTED = sql`
  SELECT ${SCHEDULE.columns('s', 'body')}, ${INSTANCE_ID}, ${SHORT_BODY} AS body, length(s.body) AS body_bytes,
    CAST(s.seq AS text) AS position FROM schedule s`;

/** Returns a page of schedules, oldest first. Long payloads are omitted. */
export function* listSchedules(instanceId: string, after: Position | null, limit: number): Procedure<Listing<ListedSchedule>> {
  const [createdAt = '-1', seq = '0'] = after?.split(' ') ?? [];
  const foundRows = yield* rows(sql`
    ${SELECT_LISTED} WHERE s.${ofInstance(instanceId)}
      AND (s.created_at, s.seq) > (CAST(${createdAt} AS bigint), CAST(${seq} AS bigint))
    ORDER BY s.created_at, s.seq LIMIT ${limit + 1}`);
  const page = foundRows.slice(0, limit);
  const lastRow = page.at(-1);
  const next = lastRow && foundRows.length > limit ? `${integer(lastRow, 'created_at')} ${text(lastRow, 'position')}` : null;
  return { items: page.map(listedScheduleOf), next };
}

export function* findSchedule(instanceId: string, scheduleId: string): Procedure<Schedule | null> {
  const foundRow = yield* row(sql`${SELECT} WHERE s.${ofInstance(instanceId)} AND s.schedule_id = ${scheduleId}`);
  return foundRow && scheduleOf(foundRow);
}

/** Returns the due schedules, earliest first. */
export function* dueSchedules({
  before,
  limit,
  instanceId,
}: Parameters<Store['dueSchedules']>[0]): Procedure<readonly Schedule[]> {
  const instanceCondition = instanceId === undefined ? raw('') : sql`AND s.${ofInstance(instanceId)}`;
  const dueRows = yield* rows(
    sql`${SELECT} WHERE s.next_at <= ${before} ${instanceCondition} ORDER BY s.next_at, s.seq LIMIT ${limit}`,
  );
  return dueRows.map(scheduleOf);
}

/** Returns the time of the earliest next tick; null if no schedule has one. */
export function* nextScheduleAt(): Procedure<number | null> {
  const nextRow = yield* row(sql`SELECT next_at FROM schedule WHERE next_at IS NOT NULL ORDER BY next_at LIMIT 1`);
  return nextRow && integer(nextRow, 'next_at');
}
