/** Writes flow control keys: their limits, whether they are paused or pinned, and the current rate window. */
import { onlyPinnedLimit } from '../../../engine/limits/pinned-limits.js';
import type { FlowControl, FlowControlState } from '../../../engine/runs/run.js';
import type { StoreWrite } from '../../../ports/stores/store.js';
import type { Row } from '../connection/columns.js';
import { statement, type TransactionSession } from '../connection/connection.js';

export type FlowControlWrite = Extract<
  StoreWrite,
  { readonly kind: 'put-flow-control' | 'set-flow-control' | 'set-flow-window' }
>;

const parallelismPinnedSql = (row: string) => `(${row}.pinned AND ${row}.pinned_only IS DISTINCT FROM 'rate')`;
const ratePinnedSql = (row: string) => `(${row}.pinned AND ${row}.pinned_only IS DISTINCT FROM 'parallelism')`;
const CURRENT_ROW = 'flow_control';

/**
 * Writes the limits of keys, and returns the keys whose limits have changed. A key whose limits do not change is not locked,
 * because every run with the key writes it.
 */
const PUT_LIMITS = statement(`
  INSERT INTO flow_control (instance_id, key, parallelism, rate, period_ms)
  SELECT w.instance_id, w.key, w.parallelism, w.rate, w.period_ms
  FROM unnest($1::text[], $2::text[], $3::integer[], $4::integer[], $5::bigint[])
    AS w (instance_id, key, parallelism, rate, period_ms)
  WHERE NOT EXISTS (
    SELECT 1 FROM flow_control f WHERE f.instance_id = w.instance_id AND f.key = w.key AND (
      (w.parallelism IS NULL AND w.rate IS NULL)
      OR (${parallelismPinnedSql('f')} OR f.parallelism IS NOT DISTINCT FROM w.parallelism)
        AND (${ratePinnedSql('f')} OR (f.rate, f.period_ms) IS NOT DISTINCT FROM (w.rate, w.period_ms))))
  ORDER BY w.instance_id, w.key
  ON CONFLICT (instance_id, key) DO UPDATE
    SET parallelism = CASE WHEN ${parallelismPinnedSql(CURRENT_ROW)} THEN ${CURRENT_ROW}.parallelism ELSE excluded.parallelism END,
      rate = CASE WHEN ${ratePinnedSql(CURRENT_ROW)} THEN ${CURRENT_ROW}.rate ELSE excluded.rate END,
      period_ms = CASE WHEN ${ratePinnedSql(CURRENT_ROW)} THEN ${CURRENT_ROW}.period_ms ELSE excluded.period_ms END
    WHERE excluded.parallelism IS NOT NULL OR excluded.rate IS NOT NULL
  RETURNING instance_id, key, parallelism IS NOT NULL OR rate IS NOT NULL AS is_limited`);

/** Sets a part of the states of keys. A new key gets the whole state. */
const setPart = (columns: string) =>
  statement(`
  INSERT INTO flow_control (instance_id, key, parallelism, rate, period_ms, paused, pinned, pinned_only)
  SELECT * FROM unnest($1::text[], $2::text[], $3::integer[], $4::integer[], $5::bigint[], $6::boolean[], $7::boolean[], $8::text[])
    AS w (instance_id, key, parallelism, rate, period_ms, paused, pinned, pinned_only)
  ORDER BY w.instance_id, w.key
  ON CONFLICT (instance_id, key) DO UPDATE SET ${columns}`);

const SET_PART = {
  paused: setPart('paused = excluded.paused'),
  limits: setPart(`parallelism = excluded.parallelism, rate = excluded.rate, period_ms = excluded.period_ms,
    pinned = excluded.pinned, pinned_only = excluded.pinned_only`),
} as const;
type Part = keyof typeof SET_PART;

/** Writes rate windows. A new key is registered without limits, because the granted starts must not be lost. */
const SET_WINDOW = statement(`
  INSERT INTO flow_control (instance_id, key, window_started_at, window_granted)
  SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])
    AS w (instance_id, key, window_started_at, window_granted)
  ORDER BY w.instance_id, w.key
  ON CONFLICT (instance_id, key) DO UPDATE
    SET window_started_at = excluded.window_started_at, window_granted = excluded.window_granted`);

/** Identifies a flow control key. */
export interface FlowKeyId {
  readonly instanceId: string;
  readonly key: string;
}

/** The writes of a batch to one key, in the order in which they are applied: the parts of the state, the limits, the window. */
interface KeyWrites extends FlowKeyId {
  readonly parts: Record<Part, Omit<FlowControlState, 'window'> | null>;
  limits: FlowControl | null;
  window: { readonly value: FlowControlState['window'] } | null;
}

const hasLimits = ({ parallelism, rate }: FlowControl): boolean => parallelism !== undefined || rate !== undefined;

function writesByKey(writes: readonly FlowControlWrite[]): readonly KeyWrites[] {
  const writesByScopedKey = new Map<string, KeyWrites>();
  const writesOf = (instanceId: string, key: string): KeyWrites => {
    const scopedKey = `${instanceId}\n${key}`;
    const keyWrites = writesByScopedKey.get(scopedKey) ?? {
      ...{ instanceId, key, parts: { paused: null, limits: null } },
      ...{ limits: null, window: null },
    };
    writesByScopedKey.set(scopedKey, keyWrites);
    return keyWrites;
  };
  for (const write of writes) {
    switch (write.kind) {
      case 'put-flow-control': {
        const keyWrites = writesOf(write.instanceId, write.flowControl.key);
        // A write without limits only registers the key.
        if (!keyWrites.limits || hasLimits(write.flowControl)) keyWrites.limits = write.flowControl;
        break;
      }
      case 'set-flow-control': {
        const keyWrites = writesOf(write.instanceId, write.state.key);
        keyWrites.parts[write.part] = write.state;
        // Limits that a person sets replace those that were written before.
        if (write.part === 'limits') keyWrites.limits = null;
        break;
      }
      case 'set-flow-window':
        writesOf(write.instanceId, write.key).window = { value: write.window };
        break;
    }
  }
  return [...writesByScopedKey.values()];
}

function sendParts(session: TransactionSession, part: Part, keyWrites: readonly KeyWrites[]): void {
  const states = keyWrites.flatMap(({ instanceId, parts }) => (parts[part] ? [{ instanceId, ...parts[part] }] : []));
  if (states.length > 0)
    session.send(SET_PART[part], [
      states.map(({ instanceId }) => instanceId),
      states.map(({ key }) => key),
      states.map(({ parallelism }) => parallelism),
      states.map(({ rate }) => rate),
      states.map(({ periodMs }) => periodMs),
      states.map(({ paused }) => paused),
      states.map(({ parallelismPinned, ratePinned }) => parallelismPinned || ratePinned),
      states.map(onlyPinnedLimit),
    ]);
}

/**
 * Sends all writes of a batch, in their order, in at most four statements and without waiting. Returns the response with the keys
 * whose limits have changed or that are new, as rows with `instance_id`, `key` and `is_limited`; null if no limits were sent.
 */
export function writeFlowControls(
  session: TransactionSession,
  writes: readonly FlowControlWrite[],
): Promise<readonly Row[]> | null {
  const keyWrites = writesByKey(writes);
  sendParts(session, 'paused', keyWrites);
  sendParts(session, 'limits', keyWrites);
  const limitRows = keyWrites.flatMap(({ instanceId, limits }) => (limits ? [{ instanceId, ...limits }] : []));
  const changedKeys =
    limitRows.length === 0
      ? null
      : session.query(PUT_LIMITS, [
          limitRows.map(({ instanceId }) => instanceId),
          limitRows.map(({ key }) => key),
          limitRows.map(({ parallelism }) => parallelism ?? null),
          limitRows.map(({ rate }) => rate ?? null),
          limitRows.map(({ periodMs }) => periodMs ?? null),
        ]);
  const windows = keyWrites.flatMap(({ instanceId, key, window }) => (window ? [{ instanceId, key, ...window }] : []));
  if (windows.length > 0)
    session.send(SET_WINDOW, [
      windows.map(({ instanceId }) => instanceId),
      windows.map(({ key }) => key),
      windows.map(({ value }) => value?.startedAt ?? null),
      windows.map(({ value }) => value?.granted ?? null),
    ]);
  return changedKeys;
}
