/**
 * The latest time that was recorded, which a clock that starts must not be behind. It stands in many rows: of an instance
 * that a commit writes of, so that it stays on the shard of that, and of those one that the commit has for itself while
 * it is under way, so that commits do not wait for each other.
 */
import { randomInt } from 'node:crypto';
import type { StoreWrite } from '../../../ports/stores/store.js';
import { integer } from '../connection/columns.js';
import { type Session, statement, type TransactionSession } from '../connection/connection.js';

/** So few that they are read at once, so many that two processes rarely have the same. */
const SHARDS = 1024;

const RAISE = statement(`
  INSERT INTO instance_clock (instance_id, shard, latest_time) VALUES ($1, $2, $3)
  ON CONFLICT (instance_id, shard) DO UPDATE SET latest_time = excluded.latest_time
  WHERE instance_clock.latest_time < excluded.latest_time`);
/** What belongs to no instance. */
const RAISE_OWN = statement(`
  INSERT INTO clock_mark (shard, latest_time) VALUES ($1, $2)
  ON CONFLICT (shard) DO UPDATE SET latest_time = excluded.latest_time WHERE clock_mark.latest_time < excluded.latest_time`);
const LATEST = statement(`
  SELECT greatest((SELECT max(latest_time) FROM clock_mark), (SELECT max(latest_time) FROM instance_clock), 0) AS latest`);

/** Gives a row to each commit under way, the same ones again and again. */
export class ClockMarks {
  private readonly free: number[] = [];

  take(): number {
    return this.free.pop() ?? randomInt(SHARDS);
  }

  give(shard: number): void {
    this.free.push(shard);
  }
}

/** What a commit raises: a row of any instance that it writes of, null when it writes of none. */
export interface ClockMark {
  readonly instanceId: string | null;
  readonly shard: number;
}

/** Never lowers it. */
export function raiseLatestTime(session: TransactionSession, { instanceId, shard }: ClockMark, latestTime: number): void {
  if (latestTime <= 0) return;
  if (instanceId === null) session.send(RAISE_OWN, [shard, latestTime]);
  else session.send(RAISE, [instanceId, shard, latestTime]);
}

/** Unix ms; 0 when nothing was recorded. */
export async function readLatestTime(session: Session): Promise<number> {
  const [row] = await session.query(LATEST);
  return row ? integer(row, 'latest') : 0;
}

/** The time at which the write was decided, as far as it tells; else 0. */
export function timeOf(write: StoreWrite): number {
  switch (write.kind) {
    case 'record-step':
      return write.step.completedAt;
    case 'put-task':
      return write.task.createdAt;
    case 'create-run':
      return write.run.createdAt;
    case 'end-run':
      return write.completedAt;
    case 'record-attempt':
      return write.attempt.at;
    case 'add-dead-letter':
      return write.entry.createdAt;
    case 'keep-event':
      return write.event.receivedAt;
    case 'put-flow-control':
    case 'set-flow-control':
    case 'register-queue':
    case 'wake-invoker':
    case 'count-messages':
    case 'count-of-day':
    case 'set-repair-item':
      return write.at;
    case 'add-audit':
      return write.entry.at;
    case 'set-flow-window':
      return write.window?.startedAt ?? 0;
    case 'put-queue':
      return write.queue.updatedAt;
    case 'put-url-group':
      return write.group.updatedAt;
    case 'put-schedule':
      return Math.max(write.schedule.createdAt, write.schedule.lastFiredAt ?? 0);
    case 'set-hold':
      return write.hold?.since ?? 0;
    default:
      return 0;
  }
}
