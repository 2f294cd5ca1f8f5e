/** The entries that repairs froze, by the row number of their repair. */
import type { StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { NO_COUNTS, REPAIR_ITEM_STATES, type RepairCounts, type RepairItemState } from '../../../engine/dead-letters/repair.js';
import type {
  EndedItem,
  NewRepairItem,
  RepairableEntry,
  RepairCohort,
  RepairItemRecord,
  ScheduledDeletion,
} from '../../../ports/stores/repair-store.js';
import type { StoreWrite } from '../../../ports/stores/store.js';
import { integer, integerOrNull, type Row, text, textOrNull, word } from '../connection/columns.js';
import type { StoreParts } from '../connection/store-parts.js';

/** Looked at before others may go on: some ms each. */
const LANES_PER_TURN = 4_000;
const COUNTED_PER_TURN = 50_000;

const ENDS: Readonly<Record<string, EndedItem['state']>> = { succeeded: 'succeeded', failed: 'failed', canceled: 'canceled' };

const itemOf = (row: Row): RepairItemRecord => ({
  n: integer(row, 'n'),
  dlqId: text(row, 'dlq_id'),
  runKey: text(row, 'run_key'),
  workflowRunId: text(row, 'workflow_run_id'),
  workflowUrl: text(row, 'workflow_url'),
  fingerprint: textOrNull(row, 'fingerprint'),
  state: word(row, 'state', REPAIR_ITEM_STATES),
  canary: integer(row, 'canary') === 1,
  newRunKey: textOrNull(row, 'new_run_key'),
  newWorkflowRunId: textOrNull(row, 'new_workflow_run_id'),
  newDlqId: textOrNull(row, 'new_dlq_id'),
  error: textOrNull(row, 'error'),
  at: integerOrNull(row, 'at'),
});

const countsOf = (rows: readonly Row[]): RepairCounts => {
  const counts: Record<RepairItemState, number> = { ...NO_COUNTS };
  for (const row of rows) counts[word(row, 'state', REPAIR_ITEM_STATES)] += integer(row, 'items');
  return counts;
};

function endedOf(row: Row): EndedItem | null {
  const [n, canary] = [integer(row, 'n'), integer(row, 'canary') === 1];
  const status = textOrNull(row, 'status');
  if (status === null)
    return { n, canary, state: 'gone', newDlqId: null, error: 'its new run was removed before its end was seen' };
  const state = ENDS[status];
  return state ? { n, canary, state, newDlqId: textOrNull(row, 'dlq_id'), error: textOrNull(row, 'error') } : null;
}

export class RepairItems {
  private readonly selectEntry: StatementSync;
  private readonly insertItem: StatementSync;
  private readonly markCanary: StatementSync;
  private readonly selectDeletion: StatementSync;
  private readonly selectLanes: StatementSync;
  private readonly selectPending: StatementSync;
  private readonly selectPendingCanary: StatementSync;
  private readonly selectAll: StatementSync;
  private readonly selectOfState: StatementSync;
  private readonly selectLast: StatementSync;
  private readonly countRange: StatementSync;
  private readonly countCanary: StatementSync;
  private readonly selectStarted: StatementSync;
  private readonly settleItem: StatementSync;
  private readonly setPending: StatementSync;
  private readonly deleteItems: StatementSync;

  constructor({ connection }: StoreParts) {
    this.selectEntry = connection.prepare(
      `SELECT d.created_at, r.key, r.workflow_run_id, r.workflow_url, d.fingerprint,
         (SELECT count(*) FROM step s WHERE s.run_seq = r.seq) AS steps
       FROM dead_letter d JOIN run r ON r.seq = d.run_seq WHERE d.dlq_id = ? AND d.tenant = ?`,
    );
    this.insertItem = connection.prepare(
      `INSERT INTO repair_item (repair_seq, n, state, canary, rank, dlq_id, run_key, workflow_run_id, workflow_url, fingerprint)
       VALUES (?, ?, 'pending', 0, ?, ?, ?, ?, ?, ?)`,
    );
    this.markCanary = connection.prepare(
      `UPDATE repair_item SET canary = 1 WHERE repair_seq = ? AND n IN (
         SELECT n FROM repair_item WHERE repair_seq = ? AND rank IS NOT NULL ORDER BY rank, n LIMIT ?)`,
    );
    // The row of the minimum, without sorting.
    this.selectDeletion = connection.prepare(
      `SELECT r.repair_id, min(json_extract(r.data, '$.repair.undoUntil')) AS at
       FROM repair_item i INDEXED BY repair_item_of_entry JOIN repair r ON r.seq = i.repair_seq
       WHERE i.dlq_id = ? AND i.state = 'pending' AND r.tenant = ? AND r.phase = 'undo-window' HAVING count(*) > 0`,
    );
    // Counted below: grouping would sort all of them, and no index of its own is worth it for what is asked once.
    this.selectLanes = connection.prepare(
      'SELECT n, workflow_url, fingerprint FROM repair_item WHERE repair_seq = ? AND n > ? ORDER BY n LIMIT ?',
    );
    // Which index to go by is said: without statistics all rows before the first that fits would be read.
    this.selectPending = connection.prepare(
      `SELECT * FROM repair_item INDEXED BY repair_item_by_state
       WHERE repair_seq = ? AND state = 'pending' ORDER BY n LIMIT ?`,
    );
    this.selectPendingCanary = connection.prepare(
      `SELECT * FROM repair_item INDEXED BY repair_item_of_canary
       WHERE repair_seq = ? AND canary = 1 AND state = 'pending' ORDER BY n LIMIT ?`,
    );
    this.selectAll = connection.prepare('SELECT * FROM repair_item WHERE repair_seq = ? AND n > ? ORDER BY n LIMIT ?');
    this.selectOfState = connection.prepare(
      `SELECT * FROM repair_item INDEXED BY repair_item_by_state
       WHERE repair_seq = ? AND state = ? AND n > ? ORDER BY n LIMIT ?`,
    );
    this.selectLast = connection.prepare('SELECT max(n) AS n FROM repair_item WHERE repair_seq = ?');
    this.countRange = connection.prepare(
      `SELECT count(*) AS items FROM repair_item INDEXED BY repair_item_by_state
       WHERE repair_seq = ? AND state = ? AND n >= ? AND n < ?`,
    );
    this.countCanary = connection.prepare(
      'SELECT state, 1 AS items FROM repair_item INDEXED BY repair_item_of_canary WHERE repair_seq = ? AND canary = 1',
    );
    this.selectStarted = connection.prepare(
      `SELECT i.n, i.canary, r.status, r.error, d.dlq_id FROM repair_item i INDEXED BY repair_item_by_state
       LEFT JOIN run r ON r.key = i.new_run_key LEFT JOIN dead_letter d ON d.seq = r.dead_letter_seq
       WHERE i.repair_seq = ? AND i.state = 'started' AND i.n > ? ORDER BY i.n LIMIT ?`,
    );
    this.settleItem = connection.prepare(
      `UPDATE repair_item SET state = ?, new_dlq_id = ?, error = ?, at = ?
       WHERE repair_seq = ? AND n = ? AND state = 'started'`,
    );
    this.setPending = connection.prepare(
      `UPDATE repair_item SET state = ?, new_run_key = ?, new_workflow_run_id = ?, error = ?, at = ?
       WHERE repair_seq = ? AND n = ? AND state = 'pending'`,
    );
    this.deleteItems = connection.prepare(
      'DELETE FROM repair_item WHERE repair_seq = ? AND n IN (SELECT n FROM repair_item WHERE repair_seq = ? ORDER BY n LIMIT ?)',
    );
  }

  describe(tenant: number, dlqId: string): RepairableEntry | null {
    const row = this.selectEntry.get(dlqId, tenant);
    if (!row) return null;
    return {
      dlqId,
      runKey: text(row, 'key'),
      workflowRunId: text(row, 'workflow_run_id'),
      workflowUrl: text(row, 'workflow_url'),
      failedAt: integer(row, 'created_at'),
      steps: integer(row, 'steps'),
      fingerprint: textOrNull(row, 'fingerprint'),
    };
  }

  comingDeletion(tenant: number, dlqId: string): ScheduledDeletion | null {
    const row = this.selectDeletion.get(dlqId, tenant);
    return row ? { dlqId, repairId: text(row, 'repair_id'), at: integer(row, 'at') } : null;
  }

  add(repair: number, items: readonly NewRepairItem[]): void {
    for (const { n, rank, dlqId, runKey, workflowRunId, workflowUrl, fingerprint } of items)
      this.insertItem.run(repair, n, rank, dlqId, runKey, workflowRunId, workflowUrl, fingerprint);
  }

  chooseCanary(repair: number, count: number): void {
    this.markCanary.run(repair, repair, count);
  }

  async lanes(repair: number): Promise<readonly RepairCohort[]> {
    const lanes = new Map<string, { readonly workflowUrl: string; readonly fingerprint: string | null; count: number }>();
    for (let rows: readonly Row[] = [], after = -1; ; await nextTurn()) {
      rows = this.selectLanes.all(repair, after, LANES_PER_TURN);
      for (const row of rows) {
        const workflowUrl = text(row, 'workflow_url');
        const fingerprint = textOrNull(row, 'fingerprint');
        // No fingerprint has a space, and null is no fingerprint.
        const key = `${fingerprint ?? ''} ${workflowUrl}`;
        const lane = lanes.get(key) ?? { workflowUrl, fingerprint, count: 0 };
        lane.count++;
        lanes.set(key, lane);
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < LANES_PER_TURN) break;
      after = integer(last, 'n');
    }
    const name = (lane: RepairCohort) => `${lane.workflowUrl} ${lane.fingerprint ?? ''}`;
    return [...lanes.values()].sort((a, b) => (name(a) < name(b) ? -1 : 1));
  }

  pending(repair: number, canaryOnly: boolean, limit: number): readonly RepairItemRecord[] {
    return (canaryOnly ? this.selectPendingCanary : this.selectPending).all(repair, limit).map(itemOf);
  }

  /** In parts, between which others may go on: whoever asks writes none of these items meanwhile. */
  async counts(repair: number): Promise<{ readonly all: RepairCounts; readonly canary: RepairCounts }> {
    const all: Record<RepairItemState, number> = { ...NO_COUNTS };
    const last = this.selectLast.get(repair);
    const end = (last ? (integerOrNull(last, 'n') ?? -1) : -1) + 1;
    for (let from = 0; from < end; from += COUNTED_PER_TURN) {
      if (from > 0) await nextTurn();
      for (const state of REPAIR_ITEM_STATES) {
        const row = this.countRange.get(repair, state, from, from + COUNTED_PER_TURN);
        all[state] += row ? integer(row, 'items') : 0;
      }
    }
    return { all, canary: countsOf(this.countCanary.all(repair)) };
  }

  ended(repair: number, after: number, limit: number) {
    const rows = this.selectStarted.all(repair, after, limit);
    const ended = rows.map(endedOf).filter((item) => item !== null);
    const last = rows.length < limit ? undefined : rows.at(-1);
    return { ended, looked: rows.length, next: last ? integer(last, 'n') : null };
  }

  /** False when it is not started any more. */
  settle(repair: number, { n, state, newDlqId, error }: EndedItem, at: number): boolean {
    return this.settleItem.run(state, newDlqId, error, at, repair, n).changes === 1;
  }

  set(repair: number, write: Extract<StoreWrite, { readonly kind: 'set-repair-item' }>): void {
    const { n, state, newRun, error, at } = write;
    this.setPending.run(state, newRun?.runKey ?? null, newRun?.workflowRunId ?? null, error, at, repair, n);
  }

  list(repair: number, states: readonly RepairItemState[] | undefined, after: number, limit: number) {
    const rows = states
      ? states.flatMap((state) => this.selectOfState.all(repair, state, after, limit + 1))
      : this.selectAll.all(repair, after, limit + 1);
    const found = rows.map(itemOf).sort((a, b) => a.n - b.n);
    const items = found.slice(0, limit);
    return { items, next: found.length > limit ? (items.at(-1)?.n ?? null) : null };
  }

  /** How many were removed. */
  remove(repair: number, limit: number): number {
    return Number(this.deleteItems.run(repair, repair, limit).changes);
  }
}
