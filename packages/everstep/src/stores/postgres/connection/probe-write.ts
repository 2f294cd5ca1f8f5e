/** Finds out whether the database accepts writes. */
import { randomBytes } from 'node:crypto';
import { PROBE_BYTES } from '../../../ports/stores/store.js';
import { type Database, planned } from './connection.js';

const NAME = 'write-probe';
const PUT = planned('INSERT INTO secret (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value');
const REMOVE = planned('DELETE FROM secret WHERE name = $1');

/** Writes random bytes, which cannot be compressed, so they need new pages. They are removed in the same transaction. */
export async function probeWrites(database: Database): Promise<void> {
  await database.transaction(async (session) => {
    session.send(PUT, [NAME, randomBytes(PROBE_BYTES / 2).toString('hex')]);
    session.send(REMOVE, [NAME]);
  });
}
