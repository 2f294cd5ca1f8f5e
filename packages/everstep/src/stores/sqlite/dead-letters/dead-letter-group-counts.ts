/**
 * Counters of groups of dead letters. Changes are summed in memory over a batch and written once for each group with the batch.
 * Keeps invariant 7.
 */
import type { StatementSync } from 'node:sqlite';
import { GroupChanges, SEVERAL_SUCCESSORS } from '../../../engine/dead-letters/dead-letter-groups.js';
import type { Connection } from '../connection/connection.js';
import type { Tenants } from '../listing/tenants.js';

/** SQL: whether entries were added after the group was resolved. */
const ADDED_AFTER_RESOLUTION = 'resolved_at <= excluded.last_seen_at';

export class GroupCounts extends GroupChanges {
  private readonly tenants: Tenants;
  private readonly upsert: StatementSync;
  private readonly removeEntries: StatementSync;
  private readonly moveTotal: StatementSync;
  private readonly resolveEmpty: StatementSync;
  private readonly upsertWorkflow: StatementSync;
  private readonly deleteWorkflow: StatementSync;
  private readonly upsertHour: StatementSync;

  constructor(connection: Connection, tenants: Tenants) {
    super();
    this.tenants = tenants;
    this.upsert = connection.prepare(
      `INSERT INTO dead_letter_group (tenant, fingerprint, kind, step_name, response_status, message, first_seen_at,
         last_seen_at, total, entries, rank)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)
       ON CONFLICT (tenant, fingerprint) DO UPDATE SET
         total = total + excluded.total,
         entries = entries + excluded.entries,
         first_seen_at = min(first_seen_at, excluded.first_seen_at),
         last_seen_at = max(last_seen_at, excluded.last_seen_at),
         regressed_at = CASE WHEN ${ADDED_AFTER_RESOLUTION} THEN excluded.last_seen_at ELSE regressed_at END,
         rank = CASE WHEN ${ADDED_AFTER_RESOLUTION} THEN 0 ELSE rank END,
         resolved_at = CASE WHEN ${ADDED_AFTER_RESOLUTION} THEN NULL ELSE resolved_at END`,
    );
    this.removeEntries = connection.prepare(
      'UPDATE dead_letter_group SET entries = entries - ? WHERE tenant = ? AND fingerprint = ? RETURNING entries',
    );
    this.moveTotal = connection.prepare(
      `UPDATE dead_letter_group SET total = total - ?,
         successor = CASE WHEN coalesce(successor, ?) = ? THEN ? ELSE '${SEVERAL_SUCCESSORS}' END
       WHERE tenant = ? AND fingerprint = ?`,
    );
    this.resolveEmpty = connection.prepare(
      `UPDATE dead_letter_group SET resolved_at = ?, regressed_at = NULL,
         rank = CASE WHEN rank > 0 THEN rank WHEN acknowledged_at IS NULL THEN 1 ELSE 2 END
       WHERE tenant = ? AND fingerprint = ?`,
    );
    this.upsertWorkflow = connection.prepare(
      `INSERT INTO dead_letter_group_workflow (tenant, fingerprint, workflow_url, entries) VALUES (?, ?, ?, ?)
       ON CONFLICT (tenant, fingerprint, workflow_url) DO UPDATE SET entries = entries + excluded.entries RETURNING entries`,
    );
    this.deleteWorkflow = connection.prepare(
      'DELETE FROM dead_letter_group_workflow WHERE tenant = ? AND fingerprint = ? AND workflow_url = ?',
    );
    this.upsertHour = connection.prepare(
      `INSERT INTO dead_letter_group_hour (tenant, fingerprint, hour, count) VALUES (?, ?, ?, ?)
       ON CONFLICT (tenant, fingerprint, hour) DO UPDATE SET count = count + excluded.count`,
    );
  }

  /** Writes the changes. Must be called at the end of the transaction, inside it. */
  flush(): void {
    if (!this.hasChanges) return;
    const { groups, workflows, hours } = this.take();
    for (const {
      instanceId,
      fingerprint,
      properties,
      firstAt,
      lastAt,
      added,
      removed,
      recoveredAt,
      moved,
      successor,
    } of groups) {
      const tenant = this.tenants.findOrCreate(instanceId);
      if (properties) {
        const { kind, stepName, responseStatus, message } = properties;
        this.upsert.run(tenant, fingerprint, kind, stepName, responseStatus, message, firstAt, lastAt, added, added);
      }
      if (removed === 0) continue;
      if (moved > 0) this.moveTotal.run(moved, successor, successor, successor, tenant, fingerprint);
      const entries = this.removeEntries.get(removed, tenant, fingerprint)?.entries;
      if (entries === 0 && recoveredAt !== null) this.resolveEmpty.run(recoveredAt, tenant, fingerprint);
    }
    for (const { instanceId, fingerprint, workflowUrl, entries } of workflows) {
      const tenant = this.tenants.findOrCreate(instanceId);
      const remaining = this.upsertWorkflow.get(tenant, fingerprint, workflowUrl, entries)?.entries;
      if (remaining === 0) this.deleteWorkflow.run(tenant, fingerprint, workflowUrl);
    }
    for (const { instanceId, fingerprint, hour, added } of hours) {
      this.upsertHour.run(this.tenants.findOrCreate(instanceId), fingerprint, hour, added);
    }
  }
}
