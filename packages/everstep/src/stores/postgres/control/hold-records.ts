/** Destinations that an instance holds back. */
import type { DestinationHold } from '../../../engine/runs/run.js';
import type { StoreWrite } from '../../../ports/stores/store.js';
import { integer, type Row, text, word } from '../connection/columns.js';
import { type Session, statement, type TransactionSession } from '../connection/connection.js';

export type HoldWrite = Extract<StoreWrite, { readonly kind: 'set-hold' }>;

const PUT = statement(`
  INSERT INTO destination_hold (instance_id, origin, held_by, reason, since)
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[]) AS w (instance_id, origin)
  ORDER BY w.instance_id, w.origin
  ON CONFLICT (instance_id, origin) DO UPDATE SET held_by = excluded.held_by, reason = excluded.reason, since = excluded.since`);
const LIFT = statement(`
  DELETE FROM destination_hold h USING unnest($1::text[], $2::text[]) AS w (instance_id, origin)
  WHERE h.instance_id = w.instance_id AND h.origin = w.origin`);
const SELECT_ALL = statement(
  'SELECT origin, held_by, reason, since FROM destination_hold WHERE instance_id = $1 ORDER BY origin',
);

const holdOf = (row: Row): DestinationHold => ({
  origin: text(row, 'origin'),
  by: word(row, 'held_by', ['breaker', 'hand']),
  reason: text(row, 'reason'),
  since: integer(row, 'since'),
});

/** All of a batch, in their order. Sends them, and waits for nothing. */
export function writeHolds(session: TransactionSession, writes: readonly HoldWrite[]): void {
  const last = [...new Map(writes.map((write) => [`${write.instanceId}\n${write.origin}`, write])).values()];
  const held = last.flatMap(({ instanceId, origin, hold }) => (hold ? [{ ...hold, instanceId, origin }] : []));
  const lifted = last.filter(({ hold }) => hold === null);
  if (held.length > 0)
    session.send(PUT, [
      held.map(({ instanceId }) => instanceId),
      held.map(({ origin }) => origin),
      held.map(({ by }) => by),
      held.map(({ reason }) => reason),
      held.map(({ since }) => since),
    ]);
  if (lifted.length > 0) session.send(LIFT, [lifted.map(({ instanceId }) => instanceId), lifted.map(({ origin }) => origin)]);
}

/** In the order of the origins. */
export async function listHolds(session: Session, instanceId: string): Promise<readonly DestinationHold[]> {
  return (await session.query(SELECT_ALL, [instanceId])).map(holdOf);
}
