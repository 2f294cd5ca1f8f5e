/** Writes queues, and reads the messages that are in them. */
import type { StatementSync } from 'node:sqlite';
import type { Queue } from '../../../engine/runs/run.js';
import type { WriteOf } from '../../../engine/writes.js';
import type { Applier } from '../commit/applier.js';
import { integer, text } from '../connection/columns.js';
import type { StoreParts } from '../connection/store-parts.js';

export class QueueRecords implements Applier<WriteOf<'queue'>> {
  private readonly parts: StoreParts;
  private readonly insertNew: StatementSync;
  private readonly replace: StatementSync;
  private readonly deleteQueue: StatementSync;
  private readonly selectCount: StatementSync;
  private readonly selectRetried: StatementSync;

  constructor(parts: StoreParts) {
    const { connection } = parts;
    this.parts = parts;
    const insert = 'INSERT INTO queue (tenant, name, parallelism, paused, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)';
    this.insertNew = connection.prepare(`${insert} ON CONFLICT (tenant, name) DO NOTHING`);
    this.replace = connection.prepare(
      `${insert} ON CONFLICT (tenant, name) DO UPDATE SET parallelism = excluded.parallelism, paused = excluded.paused,
         created_at = excluded.created_at, updated_at = excluded.updated_at`,
    );
    this.deleteQueue = connection.prepare('DELETE FROM queue WHERE tenant = ? AND name = ?');
    this.selectCount = connection.prepare(
      `SELECT count(*) AS messages FROM run WHERE tenant = ? AND queue = ? AND status = 'active'`,
    );
    this.selectRetried = connection.prepare(
      `SELECT r.key FROM task t JOIN run r ON r.seq = t.run_seq
       WHERE t.queue = ? AND t.retried > 0 AND t.due_at IS NOT NULL AND r.tenant = ? AND r.status = 'active' ORDER BY t.run_seq`,
    );
  }

  apply(write: WriteOf<'queue'>): void {
    switch (write.kind) {
      case 'register-queue':
        this.register(write.instanceId, write.name, write.at);
        break;
      case 'put-queue':
        this.put(write.instanceId, write.queue);
        break;
      case 'delete-queue':
        this.delete(write.instanceId, write.name);
        break;
      default:
        write satisfies never;
    }
  }

  /** Creates the queue; does nothing if it exists. */
  private register(instanceId: string, name: string, at: number): void {
    this.insertNew.run(this.parts.tenants.findOrCreate(instanceId), name, 1, 0, at, at);
  }

  private put(instanceId: string, { name, parallelism, paused, createdAt, updatedAt }: Queue): void {
    const tenant = this.parts.tenants.findOrCreate(instanceId);
    this.replace.run(tenant, name, parallelism, paused ? 1 : 0, createdAt, updatedAt);
  }

  /** Deletes the queue, but not its messages. */
  private delete(instanceId: string, name: string): void {
    const tenant = this.parts.tenants.find(instanceId);
    if (tenant !== null) this.deleteQueue.run(tenant, name);
  }

  /** Returns the number of messages that have not ended. */
  countMessages(instanceId: string, name: string): number {
    const tenant = this.parts.tenants.find(instanceId);
    const row = tenant === null ? undefined : this.selectCount.get(tenant, name);
    return row ? integer(row, 'messages') : 0;
  }

  /** Returns the keys of active messages that have failed before, in the order of their creation. */
  retriedKeys(instanceId: string, name: string): readonly string[] {
    const tenant = this.parts.tenants.find(instanceId);
    return tenant === null ? [] : this.selectRetried.all(name, tenant).map((row) => text(row, 'key'));
  }
}
