/**
 * Reads flow control keys: their limits, whether they are paused or pinned, and the current rate window. Each store
 * writes them in its own way, because every run with a key also writes its key.
 */
import type { FlowControlState } from '../../../engine/runs/run.js';
import { flag, integer, integerOrNull, type Row, text, textOrNull } from '../../records/columns.js';
import { ofInstance } from '../sql/dialect.js';
import { type Procedure, row, rows } from '../sql/procedure.js';
import { sql } from '../sql/sql.js';

function stateOf(foundRow: Row): FlowControlState {
  const startedAt = integerOrNull(foundRow, 'window_started_at');
  const isPinned = flag(foundRow, 'pinned');
  const onlyPinnedLimit = textOrNull(foundRow, 'pinned_only');
  return {
    key: text(foundRow, 'key'),
    parallelism: integerOrNull(foundRow, 'parallelism'),
    rate: integerOrNull(foundRow, 'rate'),
    periodMs: integerOrNull(foundRow, 'period_ms'),
    paused: flag(foundRow, 'paused'),
    parallelismPinned: isPinned && onlyPinnedLimit !== 'rate',
    ratePinned: isPinned && onlyPinnedLimit !== 'parallelism',
    window: startedAt === null ? null : { startedAt, granted: integer(foundRow, 'window_granted') },
  };
}

/** Returns the flow control keys of the instance, ordered by key. */
export function* listFlowControls(instanceId: string): Procedure<readonly FlowControlState[]> {
  return (yield* rows(sql`SELECT * FROM flow_control WHERE ${ofInstance(instanceId)} ORDER BY key`)).map(stateOf);
}

export function* findFlowControl(instanceId: string, key: string): Procedure<FlowControlState | null> {
  const foundRow = yield* row(sql`SELECT * FROM flow_control WHERE ${ofInstance(instanceId)} AND key = ${key}`);
  return foundRow && stateOf(foundRow);
}
