/** Stores the deduplication ids of triggers, and finds the runs that have them. */
import type { StatementSync } from 'node:sqlite';
import type { RunReference, WriteOf } from '../../../engine/writes.js';
import type { Applier } from '../commit/applier.js';
import { integer, text } from '../connection/columns.js';
import type { StoreParts } from '../connection/store-parts.js';

/** Number of expired ids that are removed for each new id. It is more than one, so that the number of expired ids decreases. */
const EXPIRED_PER_NEW = 4;

export class TriggerRecords implements Applier<WriteOf<'deduplication'>> {
  private readonly parts: StoreParts;
  private readonly selectUnexpired: StatementSync;
  private readonly replaceDeduplication: StatementSync;
  private readonly deleteExpired: StatementSync;

  constructor(parts: StoreParts) {
    const { connection } = parts;
    this.parts = parts;
    this.selectUnexpired = connection.prepare(
      `SELECT r.key, r.workflow_run_id, r.created_at FROM deduplication d JOIN run r ON r.key = d.run_key
       WHERE d.tenant = ? AND d.deduplication_id = ? AND d.expires_at > ?`,
    );
    this.replaceDeduplication = connection.prepare(
      `INSERT INTO deduplication (tenant, deduplication_id, run_key, expires_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (tenant, deduplication_id) DO UPDATE SET run_key = excluded.run_key, expires_at = excluded.expires_at`,
    );
    this.deleteExpired = connection.prepare(
      `DELETE FROM deduplication WHERE seq IN
         (SELECT seq FROM deduplication WHERE expires_at <= ? ORDER BY expires_at LIMIT ${EXPIRED_PER_NEW})`,
    );
  }

  /** Returns the run that has the id at `now`; null if the id is free. */
  findDuplicate(instanceId: string, deduplicationId: string, now: number): RunReference | null {
    const tenant = this.parts.tenants.find(instanceId);
    if (tenant === null) return null;
    this.deleteExpired.run(now);
    const row = this.selectUnexpired.get(tenant, deduplicationId, now);
    return row
      ? { runKey: text(row, 'key'), workflowRunId: text(row, 'workflow_run_id'), createdAt: integer(row, 'created_at') }
      : null;
  }

  apply({ instanceId, deduplicationId, runKey, expiresAt }: WriteOf<'deduplication'>): void {
    const tenant = this.parts.tenants.findOrCreate(instanceId);
    this.replaceDeduplication.run(tenant, deduplicationId, runKey, expiresAt);
  }
}
