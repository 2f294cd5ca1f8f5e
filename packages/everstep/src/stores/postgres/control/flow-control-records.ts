/** Flow control keys: their limits, whether they are paused or pinned, and the rate window under way. */
import { pinnedOnly } from '../../../engine/limits/pinned-limits.js';
import type { FlowControl, FlowControlState } from '../../../engine/runs/run.js';
import type { StoreWrite } from '../../../ports/stores/store.js';
import { flag, integer, integerOrNull, type Row, text, textOrNull } from '../connection/columns.js';
import { type Session, statement, type TransactionSession } from '../connection/connection.js';

export type FlowControlWrite = Extract<
  StoreWrite,
  { readonly kind: 'put-flow-control' | 'set-flow-control' | 'set-flow-window' }
>;

const PARALLELISM_PINNED = (row: string) => `(${row}.pinned AND ${row}.pinned_only IS DISTINCT FROM 'rate')`;
const RATE_PINNED = (row: string) => `(${row}.pinned AND ${row}.pinned_only IS DISTINCT FROM 'parallelism')`;
const OLD = 'flow_control';

/** Keys whose limits would stay as they are, are not even locked: every trigger names its key. */
const PUT = statement(`
  INSERT INTO flow_control (instance_id, key, parallelism, rate, period_ms)
  SELECT w.instance_id, w.key, w.parallelism, w.rate, w.period_ms
  FROM unnest($1::text[], $2::text[], $3::integer[], $4::integer[], $5::bigint[])
    AS w (instance_id, key, parallelism, rate, period_ms)
  WHERE NOT EXISTS (
    SELECT 1 FROM flow_control f WHERE f.instance_id = w.instance_id AND f.key = w.key AND (
      (w.parallelism IS NULL AND w.rate IS NULL)
      OR (${PARALLELISM_PINNED('f')} OR f.parallelism IS NOT DISTINCT FROM w.parallelism)
        AND (${RATE_PINNED('f')} OR (f.rate, f.period_ms) IS NOT DISTINCT FROM (w.rate, w.period_ms))))
  ORDER BY w.instance_id, w.key
  ON CONFLICT (instance_id, key) DO UPDATE
    SET parallelism = CASE WHEN ${PARALLELISM_PINNED(OLD)} THEN ${OLD}.parallelism ELSE excluded.parallelism END,
      rate = CASE WHEN ${RATE_PINNED(OLD)} THEN ${OLD}.rate ELSE excluded.rate END,
      period_ms = CASE WHEN ${RATE_PINNED(OLD)} THEN ${OLD}.period_ms ELSE excluded.period_ms END
    WHERE excluded.parallelism IS NOT NULL OR excluded.rate IS NOT NULL`);

const SET = statement(`
  INSERT INTO flow_control
    (instance_id, key, parallelism, rate, period_ms, paused, pinned, pinned_only, window_started_at, window_granted)
  SELECT * FROM unnest($1::text[], $2::text[], $3::integer[], $4::integer[], $5::bigint[], $6::boolean[], $7::boolean[],
    $8::text[], $9::bigint[], $10::bigint[]) AS w (instance_id, key)
  ORDER BY w.instance_id, w.key
  ON CONFLICT (instance_id, key) DO UPDATE SET parallelism = excluded.parallelism, rate = excluded.rate,
    period_ms = excluded.period_ms, paused = excluded.paused, pinned = excluded.pinned, pinned_only = excluded.pinned_only,
    window_started_at = excluded.window_started_at, window_granted = excluded.window_granted`);

/** A key that is new is registered without limits: what was granted must not be lost, whatever else is known. */
const SET_WINDOW = statement(`
  INSERT INTO flow_control (instance_id, key, window_started_at, window_granted)
  SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS w (instance_id, key)
  ORDER BY w.instance_id, w.key
  ON CONFLICT (instance_id, key) DO UPDATE
    SET window_started_at = excluded.window_started_at, window_granted = excluded.window_granted`);

const COLUMNS = 'key, parallelism, rate, period_ms, paused, pinned, pinned_only, window_started_at, window_granted';
const SELECT_ALL = statement(`SELECT ${COLUMNS} FROM flow_control WHERE instance_id = $1 ORDER BY key`);
const SELECT_ONE = statement(`SELECT ${COLUMNS} FROM flow_control WHERE instance_id = $1 AND key = $2`);

function stateOf(row: Row): FlowControlState {
  const startedAt = integerOrNull(row, 'window_started_at');
  const isPinned = flag(row, 'pinned');
  const only = textOrNull(row, 'pinned_only');
  return {
    key: text(row, 'key'),
    parallelism: integerOrNull(row, 'parallelism'),
    rate: integerOrNull(row, 'rate'),
    periodMs: integerOrNull(row, 'period_ms'),
    paused: flag(row, 'paused'),
    parallelismPinned: isPinned && only !== 'rate',
    ratePinned: isPinned && only !== 'parallelism',
    window: startedAt === null ? null : { startedAt, granted: integer(row, 'window_granted') },
  };
}

/** What the writes of a batch come to for one key: what was set, then the limits, then the window. */
interface Sum {
  readonly instanceId: string;
  readonly key: string;
  set: FlowControlState | null;
  put: FlowControl | null;
  window: { readonly value: FlowControlState['window'] } | null;
}

const hasLimits = ({ parallelism, rate }: FlowControl): boolean => parallelism !== undefined || rate !== undefined;

function sumsOf(writes: readonly FlowControlWrite[]): readonly Sum[] {
  const sums = new Map<string, Sum>();
  const sumOf = (instanceId: string, key: string): Sum => {
    const id = `${instanceId}\n${key}`;
    const sum = sums.get(id) ?? { instanceId, key, set: null, put: null, window: null };
    sums.set(id, sum);
    return sum;
  };
  for (const write of writes) {
    switch (write.kind) {
      case 'put-flow-control': {
        const sum = sumOf(write.instanceId, write.flowControl.key);
        // One without limits changes nothing but that the key is there.
        if (!sum.put || hasLimits(write.flowControl)) sum.put = write.flowControl;
        break;
      }
      case 'set-flow-control':
        // Nothing of what was there before stays.
        Object.assign(sumOf(write.instanceId, write.state.key), { set: write.state, put: null, window: null });
        break;
      case 'set-flow-window':
        sumOf(write.instanceId, write.key).window = { value: write.window };
        break;
    }
  }
  return [...sums.values()];
}

/** All of a batch, in their order, in three statements at most. Sends them, and waits for nothing. */
export function writeFlowControls(session: TransactionSession, writes: readonly FlowControlWrite[]): void {
  const sums = sumsOf(writes);
  const sets = sums.flatMap(({ instanceId, set }) => (set ? [{ instanceId, ...set }] : []));
  if (sets.length > 0)
    session.send(SET, [
      sets.map(({ instanceId }) => instanceId),
      sets.map(({ key }) => key),
      sets.map(({ parallelism }) => parallelism),
      sets.map(({ rate }) => rate),
      sets.map(({ periodMs }) => periodMs),
      sets.map(({ paused }) => paused),
      sets.map(({ parallelismPinned, ratePinned }) => parallelismPinned || ratePinned),
      sets.map(pinnedOnly),
      sets.map(({ window }) => window?.startedAt ?? null),
      sets.map(({ window }) => window?.granted ?? null),
    ]);
  const puts = sums.flatMap(({ instanceId, put }) => (put ? [{ instanceId, ...put }] : []));
  if (puts.length > 0)
    session.send(PUT, [
      puts.map(({ instanceId }) => instanceId),
      puts.map(({ key }) => key),
      puts.map(({ parallelism }) => parallelism ?? null),
      puts.map(({ rate }) => rate ?? null),
      puts.map(({ periodMs }) => periodMs ?? null),
    ]);
  const windows = sums.flatMap(({ instanceId, key, window }) => (window ? [{ instanceId, key, ...window }] : []));
  if (windows.length > 0)
    session.send(SET_WINDOW, [
      windows.map(({ instanceId }) => instanceId),
      windows.map(({ key }) => key),
      windows.map(({ value }) => value?.startedAt ?? null),
      windows.map(({ value }) => value?.granted ?? null),
    ]);
}

/** In the order of the keys. */
export async function listFlowControls(session: Session, instanceId: string): Promise<readonly FlowControlState[]> {
  return (await session.query(SELECT_ALL, [instanceId])).map(stateOf);
}

export async function findFlowControl(session: Session, instanceId: string, key: string): Promise<FlowControlState | null> {
  const [row] = await session.query(SELECT_ONE, [instanceId, key]);
  return row ? stateOf(row) : null;
}
