/** Events: their waiters, events that arrived early, and the webhooks that runs created. */
import type { StatementSync } from 'node:sqlite';
import type { KeptEvent } from '../../../engine/runs/run.js';
import type { WriteOf } from '../../../engine/writes.js';
import type { EventStore, WaiterRecord } from '../../../ports/stores/store.js';
import { storedBytesSql } from '../../../ports/stores/stored-bytes.js';
import { integer } from '../../records/columns.js';
import { eventWithoutContentOf, keptEventOf, waiterOf } from '../../records/run-rows.js';
import type { Applier } from '../commit/applier.js';
import type { StoreParts } from '../connection/store-parts.js';

export class EventRecords implements Applier<WriteOf<'event'>> {
  private readonly parts: StoreParts;
  private readonly insertEvent: StatementSync;
  private readonly deleteEvent: StatementSync;
  private readonly selectEvents: StatementSync;
  private readonly selectEventsWithoutContent: StatementSync;
  private readonly selectWaiters: StatementSync;
  private readonly selectAllWaiters: StatementSync;
  private readonly selectWebhook: StatementSync;

  constructor(parts: StoreParts) {
    const { connection } = parts;
    this.parts = parts;
    this.insertEvent = connection.prepare(
      'INSERT INTO kept_event (run_seq, event_key, event_id, received_at, content) VALUES (?, ?, ?, ?, ?)',
    );
    this.deleteEvent = connection.prepare(
      `DELETE FROM kept_event WHERE run_seq = ? AND event_key = ? RETURNING ${storedBytesSql('kept_event', 'kept_event')} AS bytes`,
    );
    this.selectEvents = connection.prepare('SELECT * FROM kept_event WHERE run_seq = ? ORDER BY seq');
    this.selectEventsWithoutContent = connection.prepare(
      'SELECT event_key, event_id, received_at FROM kept_event WHERE run_seq = ? ORDER BY seq',
    );
    const waiters = `
       SELECT w.event_id, w.since, w.slot, r.key AS run_key, r.workflow_run_id, r.created_at, r.workflow_url, r.dialect, t.name, t.wake_at
       FROM waiter w JOIN run r ON r.seq = w.run_seq JOIN task t ON t.run_seq = w.run_seq AND t.slot = w.slot`;
    this.selectAllWaiters = connection.prepare(
      `${waiters}
       WHERE w.tenant = ? AND (w.event_id, w.since, w.run_seq, w.slot) > (?, ?, ?, ?)
       ORDER BY w.event_id, w.since, w.run_seq, w.slot LIMIT ?`,
    );
    this.selectWaiters = connection.prepare(
      `${waiters}
       WHERE w.tenant = ? AND w.event_id = ? AND (w.since, w.run_seq, w.slot) > (?, ?, ?)
       ORDER BY w.since, w.run_seq, w.slot LIMIT ?`,
    );
    this.selectWebhook = connection.prepare(
      `SELECT 1 FROM step WHERE run_seq = ? AND type = 'CreateWebhook' AND json_extract(out, '$.eventId') = ? LIMIT 1`,
    );
  }

  apply(write: WriteOf<'event'>): void {
    switch (write.kind) {
      case 'keep-event':
        this.insert(write.runKey, write.event);
        break;
      case 'drop-event':
        this.drop(write.runKey, write.eventKey);
        break;
      default:
        write satisfies never;
    }
  }

  private insert(runKey: string, { eventKey, eventId, receivedAt, content }: KeptEvent): void {
    this.insertEvent.run(this.parts.runs.require(runKey).seq, eventKey, eventId, receivedAt, JSON.stringify(content));
  }

  private drop(runKey: string, eventKey: string): void {
    const { seq, tenant } = this.parts.runs.require(runKey);
    for (const row of this.deleteEvent.all(seq, eventKey)) this.parts.storedBytes.add(tenant, -integer(row, 'bytes'));
  }

  /** Returns the kept events of a run, oldest first. */
  keptEvents(runSeq: number): readonly KeptEvent[] {
    return this.selectEvents.all(runSeq).map(keptEventOf);
  }

  keptEventsWithoutContent(runSeq: number): readonly Omit<KeptEvent, 'content'>[] {
    return this.selectEventsWithoutContent.all(runSeq).map(eventWithoutContentOf);
  }

  waiters({ instanceId, eventId, after, limit }: Parameters<EventStore['listWaiters']>[0]): readonly WaiterRecord[] {
    const tenant = this.parts.tenants.find(instanceId);
    if (tenant === null) return [];
    const position = after ? [after.since, this.parts.runs.rowNumberOf(after.runKey), after.slot] : [-1, 0, 0];
    const rows =
      eventId === null
        ? this.selectAllWaiters.all(tenant, after?.eventId ?? '', ...position, limit)
        : this.selectWaiters.all(tenant, eventId, ...position, limit);
    return rows.map(waiterOf);
  }

  hasWebhook(runKey: string, eventId: string): boolean {
    const run = this.parts.runs.find(runKey);
    return run !== null && this.selectWebhook.get(run.seq, eventId) !== undefined;
  }
}
