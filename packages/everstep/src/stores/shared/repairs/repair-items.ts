/** Reads and writes the entries of repairs. */
import {
  type CanaryGroup,
  NO_COUNTS,
  REPAIR_ITEM_STATES,
  type RepairCounts,
  type RepairItemState,
} from '../../../engine/dead-letters/repair.js';
import type {
  EndedItem,
  NewRepairItem,
  RepairableEntry,
  RepairId,
  RepairItemRecord,
  ScheduledDeletion,
} from '../../../ports/stores/repair-store.js';
import type { StoreWrite } from '../../../ports/stores/store.js';
import { integer, type Row, text, textOrNull, word } from '../../records/columns.js';
import { INSTANCE_COLUMN, inList, instanceColumnValue, isTrue, rowsOf } from '../sql/dialect.js';
import { count, type Procedure, rows, send } from '../sql/procedure.js';
import { byDialect, raw, type Sql, sql } from '../sql/sql.js';
import { FLAG, NUMBER, nullable, oneOf, TEXT, table } from '../sql/table.js';

const ITEM = table<RepairItemRecord>('repair_item', {
  n: NUMBER,
  dlqId: TEXT,
  runKey: TEXT,
  workflowRunId: TEXT,
  workflowUrl: TEXT,
  fingerprint: nullable(TEXT),
  state: oneOf(REPAIR_ITEM_STATES),
  canary: FLAG,
  newRunKey: nullable(TEXT),
  newWorkflowRunId: nullable(TEXT),
  newDlqId: nullable(TEXT),
  error: nullable(TEXT),
  at: nullable(NUMBER),
});

/** Columns of a dead letter that a plan needs. */
export const ENTRY = table<RepairableEntry>('dead_letter', {
  dlqId: TEXT,
  runKey: TEXT,
  workflowRunId: TEXT,
  workflowUrl: TEXT,
  failedAt: NUMBER,
  steps: NUMBER,
  fingerprint: nullable(TEXT),
});

/** Columns that refer to the repair of an entry: its number in SQLite, its id in PostgreSQL. */
const REPAIR = byDialect({ sqlite: raw('repair_seq'), postgres: raw('instance_id, repair_id') });
const numberOf = ({ instanceId, repairId }: RepairId): Sql =>
  sql`(SELECT seq FROM repair WHERE repair_id = ${repairId} AND tenant = ${instanceColumnValue(instanceId)})`;
const repairOf = (id: RepairId): Sql => byDialect({ sqlite: numberOf(id), postgres: sql`${id.instanceId}, ${id.repairId}` });
export const ofRepair = (id: RepairId): Sql =>
  byDialect({
    sqlite: sql`repair_seq = ${numberOf(id)}`,
    postgres: sql`instance_id = ${id.instanceId} AND repair_id = ${id.repairId}`,
  });

/** SQLite has no statistics and would read all rows before the first that matches, so the index is named. */
export const indexedBy = (index: string): Sql => byDialect({ sqlite: raw(`INDEXED BY ${index}`), postgres: raw('') });

const UNDO_UNTIL = byDialect({
  sqlite: raw(`json_extract(r.data, '$.repair.undoUntil')`),
  postgres: raw(`((r.data::jsonb)->'repair'->>'undoUntil')::bigint`),
});
const IS_OF_REPAIR = byDialect({
  sqlite: raw('r.seq = i.repair_seq'),
  postgres: raw('r.instance_id = i.instance_id AND r.repair_id = i.repair_id'),
});

const NEW_ITEM = {
  n: 'integer',
  rank: 'integer',
  dlq_id: 'text',
  run_key: 'text',
  workflow_run_id: 'text',
  workflow_url: 'text',
  fingerprint: 'text',
} as const;
const COLUMNS = raw(Object.keys(NEW_ITEM).join(', '));

export function* addItems(id: RepairId, items: readonly NewRepairItem[]): Procedure<void> {
  const itemRows = items.map(({ n, rank, dlqId, runKey, workflowRunId, workflowUrl, fingerprint }) => ({
    n,
    rank,
    dlq_id: dlqId,
    run_key: runKey,
    workflow_run_id: workflowRunId,
    workflow_url: workflowUrl,
    fingerprint,
  }));
  yield* send(sql`
    INSERT INTO repair_item (${REPAIR}, canary, state, ${COLUMNS})
    SELECT ${repairOf(id)}, ${false}, 'pending', ${COLUMNS} FROM ${rowsOf(NEW_ITEM, itemRows)}`);
}

export const chooseCanary = (id: RepairId, size: number): Procedure<void> =>
  send(sql`
    UPDATE repair_item SET canary = ${true} WHERE ${ofRepair(id)} AND n IN (
      SELECT n FROM repair_item WHERE ${ofRepair(id)} AND rank IS NOT NULL ORDER BY rank, n LIMIT ${size})`);

/** Returns the scheduled deletions of these entries; of several for one entry, the earliest. */
export function* scheduledDeletions(instanceId: string, dlqIds: readonly string[]): Procedure<readonly ScheduledDeletion[]> {
  const foundRows = yield* rows(sql`
    SELECT i.dlq_id, r.repair_id, ${UNDO_UNTIL} AS at
    FROM repair_item i ${indexedBy('repair_item_of_entry')} JOIN repair r ON ${IS_OF_REPAIR}
    WHERE i.dlq_id ${inList(dlqIds)} AND i.state = 'pending' AND r.${INSTANCE_COLUMN} = ${instanceColumnValue(instanceId)} AND r.phase = 'undo-window'`);
  const earliestDeletions = new Map<string, ScheduledDeletion>();
  for (const deletionRow of foundRows) {
    const deletion = {
      dlqId: text(deletionRow, 'dlq_id'),
      repairId: text(deletionRow, 'repair_id'),
      at: integer(deletionRow, 'at'),
    };
    if (deletion.at < (earliestDeletions.get(deletion.dlqId)?.at ?? Number.POSITIVE_INFINITY))
      earliestDeletions.set(deletion.dlqId, deletion);
  }
  return [...earliestDeletions.values()];
}

/** Returns pending entries in order; the canary takes an entry of each cohort before a second one of any. */
export function* pendingItems(id: RepairId, canaryOnly: boolean, limit: number): Procedure<readonly RepairItemRecord[]> {
  if (!canaryOnly) {
    const pendingRows = yield* rows(sql`
      SELECT * FROM repair_item ${indexedBy('repair_item_by_state')} WHERE ${ofRepair(id)} AND state = 'pending'
      ORDER BY n LIMIT ${limit}`);
    return pendingRows.map(ITEM.read);
  }
  // A canary is small. It is sorted here, because its index is in the order of the entries.
  const foundRows = yield* rows(sql`
    SELECT * FROM repair_item ${indexedBy('repair_item_of_canary')}
    WHERE ${ofRepair(id)} AND ${isTrue('canary')} AND state = 'pending' ORDER BY n`);
  return foundRows
    .toSorted((a, b) => integer(a, 'rank') - integer(b, 'rank'))
    .slice(0, limit)
    .map(ITEM.read);
}

export function* canaryGroups(id: RepairId): Procedure<readonly CanaryGroup[]> {
  const foundRows = yield* rows(sql`
    SELECT fingerprint, state, 1 AS items FROM repair_item ${indexedBy('repair_item_of_canary')}
    WHERE ${ofRepair(id)} AND ${isTrue('canary')}`);
  const groups = new Map<string | null, Row[]>();
  for (const row of foundRows) {
    const fingerprint = textOrNull(row, 'fingerprint');
    groups.set(fingerprint, [...(groups.get(fingerprint) ?? []), row]);
  }
  return [...groups]
    .sort(([a], [b]) => ((a ?? '') < (b ?? '') ? -1 : 1))
    .map(([fingerprint, groupRows]) => ({ fingerprint, counts: countsOf(groupRows) }));
}

/** Records the outcomes of these entries. Returns the indexes of those that had not been recorded before. */
export function* settleItems(id: RepairId, items: readonly EndedItem[], at: number): Procedure<readonly number[]> {
  const endedRows = rowsOf(
    { n: 'integer', state: 'text', new_dlq_id: 'text', error: 'text' },
    items.map(({ n, state, newDlqId, error }) => ({ n, state, new_dlq_id: newDlqId, error })),
  );
  const settledRows = yield* rows(sql`
    UPDATE repair_item SET state = listed.state, new_dlq_id = listed.new_dlq_id, error = listed.error, at = ${at}
    FROM ${endedRows} WHERE ${ofRepair(id)} AND repair_item.n = listed.n AND repair_item.state = 'started'
    RETURNING repair_item.n`);
  return settledRows.map((settledRow) => integer(settledRow, 'n'));
}

/** Records the outcome of an entry. Changes nothing if the entry is no longer pending. Part of a batch. */
export function setItem(write: Extract<StoreWrite, { readonly kind: 'set-repair-item' }>): Procedure<void> {
  const { n, state, newRun, error, at } = write;
  return send(sql`
    UPDATE repair_item SET state = ${state}, new_run_key = ${newRun?.runKey ?? null},
      new_workflow_run_id = ${newRun?.workflowRunId ?? null}, error = ${error}, at = ${at}
    WHERE ${ofRepair(write)} AND n = ${n} AND state = 'pending'`);
}

export function* listItems(
  id: RepairId,
  states: readonly RepairItemState[] | undefined,
  after: number,
  limit: number,
): Procedure<{ readonly items: readonly RepairItemRecord[]; readonly next: number | null }> {
  const records: RepairItemRecord[] = [];
  const pageSql = sql`AND n > ${after} ORDER BY n LIMIT ${limit + 1}`;
  for (const state of states ?? [null]) {
    const stateRows =
      state === null
        ? yield* rows(sql`SELECT * FROM repair_item WHERE ${ofRepair(id)} ${pageSql}`)
        : yield* rows(sql`
            SELECT * FROM repair_item ${indexedBy('repair_item_by_state')} WHERE ${ofRepair(id)} AND state = ${state} ${pageSql}`);
    records.push(...stateRows.map(ITEM.read));
  }
  const items = records.sort((a, b) => a.n - b.n).slice(0, limit);
  return { items, next: records.length > limit ? (items.at(-1)?.n ?? null) : null };
}

/** Removes entries of the repair, at most `limit`. Returns their number. */
export const removeItems = (id: RepairId, limit: number): Procedure<number> =>
  count(sql`
    DELETE FROM repair_item WHERE ${ofRepair(id)} AND n IN (
      SELECT n FROM repair_item WHERE ${ofRepair(id)} ORDER BY n LIMIT ${limit})`);

/** Returns the counts of a repair from rows with `state` and `items`. */
export function countsOf(foundRows: readonly Row[]): RepairCounts {
  const counts: Record<RepairItemState, number> = { ...NO_COUNTS };
  for (const countRow of foundRows) counts[word(countRow, 'state', REPAIR_ITEM_STATES)] += integer(countRow, 'items');
  return counts;
}

/** Returns the outcome of a started entry whose new run was removed before its end was read. */
export const goneItem = (n: number, canary: boolean): EndedItem => ({
  n,
  canary,
  state: 'gone',
  newDlqId: null,
  error: 'its new run was removed before its end was recorded',
});

/** Returns a page of started entries: those that have ended, and the position at which to continue. */
export function endedPage(foundRows: readonly Row[], limit: number, endedItemOf: (row: Row) => EndedItem | null) {
  const lastRow = foundRows.length < limit ? undefined : foundRows.at(-1);
  const endedItems = foundRows.map(endedItemOf).filter((item) => item !== null);
  return { ended: endedItems, examined: foundRows.length, next: lastRow ? integer(lastRow, 'n') : null };
}
