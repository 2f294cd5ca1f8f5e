/** Groups of URLs that messages are published to. */
import type { UrlGroup } from '../../../engine/runs/run.js';
import type { StoreWrite } from '../../../ports/stores/store.js';
import { integer, json, type Row, text } from '../connection/columns.js';
import { type Session, statement, type TransactionSession } from '../connection/connection.js';
import { type InstancesThing, thingArrays } from '../connection/row-sets.js';

export type UrlGroupWrite = Extract<StoreWrite, { readonly kind: 'put-url-group' | 'delete-url-group' }>;

const PUT = statement(`
  INSERT INTO url_group (instance_id, name, created_at, updated_at, endpoints)
  SELECT w.* FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[])
    AS w (instance_id, name, created_at, updated_at, endpoints)
  ORDER BY w.instance_id, w.name
  ON CONFLICT (instance_id, name) DO UPDATE SET created_at = excluded.created_at, updated_at = excluded.updated_at,
    endpoints = excluded.endpoints`);
const DELETE = statement(`
  DELETE FROM url_group g USING unnest($1::text[], $2::text[]) AS w (instance_id, name)
  WHERE g.instance_id = w.instance_id AND g.name = w.name`);
const COLUMNS = 'name, created_at, updated_at, endpoints';
const SELECT_ALL = statement(`SELECT ${COLUMNS} FROM url_group WHERE instance_id = $1 ORDER BY name`);
const SELECT_ONE = statement(`SELECT ${COLUMNS} FROM url_group WHERE instance_id = $1 AND name = $2`);
const SELECT_SOME = statement(`
  SELECT g.instance_id, g.name, g.created_at, g.updated_at, g.endpoints FROM url_group g
  JOIN unnest($1::text[], $2::text[]) AS w (instance_id, name) ON g.instance_id = w.instance_id AND g.name = w.name`);

const groupOf = (row: Row): UrlGroup => ({
  name: text(row, 'name'),
  endpoints: json<UrlGroup['endpoints']>(row, 'endpoints'),
  createdAt: integer(row, 'created_at'),
  updatedAt: integer(row, 'updated_at'),
});

/** All of a batch; of several of one group the last one counts. Sends them, and waits for nothing. */
export function writeUrlGroups(session: TransactionSession, writes: readonly UrlGroupWrite[]): void {
  const last = new Map<string, UrlGroupWrite>();
  for (const write of writes) {
    last.set(`${write.instanceId}\n${write.kind === 'put-url-group' ? write.group.name : write.name}`, write);
  }
  const puts = [...last.values()].filter((write) => write.kind === 'put-url-group');
  if (puts.length > 0) {
    session.send(PUT, [
      puts.map(({ instanceId }) => instanceId),
      puts.map(({ group }) => group.name),
      puts.map(({ group }) => group.createdAt),
      puts.map(({ group }) => group.updatedAt),
      puts.map(({ group }) => JSON.stringify(group.endpoints)),
    ]);
  }
  const deletes = [...last.values()].filter((write) => write.kind === 'delete-url-group');
  if (deletes.length === 0) return;
  session.send(DELETE, [deletes.map(({ instanceId }) => instanceId), deletes.map(({ name }) => name)]);
}

/** Of those that there are, with their instances. */
export async function readUrlGroups(session: Session, references: readonly InstancesThing[]) {
  const rows = await session.query(SELECT_SOME, thingArrays(references));
  return rows.map((row) => ({ instanceId: text(row, 'instance_id'), group: groupOf(row) }));
}

/** In the order of the names. */
export async function listUrlGroups(session: Session, instanceId: string): Promise<readonly UrlGroup[]> {
  return (await session.query(SELECT_ALL, [instanceId])).map(groupOf);
}

export async function findUrlGroup(session: Session, instanceId: string, name: string): Promise<UrlGroup | null> {
  const [row] = await session.query(SELECT_ONE, [instanceId, name]);
  return row ? groupOf(row) : null;
}
