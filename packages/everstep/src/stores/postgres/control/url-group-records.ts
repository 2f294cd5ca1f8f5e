/** Reads the URL groups that the guards of a batch name. */
import { URL_GROUP } from '../../shared/control/url-groups.js';
import { text } from '../connection/columns.js';
import { type Session, statement } from '../connection/connection.js';
import { type ObjectKey, objectKeyArrays } from '../connection/row-sets.js';

const SELECT = statement(`
  SELECT g.* FROM url_group g
  JOIN unnest($1::text[], $2::text[]) AS w (instance_id, name) ON g.instance_id = w.instance_id AND g.name = w.name`);

/** Returns the URL groups that exist, with their instances. */
export async function readUrlGroups(session: Session, references: readonly ObjectKey[]) {
  const rows = await session.query(SELECT, objectKeyArrays(references));
  return rows.map((row) => ({ instanceId: text(row, 'instance_id'), group: URL_GROUP.read(row) }));
}
