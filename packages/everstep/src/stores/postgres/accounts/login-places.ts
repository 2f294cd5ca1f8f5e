/** Where users have logged in from, as texts that mean nothing here: the latest few of each. */
import { MAX_LOGIN_LOCATIONS } from '../../../ports/stores/account-store.js';
import { integer } from '../connection/columns.js';
import { type Session, statement, type TransactionSession } from '../connection/connection.js';

const SELECT = statement('SELECT at FROM login_place WHERE user_id = $1 AND place = $2');
/** What a crash of the server takes back is noted again at the next login. */
const WITHOUT_WAITING = statement(`SELECT set_config('synchronous_commit', 'off', true)`);
const UPSERT = statement(`
  INSERT INTO login_place (user_id, place, at) VALUES ($1, $2, $3)
  ON CONFLICT (user_id, place) DO UPDATE SET at = greatest(login_place.at, excluded.at)`);
const DELETE_OLD = statement(`
  DELETE FROM login_place WHERE user_id = $1 AND place IN (
    SELECT place FROM login_place WHERE user_id = $1 ORDER BY at DESC, place OFFSET ${MAX_LOGIN_LOCATIONS})`);

export async function lastLoginAt(session: Session, userId: string, place: string): Promise<number | null> {
  const [row] = await session.query(SELECT, [userId, place]);
  return row ? integer(row, 'at') : null;
}

export async function noteLogin(session: TransactionSession, userId: string, place: string, at: number): Promise<void> {
  session.send(WITHOUT_WAITING);
  session.send(UPSERT, [userId, place, at]);
  await session.execute(DELETE_OLD, [userId]);
}
