/** Writes and removes events that arrived before their run waited for them. */
import type { KeptEvent } from '../../../engine/runs/run.js';
import type { WriteOf } from '../../../engine/writes.js';
import { contentBytes, RECORD_BYTES, storedBytesSql } from '../../../ports/stores/stored-bytes.js';
import type { Applier, BatchContext } from '../commit/batch-context.js';
import type { RunInInstance } from '../commit/known-run.js';
import { statement, type TransactionSession } from '../connection/connection.js';
import { type Columns, columnArrays, columnNames, POSITION_BASE, type RowOf, unnest } from '../connection/row-sets.js';
import { changeAndCountBytesSql } from '../storage/stored-bytes.js';
import { KEPT_EVENT, RUN_KEY } from './tables.js';

const EVENT_KEY = { ...RUN_KEY, event_key: 'text' } as const satisfies Columns;

const INSERT = statement(`
  INSERT INTO kept_event (${columnNames(KEPT_EVENT)}, place)
  SELECT ${columnNames(KEPT_EVENT)}, base.place + n
  FROM (SELECT ${POSITION_BASE} AS place) base, ${unnest(KEPT_EVENT)} WITH ORDINALITY AS u(${columnNames(KEPT_EVENT)}, n)`);
const DELETE = statement(
  changeAndCountBytesSql(
    `DELETE FROM kept_event k USING ${unnest(EVENT_KEY)} AS u(${columnNames(EVENT_KEY)})
     WHERE k.instance_id = u.instance_id AND k.run_key = u.run_key AND k.event_key = u.event_key
     RETURNING k.instance_id, ${storedBytesSql('kept_event', 'k')} AS bytes`,
    '-',
  ),
);

export class EventWrites implements Applier<WriteOf<'event'>> {
  private keptEvents: RowOf<typeof KEPT_EVENT>[] = [];
  private droppedEvents: RowOf<typeof EVENT_KEY>[] = [];

  apply(write: WriteOf<'event'>, { state, storedBytes }: BatchContext): void {
    const run = state.requireRun(write.runKey);
    switch (write.kind) {
      case 'keep-event':
        this.keepEvent(run, write.event);
        break;
      case 'drop-event':
        storedBytes.add(run.instanceId, -this.dropEvent(run, write.eventKey));
        break;
      default:
        write satisfies never;
    }
  }

  private keepEvent({ instanceId, runKey }: RunInInstance, { eventKey, eventId, receivedAt, content }: KeptEvent): void {
    this.keptEvents.push({
      instance_id: instanceId,
      run_key: runKey,
      received_at: receivedAt,
      event_key: eventKey,
      event_id: eventId,
      content: JSON.stringify(content),
    });
  }

  /** Drops the event. Returns its stored bytes if its insertion was not sent yet, and 0 otherwise. */
  private dropEvent({ instanceId, runKey }: RunInInstance, eventKey: string): number {
    const unsentEvents = this.keptEvents.filter((row) => row.run_key === runKey && row.event_key === eventKey);
    if (unsentEvents.length > 0) this.keptEvents = this.keptEvents.filter((row) => !unsentEvents.includes(row));
    this.droppedEvents.push({ instance_id: instanceId, run_key: runKey, event_key: eventKey });
    return unsentEvents.reduce((sum, { content }) => sum + RECORD_BYTES + contentBytes(String(content)), 0);
  }

  send(session: TransactionSession): void {
    if (this.droppedEvents.length > 0) session.send(DELETE, columnArrays(EVENT_KEY, this.droppedEvents));
    if (this.keptEvents.length > 0) session.send(INSERT, columnArrays(KEPT_EVENT, this.keptEvents));
    [this.keptEvents, this.droppedEvents] = [[], []];
  }
}
