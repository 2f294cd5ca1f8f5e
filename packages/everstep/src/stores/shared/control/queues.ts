/** Reads queues of messages. Each store writes them in its own way, because every queued message also writes its queue. */
import type { Queue } from '../../../engine/runs/run.js';
import { ofInstance } from '../sql/dialect.js';
import { type Procedure, row, rows } from '../sql/procedure.js';
import { sql } from '../sql/sql.js';
import { FLAG, NUMBER, TEXT, table } from '../sql/table.js';

export const QUEUE = table<Queue>('queue', {
  name: TEXT,
  parallelism: NUMBER,
  paused: FLAG,
  createdAt: NUMBER,
  updatedAt: NUMBER,
});

/** Returns the queues of the instance, ordered by name. */
export function* listQueues(instanceId: string): Procedure<readonly Queue[]> {
  return (yield* rows(sql`SELECT * FROM queue WHERE ${ofInstance(instanceId)} ORDER BY name`)).map(QUEUE.read);
}

export function* findQueue(instanceId: string, name: string): Procedure<Queue | null> {
  const foundRow = yield* row(sql`SELECT * FROM queue WHERE ${ofInstance(instanceId)} AND name = ${name}`);
  return foundRow && QUEUE.read(foundRow);
}
