/**
 * Reads flow control keys: their limits, whether they are paused or pinned, and the current rate window. Writing them differs
 * in each store, because every run with a key also writes its key.
 */
import type { FlowControlState } from '../../../engine/runs/run.js';
import { flag, integer, integerOrNull, type Row, text, textOrNull } from '../../records/columns.js';
import { ofInstance } from '../sql/dialect.js';
import { type Procedure, row, rows } from '../sql/procedure.js';
import { sql } from '../sql/sql.js';

function stateOf(found: Row): FlowControlState {
  const startedAt = integerOrNull(found, 'window_started_at');
  const isPinned = flag(found, 'pinned');
  const pinnedOnly = textOrNull(found, 'pinned_only');
  return {
    key: text(found, 'key'),
    parallelism: integerOrNull(found, 'parallelism'),
    rate: integerOrNull(found, 'rate'),
    periodMs: integerOrNull(found, 'period_ms'),
    paused: flag(found, 'paused'),
    parallelismPinned: isPinned && pinnedOnly !== 'rate',
    ratePinned: isPinned && pinnedOnly !== 'parallelism',
    window: startedAt === null ? null : { startedAt, granted: integer(found, 'window_granted') },
  };
}

/** Returns the flow control keys of the instance, ordered by key. */
export function* listFlowControls(instanceId: string): Procedure<readonly FlowControlState[]> {
  return (yield* rows(sql`SELECT * FROM flow_control WHERE ${ofInstance(instanceId)} ORDER BY key`)).map(stateOf);
}

export function* findFlowControl(instanceId: string, key: string): Procedure<FlowControlState | null> {
  const found = yield* row(sql`SELECT * FROM flow_control WHERE ${ofInstance(instanceId)} AND key = ${key}`);
  return found && stateOf(found);
}
