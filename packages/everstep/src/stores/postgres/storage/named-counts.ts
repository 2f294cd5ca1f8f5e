/** Number of objects of an instance, by kind. */
import type { Store } from '../../../ports/stores/store.js';
import { integer } from '../connection/columns.js';
import { type Session, statement } from '../connection/connection.js';

type Query = Parameters<Store['countObjects']>[0];

const count = (table: string) => statement(`SELECT count(*) AS things FROM ${table} WHERE instance_id = $1`);
const COUNTS = {
  queue: count('queue'),
  'url-group': count('url_group'),
  'flow-control': count('flow_control'),
  schedule: count('schedule'),
};

export async function countObjects(session: Session, { instanceId, thing }: Query): Promise<number> {
  const [row] = await session.query(COUNTS[thing], [instanceId]);
  return row ? integer(row, 'things') : 0;
}
