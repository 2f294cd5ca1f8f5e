/**
 * Reads and raises the latest recorded time, which the clock of a starting server must not be behind. The time is stored in many
 * rows, so that commits do not wait for each other. A commit in progress has one row to itself. The row belongs to an instance that
 * the commit writes to, so that the transaction stays on the shard of that instance.
 */
import { randomInt } from 'node:crypto';
import { integer } from '../connection/columns.js';
import { type Session, statement, type TransactionSession, tableWrite } from '../connection/connection.js';

/** Number of rows: few enough to read all at once, and enough that two processes rarely use the same row. */
const SHARDS = 1024;

const RAISE = tableWrite(
  'instance_clock',
  `INSERT INTO instance_clock (instance_id, shard, latest_time) VALUES ($1, $2, $3)
  ON CONFLICT (instance_id, shard) DO UPDATE SET latest_time = excluded.latest_time
  WHERE instance_clock.latest_time < excluded.latest_time`,
);
/** Raises a row that belongs to no instance, for commits that write to no instance. */
const RAISE_WITHOUT_INSTANCE = statement(`
  INSERT INTO clock_mark (shard, latest_time) VALUES ($1, $2)
  ON CONFLICT (shard) DO UPDATE SET latest_time = excluded.latest_time WHERE clock_mark.latest_time < excluded.latest_time`);
const SELECT_LATEST_TIME = statement(`
  SELECT greatest((SELECT max(latest_time) FROM clock_mark), (SELECT max(latest_time) FROM instance_clock), 0) AS latest`);

/** Assigns a row to each commit in progress, and reuses the rows of finished commits. */
export class ClockMarks {
  private readonly freeShards: number[] = [];

  take(): number {
    return this.freeShards.pop() ?? randomInt(SHARDS);
  }

  release(shard: number): void {
    this.freeShards.push(shard);
  }
}

/** The row that a commit raises. `instanceId` is any instance that it writes to; null if there is none. */
export interface ClockMark {
  readonly instanceId: string | null;
  readonly shard: number;
}

/** Raises the recorded time of the row to `latestTime`, unless it is already later. */
export function raiseLatestTime(session: TransactionSession, { instanceId, shard }: ClockMark, latestTime: number): void {
  if (latestTime <= 0) return;
  if (instanceId === null) session.send(RAISE_WITHOUT_INSTANCE, [shard, latestTime]);
  else session.sendJoined(RAISE, [instanceId, shard, latestTime]);
}

/** Returns the latest time in Unix ms; 0 if none was recorded. */
export async function readLatestTime(session: Session): Promise<number> {
  const [row] = await session.query(SELECT_LATEST_TIME);
  return row ? integer(row, 'latest') : 0;
}
