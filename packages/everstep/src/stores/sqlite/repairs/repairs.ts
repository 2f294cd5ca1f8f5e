/** The repairs of the embedded store. Long reads are split into parts, between which the process does other work. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { NO_COUNTS, REPAIR_ITEM_STATES, type RepairItemState } from '../../../engine/dead-letters/repair.js';
import type { EndedItem, RepairableEntry, RepairCohort, RepairId, RepairStore } from '../../../ports/stores/repair-store.js';
import { flag, integer, integerOrNull, type Row, text, textOrNull } from '../../records/columns.js';
import { addSealedAudit } from '../../shared/audit/audit-chain.js';
import { countsOf, ENTRY, endedPage, goneItem, indexedBy, ofRepair } from '../../shared/repairs/repair-items.js';
import { createRepairs } from '../../shared/repairs/repairs.js';
import { ofInstance } from '../../shared/sql/dialect.js';
import { localWork, row, rows } from '../../shared/sql/procedure.js';
import { sql } from '../../shared/sql/sql.js';
import type { SqlSession } from '../connection/sql-session.js';
import type { StoreParts } from '../connection/store-parts.js';

/** Maximum number of entries that are read in one turn of the event loop, which takes a few ms. */
const DESCRIBED_PER_TURN = 250;
const READ_PER_TURN = 4_000;
const COUNTED_PER_TURN = 50_000;

const END_STATES: Readonly<Record<string, EndedItem['state']>> = {
  succeeded: 'succeeded',
  failed: 'failed',
  canceled: 'canceled',
};

function endedItemOf(foundRow: Row): EndedItem | null {
  const [n, canary, status] = [integer(foundRow, 'n'), flag(foundRow, 'canary'), textOrNull(foundRow, 'status')];
  if (status === null) return goneItem(n, canary);
  const state = END_STATES[status];
  return state ? { n, canary, state, newDlqId: textOrNull(foundRow, 'dlq_id'), error: textOrNull(foundRow, 'error') } : null;
}

async function readEntries(
  store: SqlSession,
  instanceId: string,
  dlqIds: readonly string[],
): Promise<readonly RepairableEntry[]> {
  const entries: RepairableEntry[] = [];
  for (const [index, dlqId] of dlqIds.entries()) {
    if (index > 0 && index % DESCRIBED_PER_TURN === 0) await nextTurn();
    const entry = store.run(
      row(sql`
        SELECT d.dlq_id, d.created_at AS failed_at, r.key AS run_key, r.workflow_run_id, r.workflow_url, d.fingerprint,
          (SELECT count(*) FROM step s WHERE s.run_seq = r.seq) AS steps
        FROM dead_letter d JOIN run r ON r.seq = d.run_seq WHERE d.dlq_id = ${dlqId} AND d.${ofInstance(instanceId)}`),
    );
    if (entry) entries.push(ENTRY.read(entry));
  }
  return entries;
}

/** Counts the cohorts in memory. Grouping in SQL would sort all entries, and one query per repair does not justify an index. */
async function countCohorts(store: SqlSession, id: RepairId): Promise<readonly RepairCohort[]> {
  const cohortsByKey = new Map<string, { readonly workflowUrl: string; readonly fingerprint: string | null; count: number }>();
  for (let foundRows: readonly Row[] = [], after = -1; ; await nextTurn()) {
    foundRows = store.run(
      rows(sql`
        SELECT n, workflow_url, fingerprint FROM repair_item WHERE ${ofRepair(id)} AND n > ${after} ORDER BY n LIMIT ${READ_PER_TURN}`),
    );
    for (const itemRow of foundRows) {
      const workflowUrl = text(itemRow, 'workflow_url');
      const fingerprint = textOrNull(itemRow, 'fingerprint');
      // A fingerprint has no space and is not empty.
      const key = `${workflowUrl} ${fingerprint ?? ''}`;
      const cohort = cohortsByKey.get(key) ?? { workflowUrl, fingerprint, count: 0 };
      cohort.count++;
      cohortsByKey.set(key, cohort);
    }
    const lastRow = foundRows.at(-1);
    if (lastRow === undefined || foundRows.length < READ_PER_TURN) break;
    after = integer(lastRow, 'n');
  }
  return [...cohortsByKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, cohort]) => cohort);
}

/** Counts the entries of the repair. The caller writes none of these entries at the same time. */
async function countEntries(store: SqlSession, id: RepairId): ReturnType<RepairStore['counts']> {
  const all: Record<RepairItemState, number> = { ...NO_COUNTS };
  const lastRow = store.run(row(sql`SELECT max(n) AS n FROM repair_item WHERE ${ofRepair(id)}`));
  const end = ((lastRow && integerOrNull(lastRow, 'n')) ?? -1) + 1;
  for (let from = 0; from < end; from += COUNTED_PER_TURN) {
    if (from > 0) await nextTurn();
    for (const state of REPAIR_ITEM_STATES) {
      const countRow = store.run(
        row(sql`
          SELECT count(*) AS items FROM repair_item ${indexedBy('repair_item_by_state')}
          WHERE ${ofRepair(id)} AND state = ${state} AND n >= ${from} AND n < ${from + COUNTED_PER_TURN}`),
      );
      all[state] += countRow ? integer(countRow, 'items') : 0;
    }
  }
  const canaryRows = store.run(
    rows(sql`
      SELECT state, 1 AS items FROM repair_item ${indexedBy('repair_item_of_canary')} WHERE ${ofRepair(id)} AND canary = 1`),
  );
  return { all, canary: countsOf(canaryRows) };
}

export function createSqliteRepairs({ tenants, counters }: StoreParts, store: SqlSession): RepairStore {
  return createRepairs(store, {
    addAudit: addSealedAudit,
    recordCreation: (instanceId, at) =>
      localWork(() => {
        tenants.findOrCreate(instanceId);
        counters.raise('latest_time', at);
      }),
    describe: ({ instanceId, dlqIds }) => readEntries(store, instanceId, dlqIds),
    cohorts: (id) => countCohorts(store, id),
    counts: (id) => countEntries(store, id),
    async endedItems({ after, limit, ...id }) {
      const startedRows = store.run(
        rows(sql`
          SELECT i.n, i.canary, r.status, r.error, d.dlq_id FROM repair_item i ${indexedBy('repair_item_by_state')}
          LEFT JOIN run r ON r.key = i.new_run_key LEFT JOIN dead_letter d ON d.seq = r.dead_letter_seq
          WHERE i.${ofRepair(id)} AND i.state = 'started' AND i.n > ${after} ORDER BY i.n LIMIT ${limit}`),
      );
      return endedPage(startedRows, limit, endedItemOf);
    },
  });
}
