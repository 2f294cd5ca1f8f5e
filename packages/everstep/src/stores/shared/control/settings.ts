/** Settings of an instance: held destinations, and its other settings as one JSON text. */
import type { DestinationHold, InstanceSettings } from '../../../engine/runs/run.js';
import type { WriteOf } from '../../../engine/writes.js';
import { ofInstance } from '../sql/dialect.js';
import { type Procedure, row, rows, send } from '../sql/procedure.js';
import { sql } from '../sql/sql.js';
import { json, NUMBER, oneOf, TEXT, table } from '../sql/table.js';

interface StoredHold extends Omit<DestinationHold, 'by'> {
  readonly heldBy: DestinationHold['by'];
}

const HOLD = table<StoredHold>('destination_hold', {
  origin: TEXT,
  heldBy: oneOf(['breaker', 'hand']),
  reason: TEXT,
  since: NUMBER,
});

const SETTINGS = table<{ readonly settings: InstanceSettings }>('instance_settings', { settings: json() });

/**
 * Holds the destination, or ends the hold if `hold` is null. The breaker of a node may not know yet that another node has stored a
 * hold by hand, so it changes only holds of breakers. Part of a batch.
 */
export function writeHold({ instanceId, origin, hold, by }: WriteOf<'hold'>): Procedure<void> {
  const mayReplace = by === 'hand' ? sql`true` : sql`destination_hold.held_by = 'breaker'`;
  if (!hold)
    return send(sql`DELETE FROM destination_hold WHERE ${ofInstance(instanceId)} AND origin = ${origin} AND ${mayReplace}`);
  const { by: heldBy, ...holdColumns } = hold;
  return send(sql`${HOLD.replace({ ...holdColumns, origin, heldBy }, ['origin'], instanceId)} WHERE ${mayReplace}`);
}

/** Returns the holds of the instance, ordered by origin. */
export function* listHolds(instanceId: string): Procedure<readonly DestinationHold[]> {
  const foundRows = yield* rows(sql`SELECT * FROM destination_hold WHERE ${ofInstance(instanceId)} ORDER BY origin`);
  return foundRows.map((holdRow) => {
    const { heldBy: by, ...hold } = HOLD.read(holdRow);
    return { ...hold, by };
  });
}

/** Replaces the settings of the instance. Part of a batch. */
export const writeSettings = ({ instanceId, settings }: WriteOf<'settings'>): Procedure<void> =>
  send(SETTINGS.replace({ settings }, [], instanceId));

/** Returns the settings of the instance; null if it has set nothing. */
export function* findInstanceSettings(instanceId: string): Procedure<InstanceSettings | null> {
  const foundRow = yield* row(sql`SELECT settings FROM instance_settings WHERE ${ofInstance(instanceId)}`);
  return foundRow && SETTINGS.read(foundRow).settings;
}
