/**
 * Counts the messages that instances are billed for. A batch writes one row for each instance and day, with the current owner and
 * price of the instance. Messages that are counted before the instance has a price are stored without one. The instance stores its
 * first price, so a count never waits for a change of the price. Each connection adds to its own rows, so no commit waits for the
 * count of another.
 * Keeps invariants 17 and 20.
 */
import type { StoreWrite } from '../../../ports/stores/store.js';
import { NO_OWNER, NO_PRICE, UsageSums } from '../../shared/accounts/usage.js';
import { type TransactionSession, tableWrite } from '../connection/connection.js';

export type UsageWrite = Extract<StoreWrite, { readonly kind: 'count-messages' }>;

/** Number of rows over which the connections are spread. With more connections than rows, some share a row. */
export const SHARDS = 64;

const ADD = tableWrite(
  'usage',
  `INSERT INTO usage (instance_id, month, account_id, price, shard, messages)
  SELECT w.instance_id, w.month, coalesce(q.account_id, '${NO_OWNER}'), coalesce(q.price, ${NO_PRICE}),
    pg_backend_pid() % ${SHARDS}, w.messages
  FROM unnest($1::text[], $2::text[], $3::bigint[]) AS w (instance_id, month, messages)
  LEFT JOIN queue_instance q ON q.instance_id = w.instance_id
  ORDER BY 1, 2, 3
  ON CONFLICT (instance_id, month, account_id, price, shard) DO UPDATE SET messages = usage.messages + excluded.messages`,
);

/** Sends all counts of a batch without waiting. */
export function countMessages(session: TransactionSession, writes: readonly UsageWrite[]): void {
  const sums = new UsageSums();
  for (const { instanceId, messages, at } of writes) sums.add(instanceId, messages, at);
  const rows = sums.take();
  if (rows.length === 0) return;
  session.sendJoined(ADD, [
    rows.map(({ instanceId }) => instanceId),
    rows.map(({ day }) => day),
    rows.map(({ messages }) => messages),
  ]);
}
