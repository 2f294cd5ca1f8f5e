/** The entries that repairs froze. */
import { NO_COUNTS, REPAIR_ITEM_STATES, type RepairCounts, type RepairItemState } from '../../../engine/dead-letters/repair.js';
import type {
  EndedItem,
  NewRepairItem,
  RepairableEntry,
  RepairId,
  RepairItemRecord,
  RepairStore,
} from '../../../ports/stores/repair-store.js';
import type { StoreWrite } from '../../../ports/stores/store.js';
import { flag, integer, integerOrNull, type Row, text, textOrNull, word } from '../connection/columns.js';
import { type Database, type Session, statement, type TransactionSession } from '../connection/connection.js';
import { type Columns, columnArrays, names, unnest } from '../connection/row-sets.js';

export type RepairItemWrite = Extract<StoreWrite, { readonly kind: 'set-repair-item' }>;

const ITEM = {
  n: 'integer',
  rank: 'integer',
  dlq_id: 'text',
  run_key: 'text',
  workflow_run_id: 'text',
  workflow_url: 'text',
  fingerprint: 'text',
} as const satisfies Columns;
const CHANGE = {
  instance_id: 'text',
  repair_id: 'text',
  n: 'integer',
  state: 'text',
  new_run_key: 'text',
  new_workflow_run_id: 'text',
  error: 'text',
  at: 'bigint',
} as const satisfies Columns;
const END = { n: 'integer', state: 'text', new_dlq_id: 'text', error: 'text' } as const satisfies Columns;

const OF_REPAIR = 'i.instance_id = $1 AND i.repair_id = $2';
const ADD = statement(`
  INSERT INTO repair_item (instance_id, repair_id, canary, state, ${names(ITEM)})
  SELECT $1, $2, false, 'pending', u.* FROM ${unnest(ITEM, 3)} AS u(${names(ITEM)})`);
const CHOOSE_CANARY = statement(`
  UPDATE repair_item i SET canary = true WHERE ${OF_REPAIR} AND i.n IN (
    SELECT c.n FROM repair_item c WHERE c.instance_id = $1 AND c.repair_id = $2 AND c.rank IS NOT NULL
    ORDER BY c.rank, c.n LIMIT $3)`);
const SET = statement(`
  UPDATE repair_item i SET state = u.state, new_run_key = u.new_run_key, new_workflow_run_id = u.new_workflow_run_id,
    error = u.error, at = u.at
  FROM ${unnest(CHANGE)} AS u(${names(CHANGE)})
  WHERE i.instance_id = u.instance_id AND i.repair_id = u.repair_id AND i.n = u.n AND i.state = 'pending'`);
const SETTLE = statement(`
  UPDATE repair_item i SET state = u.state, new_dlq_id = u.new_dlq_id, error = u.error, at = $3
  FROM ${unnest(END, 4)} AS u(${names(END)})
  WHERE ${OF_REPAIR} AND i.n = u.n AND i.state = 'started' RETURNING i.n`);
const DESCRIBE = statement(`
  SELECT d.dlq_id, d.created_at, d.run_key, d.workflow_run_id, d.workflow_url, d.fingerprint, (
    SELECT count(*) FROM step s WHERE s.instance_id = d.instance_id AND s.run_key = d.run_key) AS steps
  FROM unnest($2::text[]) WITH ORDINALITY AS u(dlq_id, place)
  JOIN dead_letter d ON d.instance_id = $1 AND d.dlq_id = u.dlq_id ORDER BY u.place`);
const COMING_DELETIONS = statement(`
  SELECT DISTINCT ON (i.dlq_id) i.dlq_id, r.repair_id, ((r.data::jsonb)->'repair'->>'undoUntil')::bigint AS at
  FROM repair_item i JOIN repair r ON r.instance_id = i.instance_id AND r.repair_id = i.repair_id
  WHERE i.instance_id = $1 AND i.dlq_id = ANY($2::text[]) AND i.state = 'pending' AND r.phase = 'undo-window'
  ORDER BY i.dlq_id, at`);
const LANES = statement(`
  SELECT i.workflow_url, i.fingerprint, count(*) AS items FROM repair_item i WHERE ${OF_REPAIR}
  GROUP BY i.workflow_url, i.fingerprint`);
const PENDING = `SELECT i.* FROM repair_item i WHERE ${OF_REPAIR} AND i.state = 'pending'`;
const PENDING_ANY = statement(`${PENDING} ORDER BY i.n LIMIT $3`);
const PENDING_CANARY = statement(`${PENDING} AND i.canary ORDER BY i.n LIMIT $3`);
const COUNTS = statement(`
  SELECT i.state, i.canary, count(*) AS items FROM repair_item i WHERE ${OF_REPAIR} GROUP BY i.state, i.canary`);
const STARTED = statement(`
  SELECT i.n, i.canary, a.run_key IS NOT NULL AS active, e.state, e.error, d.dlq_id FROM repair_item i
  LEFT JOIN active_run a ON a.instance_id = i.instance_id AND a.run_key = i.new_run_key
  LEFT JOIN ended_run e ON e.instance_id = i.instance_id AND e.run_key = i.new_run_key
  LEFT JOIN dead_letter d ON d.instance_id = i.instance_id AND d.run_key = i.new_run_key
  WHERE ${OF_REPAIR} AND i.state = 'started' AND i.n > $3 ORDER BY i.n LIMIT $4`);
const LIST = statement(`
  SELECT i.* FROM repair_item i WHERE ${OF_REPAIR} AND i.n > $3 AND ($4::text[] IS NULL OR i.state = ANY($4::text[]))
  ORDER BY i.n LIMIT $5`);
const REMOVE = statement(`
  DELETE FROM repair_item i WHERE ${OF_REPAIR} AND i.n IN (
    SELECT c.n FROM repair_item c WHERE c.instance_id = $1 AND c.repair_id = $2 ORDER BY c.n LIMIT $3)`);

const ENDS: Readonly<Record<string, EndedItem['state']>> = {
  succeeded: 'succeeded',
  failed: 'failed',
  deadLetter: 'failed',
  canceled: 'canceled',
};

const itemOf = (row: Row): RepairItemRecord => ({
  n: integer(row, 'n'),
  dlqId: text(row, 'dlq_id'),
  runKey: text(row, 'run_key'),
  workflowRunId: text(row, 'workflow_run_id'),
  workflowUrl: text(row, 'workflow_url'),
  fingerprint: textOrNull(row, 'fingerprint'),
  state: word(row, 'state', REPAIR_ITEM_STATES),
  canary: flag(row, 'canary'),
  newRunKey: textOrNull(row, 'new_run_key'),
  newWorkflowRunId: textOrNull(row, 'new_workflow_run_id'),
  newDlqId: textOrNull(row, 'new_dlq_id'),
  error: textOrNull(row, 'error'),
  at: integerOrNull(row, 'at'),
});

const entryOf = (row: Row): RepairableEntry => ({
  dlqId: text(row, 'dlq_id'),
  runKey: text(row, 'run_key'),
  workflowRunId: text(row, 'workflow_run_id'),
  workflowUrl: text(row, 'workflow_url'),
  failedAt: integer(row, 'created_at'),
  steps: integer(row, 'steps'),
  fingerprint: textOrNull(row, 'fingerprint'),
});

function endedOf(row: Row): EndedItem | null {
  if (flag(row, 'active')) return null;
  const [n, canary, state] = [integer(row, 'n'), flag(row, 'canary'), textOrNull(row, 'state')];
  const end = state === null ? undefined : ENDS[state];
  if (!end) return { n, canary, state: 'gone', newDlqId: null, error: 'its new run was removed before its end was seen' };
  return { n, canary, state: end, newDlqId: textOrNull(row, 'dlq_id'), error: textOrNull(row, 'error') };
}

const idOf = ({ instanceId, repairId }: RepairId): readonly [string, string] => [instanceId, repairId];

/** Sends them, and waits for nothing. */
export function addItems(session: TransactionSession, id: RepairId, items: readonly NewRepairItem[]): void {
  if (items.length === 0) return;
  const rows = items.map(({ n, rank, dlqId, runKey, workflowRunId, workflowUrl, fingerprint }) => ({
    n,
    rank,
    dlq_id: dlqId,
    run_key: runKey,
    workflow_run_id: workflowRunId,
    workflow_url: workflowUrl,
    fingerprint,
  }));
  session.send(ADD, [...idOf(id), ...columnArrays(ITEM, rows)]);
}

export const chooseCanary = (session: TransactionSession, id: RepairId, count: number): void =>
  session.send(CHOOSE_CANARY, [...idOf(id), count]);

/** All of a batch. Sends them, and waits for nothing. */
export function writeRepairItems(session: TransactionSession, writes: readonly RepairItemWrite[]): void {
  const rows = writes.map(({ instanceId, repairId, n, state, newRun, error, at }) => ({
    instance_id: instanceId,
    repair_id: repairId,
    n,
    state,
    new_run_key: newRun?.runKey ?? null,
    new_workflow_run_id: newRun?.workflowRunId ?? null,
    error,
    at,
  }));
  session.send(SET, columnArrays(CHANGE, rows));
}

/** What the store knows of items, but for what is written with their repair. */
export const repairItemsOf = (
  database: Database,
): Pick<RepairStore, 'describe' | 'scheduledDeletions' | 'lanes' | 'pending' | 'counts' | 'endedItems' | 'settle' | 'items'> => ({
  async describe({ instanceId, dlqIds }) {
    return (await database.query(DESCRIBE, [instanceId, dlqIds])).map(entryOf);
  },
  async scheduledDeletions({ instanceId, dlqIds }) {
    const rows = await database.query(COMING_DELETIONS, [instanceId, dlqIds]);
    return rows.map((row) => ({ dlqId: text(row, 'dlq_id'), repairId: text(row, 'repair_id'), at: integer(row, 'at') }));
  },
  async lanes(id) {
    const rows = await database.query(LANES, idOf(id));
    return rows.map((row) => ({
      workflowUrl: text(row, 'workflow_url'),
      fingerprint: textOrNull(row, 'fingerprint'),
      count: integer(row, 'items'),
    }));
  },
  async pending({ canaryOnly, limit, ...id }) {
    return (await database.query(canaryOnly ? PENDING_CANARY : PENDING_ANY, [...idOf(id), limit])).map(itemOf);
  },
  async counts(id) {
    const rows = await database.query(COUNTS, idOf(id));
    return { all: countsOf(rows), canary: countsOf(rows.filter((row) => flag(row, 'canary'))) };
  },
  async endedItems({ after, limit, ...id }) {
    const rows = await database.query(STARTED, [...idOf(id), after, limit]);
    const last = rows.length < limit ? undefined : rows.at(-1);
    const ended = rows.map(endedOf).filter((item) => item !== null);
    return { ended, looked: rows.length, next: last ? integer(last, 'n') : null };
  },
  async settle({ items, at, ...id }) {
    if (items.length === 0) return [];
    const rows = items.map(({ n, state, newDlqId, error }) => ({ n, state, new_dlq_id: newDlqId, error }));
    const settled = await database.query(SETTLE, [...idOf(id), at, ...columnArrays(END, rows)]);
    return settled.map((row) => integer(row, 'n'));
  },
  async items({ states, after, limit, ...id }) {
    const rows = await database.query(LIST, [...idOf(id), after, states ?? null, limit + 1]);
    const items = rows.slice(0, limit).map(itemOf);
    return { items, next: rows.length > limit ? (items.at(-1)?.n ?? null) : null };
  },
});

/** How many were removed. */
export const removeItems = (session: Session, id: RepairId, limit: number): Promise<number> =>
  session.execute(REMOVE, [...idOf(id), limit]);

function countsOf(rows: readonly Row[]): RepairCounts {
  const counts: Record<RepairItemState, number> = { ...NO_COUNTS };
  for (const row of rows) counts[word(row, 'state', REPAIR_ITEM_STATES)] += integer(row, 'items');
  return counts;
}
