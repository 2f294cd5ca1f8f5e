/** Groups of dead letters in the embedded store. Entries of versions without groups are added to groups. */
import type { DeadLetterGroupStore, RegroupedEntry } from '../../../ports/stores/dead-letter-groups.js';
import { integer, integerOrNull } from '../../records/columns.js';
import { addSealedAudit } from '../../shared/audit/audit-chain.js';
import { exampleOf, type GroupExample, SHORT_RESPONSE, ungroupedOf } from '../../shared/dead-letters/dead-letter-groups.js';
import { createDeadLetterGroups } from '../../shared/dead-letters/group-store.js';
import { type Procedure, row, rows, send } from '../../shared/sql/procedure.js';
import { raw, sql } from '../../shared/sql/sql.js';
import type { SqlSession } from '../connection/sql-session.js';
import type { StoreParts } from '../connection/store-parts.js';
import { FACET } from '../listing/facets/facets.js';

export function createSqliteDeadLetterGroups(parts: StoreParts, store: SqlSession): DeadLetterGroupStore {
  const { tenants, facets, groups } = parts;

  function* examples(instanceId: string, fingerprints: readonly string[]): Procedure<ReadonlyMap<string, GroupExample>> {
    const tenant = tenants.find(instanceId);
    const newestEntries = new Map<string, GroupExample>();
    if (tenant === null) return newestEntries;
    for (const fingerprint of fingerprints) {
      const newest = facets.newest(tenant, { facet: FACET.deadLetterFingerprint, value: fingerprint });
      const entry =
        newest === null ? null : yield* row(sql`SELECT dlq_id, error, failed_by FROM dead_letter WHERE seq = ${newest}`);
      if (entry) newestEntries.set(fingerprint, exampleOf(entry));
    }
    return newestEntries;
  }

  function* regroupEntry({ instanceId, dlqId, fingerprint, group }: RegroupedEntry): Procedure<void> {
    const tenant = tenants.find(instanceId);
    if (tenant === null) return;
    const entry = yield* row(sql`
      SELECT seq, response_status, created_at FROM dead_letter
      WHERE dlq_id = ${dlqId} AND tenant = ${tenant} AND fingerprint IS ${fingerprint}`);
    if (!entry) return;
    const seq = integer(entry, 'seq');
    yield* send(sql`UPDATE dead_letter SET fingerprint = ${group.fingerprint}, rules = ${group.rules} WHERE seq = ${seq}`);
    facets.add(tenant, { facet: FACET.deadLetterFingerprint, value: group.fingerprint }, seq);
    const [status, at] = [integerOrNull(entry, 'response_status'), integer(entry, 'created_at')];
    if (fingerprint === null) groups.addEntry(instanceId, group, status, at);
    else {
      facets.remove(tenant, { facet: FACET.deadLetterFingerprint, value: fingerprint }, seq);
      groups.moveEntry(instanceId, fingerprint, group, status, at);
    }
  }

  return createDeadLetterGroups(store, {
    addAudit: addSealedAudit,
    examples,
    async ungrouped({ limit }) {
      const foundRows = await store.read(
        rows(sql`
          SELECT t.instance_id, d.dlq_id, d.fingerprint, d.failed_by, ${raw(SHORT_RESPONSE)}, d.response_status, d.error, r.workflow_url, a.name, a.cause, a.message,
            CASE WHEN r.settings ->> 'message' IS NULL THEN 'workflow' ELSE 'message' END AS kind
          FROM dead_letter d JOIN run r ON r.seq = d.run_seq JOIN tenant t ON t.seq = d.tenant
          LEFT JOIN attempt a ON a.seq = (
            SELECT max(x.seq) FROM attempt x WHERE x.run_seq = d.run_seq AND x.slot >= 0 AND x.retry_at IS NULL)
          WHERE d.rules < 2 AND d.seq > 0 ORDER BY d.seq LIMIT ${limit}`),
      );
      return foundRows.map(ungroupedOf);
    },
    group: ({ entries }) =>
      store.write(function* () {
        for (const entry of entries) yield* regroupEntry(entry);
      }),
    // No other process writes the file.
    recount: async () => null,
  });
}
