/** Schedules, and which of them is due. */
import type { StatementSync } from 'node:sqlite';
import { LIMITS } from '../../../config/limits.js';
import type { Schedule } from '../../../engine/runs/run.js';
import type { WriteOf } from '../../../engine/writes.js';
import type { ListedSchedule, Listing, Position, Store } from '../../../ports/stores/store.js';
import { contentBytes, RECORD_BYTES, storedSql } from '../../../ports/stores/stored-bytes.js';
import { DIALECTS, payloadOf } from '../../records/run-rows.js';
import type { Applier } from '../commit/applier.js';
import { blob, integer, integerOrNull, json, type Row, text, textOrNull, word } from '../connection/columns.js';
import type { StoreParts } from '../connection/store-parts.js';

const scheduleOf = (row: Row): Schedule => ({
  scheduleId: text(row, 'schedule_id'),
  instanceId: text(row, 'instance_id'),
  dialect: word(row, 'dialect', DIALECTS),
  cron: text(row, 'cron'),
  timeZone: text(row, 'time_zone'),
  workflowUrl: text(row, 'workflow_url'),
  payload: payloadOf(row),
  settings: json<Schedule['settings']>(row, 'settings'),
  delayMs: integer(row, 'delay_ms'),
  callerIp: text(row, 'caller_ip'),
  paused: integer(row, 'paused') === 1,
  createdAt: integer(row, 'created_at'),
  nextAt: integerOrNull(row, 'next_at'),
  lastFiredAt: integerOrNull(row, 'last_fired_at'),
  lastRunId: textOrNull(row, 'last_run_id'),
});

function listedOf(row: Row): ListedSchedule {
  const bytes = integer(row, 'body_bytes');
  return bytes > LIMITS.maxListedBodyBytes ? { ...scheduleOf(row), bodyLeftOut: bytes } : scheduleOf(row);
}

export class ScheduleRecords implements Applier<WriteOf<'schedule'>> {
  private readonly parts: StoreParts;
  private readonly replace: StatementSync;
  private readonly deleteOne: StatementSync;
  private readonly selectBytes: StatementSync;
  private readonly selectTick: StatementSync;
  private readonly selectAll: StatementSync;
  private readonly selectCount: StatementSync;
  private readonly selectOne: StatementSync;
  private readonly selectDue: StatementSync;
  private readonly selectDueOf: StatementSync;
  private readonly selectNextTenant: StatementSync;
  private readonly selectNext: StatementSync;

  constructor(parts: StoreParts) {
    const { connection } = parts;
    this.parts = parts;
    const columns = [
      ...['created_at', 'next_at', 'paused', 'last_fired_at', 'last_run_id', 'cron', 'time_zone', 'delay_ms', 'dialect'],
      ...['workflow_url', 'caller_ip', 'settings', 'content_type', 'forward_headers', 'body'],
    ];
    this.replace = connection.prepare(
      `INSERT INTO schedule (tenant, schedule_id, ${columns.join(', ')}) VALUES (?, ?${', ?'.repeat(columns.length)})
       ON CONFLICT (tenant, schedule_id) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}`,
    );
    this.deleteOne = connection.prepare('DELETE FROM schedule WHERE tenant = ? AND schedule_id = ?');
    this.selectBytes = connection.prepare(
      `SELECT ${storedSql('schedule', 's')} AS bytes FROM schedule s WHERE s.tenant = ? AND s.schedule_id = ?`,
    );
    this.selectTick = connection.prepare('SELECT next_at FROM schedule WHERE tenant = ? AND schedule_id = ?');
    const shortBody = `CASE WHEN length(s.body) > ${LIMITS.maxListedBodyBytes} THEN x'' ELSE s.body END AS body`;
    const select = 'SELECT s.*, t.instance_id FROM schedule s JOIN tenant t ON t.seq = s.tenant';
    const listed = columns.map((column) => (column === 'body' ? shortBody : `s.${column}`)).join(', ');
    this.selectAll = connection.prepare(
      `SELECT s.seq, s.schedule_id, t.instance_id, ${listed}, length(s.body) AS body_bytes
       FROM schedule s JOIN tenant t ON t.seq = s.tenant
       WHERE s.tenant = ? AND (s.created_at, s.seq) > (?, ?) ORDER BY s.created_at, s.seq LIMIT ?`,
    );
    // Out of the index of ids: the rows themselves hold payloads.
    this.selectCount = connection.prepare('SELECT count(*) AS schedules FROM schedule WHERE tenant = ?');
    this.selectOne = connection.prepare(`${select} WHERE s.tenant = ? AND s.schedule_id = ?`);
    this.selectDue = connection.prepare(`${select} WHERE s.next_at <= ? ORDER BY s.next_at, s.seq LIMIT ?`);
    this.selectDueOf = connection.prepare(`${select} WHERE s.tenant = ? AND s.next_at <= ? ORDER BY s.next_at LIMIT ?`);
    this.selectNextTenant = connection.prepare(
      `SELECT n.seq, n.instance_id, (SELECT min(next_at) FROM schedule WHERE tenant = n.seq AND next_at IS NOT NULL) AS next_at
       FROM tenant n
       WHERE n.seq = (SELECT tenant FROM schedule WHERE next_at IS NOT NULL AND tenant > ? ORDER BY tenant LIMIT 1)`,
    );
    this.selectNext = connection.prepare('SELECT next_at FROM schedule WHERE next_at IS NOT NULL ORDER BY next_at LIMIT 1');
  }

  apply(write: WriteOf<'schedule'>): void {
    switch (write.kind) {
      case 'put-schedule':
        this.put(write.schedule);
        break;
      case 'delete-schedule':
        this.delete(write.instanceId, write.scheduleId);
        break;
      default:
        write satisfies never;
    }
  }

  private put(schedule: Schedule): void {
    const { payload } = schedule;
    const tenant = this.parts.tenants.findOrCreate(schedule.instanceId);
    const forwardHeaders = JSON.stringify(payload.forwardHeaders);
    const bytes = RECORD_BYTES + contentBytes(forwardHeaders, payload.body);
    this.parts.stored.add(tenant, bytes - this.bytesOf(tenant, schedule.scheduleId));
    this.replace.run(
      tenant,
      schedule.scheduleId,
      schedule.createdAt,
      schedule.nextAt,
      schedule.paused ? 1 : 0,
      schedule.lastFiredAt,
      schedule.lastRunId,
      schedule.cron,
      schedule.timeZone,
      schedule.delayMs,
      schedule.dialect,
      schedule.workflowUrl,
      schedule.callerIp,
      JSON.stringify(schedule.settings),
      payload.contentType,
      forwardHeaders,
      blob(payload.body),
    );
  }

  /** What it counts; 0 when there is none. */
  private bytesOf(tenant: number, scheduleId: string): number {
    const row = this.selectBytes.get(tenant, scheduleId);
    return row ? integer(row, 'bytes') : 0;
  }

  /** Nothing happens when there is no such schedule. */
  private delete(instanceId: string, scheduleId: string): void {
    const tenant = this.parts.tenants.find(instanceId);
    if (tenant === null) return;
    this.parts.stored.add(tenant, -this.bytesOf(tenant, scheduleId));
    this.deleteOne.run(tenant, scheduleId);
  }

  /** Whether the schedule exists and its next tick is `nextAt`. */
  isDueAt(instanceId: string, scheduleId: string, nextAt: number | null): boolean {
    const tenant = this.parts.tenants.find(instanceId);
    const row = tenant === null ? undefined : this.selectTick.get(tenant, scheduleId);
    return row !== undefined && integerOrNull(row, 'next_at') === nextAt;
  }

  list(instanceId: string, after: Position | null, limit: number): Listing<ListedSchedule> {
    const tenant = this.parts.tenants.find(instanceId);
    if (tenant === null) return { items: [], next: null };
    const [createdAt, seq] = after === null ? [-1, 0] : after.split(' ').map(Number);
    const rows = this.selectAll.all(tenant, createdAt ?? 0, seq ?? 0, limit + 1);
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    const next = last && rows.length > limit ? `${integer(last, 'created_at')} ${integer(last, 'seq')}` : null;
    return { items: shown.map(listedOf), next };
  }

  count(instanceId: string): number {
    const tenant = this.parts.tenants.find(instanceId);
    const row = tenant === null ? undefined : this.selectCount.get(tenant);
    return row ? integer(row, 'schedules') : 0;
  }

  find(instanceId: string, scheduleId: string): Schedule | null {
    const tenant = this.parts.tenants.find(instanceId);
    const row = tenant === null ? undefined : this.selectOne.get(tenant, scheduleId);
    return row ? scheduleOf(row) : null;
  }

  due({ before, limit, instanceId }: Parameters<Store['dueSchedules']>[0]): readonly Schedule[] {
    if (instanceId === undefined) return this.selectDue.all(before, limit).map(scheduleOf);
    const tenant = this.parts.tenants.find(instanceId);
    return tenant === null ? [] : this.selectDueOf.all(tenant, before, limit).map(scheduleOf);
  }

  instancesWithDue(before: number): readonly string[] {
    const found: string[] = [];
    // From one tenant to the next in the index.
    for (let row = this.selectNextTenant.get(-1); row; row = this.selectNextTenant.get(integer(row, 'seq')))
      if (integer(row, 'next_at') <= before) found.push(text(row, 'instance_id'));
    return found;
  }

  nextAt(): number | null {
    const row = this.selectNext.get();
    return row ? integer(row, 'next_at') : null;
  }
}
