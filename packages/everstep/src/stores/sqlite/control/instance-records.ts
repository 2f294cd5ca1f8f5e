/** What an instance has set for itself: held destinations, and settings as one JSON text. */
import type { StatementSync } from 'node:sqlite';
import type { DestinationHold, InstanceSettings } from '../../../engine/runs/run.js';
import { integer, json, type Row, text, word } from '../connection/columns.js';
import type { StoreParts } from '../connection/store-parts.js';

const holdOf = (row: Row): DestinationHold => ({
  origin: text(row, 'origin'),
  by: word(row, 'held_by', ['breaker', 'hand']),
  reason: text(row, 'reason'),
  since: integer(row, 'since'),
});

export class InstanceRecords {
  private readonly parts: StoreParts;
  private readonly replaceHold: StatementSync;
  private readonly deleteHold: StatementSync;
  private readonly selectHolds: StatementSync;
  private readonly replaceSettings: StatementSync;
  private readonly selectSettings: StatementSync;

  constructor(parts: StoreParts) {
    const { connection } = parts;
    this.parts = parts;
    this.replaceHold = connection.prepare(
      'INSERT OR REPLACE INTO destination_hold (tenant, origin, held_by, reason, since) VALUES (?, ?, ?, ?, ?)',
    );
    this.deleteHold = connection.prepare('DELETE FROM destination_hold WHERE tenant = ? AND origin = ?');
    this.selectHolds = connection.prepare('SELECT * FROM destination_hold WHERE tenant = ? ORDER BY origin');
    this.replaceSettings = connection.prepare('INSERT OR REPLACE INTO instance_settings (tenant, settings) VALUES (?, ?)');
    this.selectSettings = connection.prepare('SELECT settings FROM instance_settings WHERE tenant = ?');
  }

  /** `hold` null lifts it. */
  setHold(instanceId: string, origin: string, hold: DestinationHold | null): void {
    const tenant = this.parts.tenants.findOrCreate(instanceId);
    if (hold) this.replaceHold.run(tenant, origin, hold.by, hold.reason, hold.since);
    else this.deleteHold.run(tenant, origin);
  }

  /** In the order of the origins. */
  holds(instanceId: string): readonly DestinationHold[] {
    const tenant = this.parts.tenants.find(instanceId);
    return tenant === null ? [] : this.selectHolds.all(tenant).map(holdOf);
  }

  setSettings(instanceId: string, settings: InstanceSettings): void {
    this.replaceSettings.run(this.parts.tenants.findOrCreate(instanceId), JSON.stringify(settings));
  }

  settings(instanceId: string): InstanceSettings | null {
    const tenant = this.parts.tenants.find(instanceId);
    const row = tenant === null ? undefined : this.selectSettings.get(tenant);
    return row ? json<InstanceSettings>(row, 'settings') : null;
  }
}
