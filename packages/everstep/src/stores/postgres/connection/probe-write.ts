/** Checks whether the database accepts writes, by writing a probe. */
import { randomBytes } from 'node:crypto';
import { PROBE_BYTES } from '../../../ports/stores/store.js';
import { type Database, unpreparedStatement } from './connection.js';

const PROBE_NAME = 'write-probe';
const PUT = unpreparedStatement(
  'INSERT INTO secret (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
);
const REMOVE = unpreparedStatement('DELETE FROM secret WHERE name = $1');

/** Replicated tables reject writes while any server is down. The table `node` is only on the server that the nodes connect to. */
const PUT_LOCAL = unpreparedStatement(
  `INSERT INTO node (node_id, lease_until, host, version) VALUES ($1, clock_timestamp() + interval '1 minute', $2, '')`,
);
const REMOVE_LOCAL = unpreparedStatement('DELETE FROM node WHERE node_id = $1');

/**
 * Writes a probe and removes it in the same transaction. Rejects if the database does not accept writes. The random bytes of the
 * probe cannot be compressed, so they need new pages.
 */
export async function probeWrites(database: Database): Promise<void> {
  const { isDistributed } = database.engine;
  const name = isDistributed ? `${PROBE_NAME} ${randomBytes(9).toString('base64url')}` : PROBE_NAME;
  await database.transaction(async (session) => {
    session.send(isDistributed ? PUT_LOCAL : PUT, [name, randomBytes(PROBE_BYTES / 2).toString('hex')]);
    session.send(isDistributed ? REMOVE_LOCAL : REMOVE, [name]);
  });
}
