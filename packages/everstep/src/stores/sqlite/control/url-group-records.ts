/** Groups of URLs that messages are published to. */
import type { StatementSync } from 'node:sqlite';
import type { UrlGroup } from '../../../engine/runs/run.js';
import type { WriteOf } from '../../../engine/writes.js';
import type { Applier } from '../commit/applier.js';
import { integer, json, type Row, text } from '../connection/columns.js';
import type { StoreParts } from '../connection/store-parts.js';

const groupOf = (row: Row): UrlGroup => ({
  name: text(row, 'name'),
  endpoints: json<UrlGroup['endpoints']>(row, 'endpoints'),
  createdAt: integer(row, 'created_at'),
  updatedAt: integer(row, 'updated_at'),
});

export class UrlGroupRecords implements Applier<WriteOf<'url-group'>> {
  private readonly parts: StoreParts;
  private readonly replace: StatementSync;
  private readonly deleteOne: StatementSync;
  private readonly selectAll: StatementSync;
  private readonly selectOne: StatementSync;

  constructor(parts: StoreParts) {
    const { connection } = parts;
    this.parts = parts;
    this.replace = connection.prepare(
      'INSERT OR REPLACE INTO url_group (tenant, name, created_at, updated_at, endpoints) VALUES (?, ?, ?, ?, ?)',
    );
    this.deleteOne = connection.prepare('DELETE FROM url_group WHERE tenant = ? AND name = ?');
    this.selectAll = connection.prepare('SELECT * FROM url_group WHERE tenant = ? ORDER BY name');
    this.selectOne = connection.prepare('SELECT * FROM url_group WHERE tenant = ? AND name = ?');
  }

  apply(write: WriteOf<'url-group'>): void {
    switch (write.kind) {
      case 'put-url-group':
        this.put(write.instanceId, write.group);
        break;
      case 'delete-url-group':
        this.delete(write.instanceId, write.name);
        break;
      default:
        write satisfies never;
    }
  }

  private put(instanceId: string, { name, endpoints, createdAt, updatedAt }: UrlGroup): void {
    const tenant = this.parts.tenants.findOrCreate(instanceId);
    this.replace.run(tenant, name, createdAt, updatedAt, JSON.stringify(endpoints));
  }

  /** Nothing happens when there is no such group. */
  private delete(instanceId: string, name: string): void {
    const tenant = this.parts.tenants.find(instanceId);
    if (tenant !== null) this.deleteOne.run(tenant, name);
  }

  list(instanceId: string): readonly UrlGroup[] {
    const tenant = this.parts.tenants.find(instanceId);
    return tenant === null ? [] : this.selectAll.all(tenant).map(groupOf);
  }

  find(instanceId: string, name: string): UrlGroup | null {
    const tenant = this.parts.tenants.find(instanceId);
    const row = tenant === null ? undefined : this.selectOne.get(tenant, name);
    return row ? groupOf(row) : null;
  }
}
