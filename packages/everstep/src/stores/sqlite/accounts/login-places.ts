/** Where users have logged in from, as texts that mean nothing here: the latest few of each. */
import type { StatementSync } from 'node:sqlite';
import { MAX_LOGIN_LOCATIONS } from '../../../ports/stores/account-store.js';
import { integer } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';

export class LoginPlaces {
  private readonly select: StatementSync;
  private readonly upsert: StatementSync;
  private readonly deleteOld: StatementSync;

  constructor(connection: Connection) {
    this.select = connection.prepare('SELECT at FROM login_place WHERE user_id = ? AND place = ?');
    this.upsert = connection.prepare(
      `INSERT INTO login_place (user_id, place, at) VALUES (?, ?, ?)
       ON CONFLICT (user_id, place) DO UPDATE SET at = max(at, excluded.at)`,
    );
    this.deleteOld = connection.prepare(
      `DELETE FROM login_place WHERE user_id = ? AND place IN
         (SELECT place FROM login_place WHERE user_id = ? ORDER BY at DESC, place LIMIT -1 OFFSET ${MAX_LOGIN_LOCATIONS})`,
    );
  }

  notedAt(userId: string, place: string): number | null {
    const row = this.select.get(userId, place);
    return row ? integer(row, 'at') : null;
  }

  /** Only inside a transaction. */
  note(userId: string, place: string, at: number): void {
    this.upsert.run(userId, place, at);
    this.deleteOld.run(userId, userId);
  }
}
