/** URL groups, to which messages are published. */
import type { UrlGroup } from '../../../engine/runs/run.js';
import type { WriteOf } from '../../../engine/writes.js';
import { ofInstance } from '../sql/dialect.js';
import { type Procedure, row, rows, send } from '../sql/procedure.js';
import { sql } from '../sql/sql.js';
import { json, NUMBER, TEXT, table } from '../sql/table.js';

export const URL_GROUP = table<UrlGroup>('url_group', { name: TEXT, endpoints: json(), createdAt: NUMBER, updatedAt: NUMBER });

export const nameOfGroup = (write: WriteOf<'url-group'>): string =>
  write.kind === 'put-url-group' ? write.group.name : write.name;

/** Writes or deletes the group. Deleting a group that does not exist does nothing. Part of a batch. */
export const writeUrlGroup = (write: WriteOf<'url-group'>): Procedure<void> =>
  write.kind === 'put-url-group'
    ? send(URL_GROUP.replace(write.group, ['name'], write.instanceId))
    : send(sql`DELETE FROM url_group WHERE ${ofInstance(write.instanceId)} AND name = ${write.name}`);

/** Returns the URL groups of the instance, ordered by name. */
export function* listUrlGroups(instanceId: string): Procedure<readonly UrlGroup[]> {
  return (yield* rows(sql`SELECT * FROM url_group WHERE ${ofInstance(instanceId)} ORDER BY name`)).map(URL_GROUP.read);
}

export function* findUrlGroup(instanceId: string, name: string): Procedure<UrlGroup | null> {
  const foundRow = yield* row(sql`SELECT * FROM url_group WHERE ${ofInstance(instanceId)} AND name = ${name}`);
  return foundRow && URL_GROUP.read(foundRow);
}
