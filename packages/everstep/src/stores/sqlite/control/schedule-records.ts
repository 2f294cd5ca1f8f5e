/** Writes schedules, and counts their bytes. */
import type { StatementSync } from 'node:sqlite';
import type { Schedule } from '../../../engine/runs/run.js';
import type { WriteOf } from '../../../engine/writes.js';
import { contentBytes, RECORD_BYTES, storedBytesSql } from '../../../ports/stores/stored-bytes.js';
import { SCHEDULE } from '../../shared/control/schedules.js';
import { send } from '../../shared/sql/procedure.js';
import type { Applier } from '../commit/applier.js';
import { integer, integerOrNull, text } from '../connection/columns.js';
import type { StoreParts } from '../connection/store-parts.js';

export class ScheduleRecords implements Applier<WriteOf<'schedule'>> {
  private readonly parts: StoreParts;
  private readonly deleteSchedule: StatementSync;
  private readonly selectBytes: StatementSync;
  private readonly selectTick: StatementSync;
  private readonly selectNextTenant: StatementSync;

  constructor(parts: StoreParts) {
    const { connection } = parts;
    this.parts = parts;
    this.deleteSchedule = connection.prepare('DELETE FROM schedule WHERE tenant = ? AND schedule_id = ?');
    this.selectBytes = connection.prepare(
      `SELECT ${storedBytesSql('schedule', 's')} AS bytes FROM schedule s WHERE s.tenant = ? AND s.schedule_id = ?`,
    );
    this.selectTick = connection.prepare('SELECT next_at FROM schedule WHERE tenant = ? AND schedule_id = ?');
    this.selectNextTenant = connection.prepare(
      `SELECT n.seq, n.instance_id, (SELECT min(next_at) FROM schedule WHERE tenant = n.seq AND next_at IS NOT NULL) AS next_at
       FROM tenant n
       WHERE n.seq = (SELECT tenant FROM schedule WHERE next_at IS NOT NULL AND tenant > ? ORDER BY tenant LIMIT 1)`,
    );
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
    this.parts.storedBytes.add(tenant, bytes - this.bytesOf(tenant, schedule.scheduleId));
    const { payload: _payload, instanceId: _instanceId, ...fields } = schedule;
    this.parts.sql.run(send(SCHEDULE.replace({ ...fields, ...payload }, ['scheduleId'], schedule.instanceId)));
  }

  /** Returns the bytes of the schedule; 0 if there is none. */
  private bytesOf(tenant: number, scheduleId: string): number {
    const row = this.selectBytes.get(tenant, scheduleId);
    return row ? integer(row, 'bytes') : 0;
  }

  /** Deletes the schedule; does nothing if there is none. */
  private delete(instanceId: string, scheduleId: string): void {
    const tenant = this.parts.tenants.find(instanceId);
    if (tenant === null) return;
    this.parts.storedBytes.add(tenant, -this.bytesOf(tenant, scheduleId));
    this.deleteSchedule.run(tenant, scheduleId);
  }

  /** Returns whether the schedule exists and its next tick is `nextAt`. */
  isDueAt(instanceId: string, scheduleId: string, nextAt: number | null): boolean {
    const tenant = this.parts.tenants.find(instanceId);
    const row = tenant === null ? undefined : this.selectTick.get(tenant, scheduleId);
    return row !== undefined && integerOrNull(row, 'next_at') === nextAt;
  }

  instancesWithDueSchedules(before: number): readonly string[] {
    const instanceIds: string[] = [];
    // Each query finds the next tenant in the index.
    for (let row = this.selectNextTenant.get(-1); row; row = this.selectNextTenant.get(integer(row, 'seq')))
      if (integer(row, 'next_at') <= before) instanceIds.push(text(row, 'instance_id'));
    return instanceIds;
  }
}
