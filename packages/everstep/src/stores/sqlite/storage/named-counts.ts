/** Number of objects of an instance, by kind. */
import type { StatementSync } from 'node:sqlite';
import type { Store } from '../../../ports/stores/store.js';
import { integer } from '../connection/columns.js';
import type { StoreParts } from '../connection/store-parts.js';

type Query = Parameters<Store['countObjects']>[0];

export class NamedCounts {
  private readonly parts: StoreParts;
  private readonly counts: Readonly<Record<Query['thing'], StatementSync>>;

  constructor(parts: StoreParts) {
    const { connection } = parts;
    this.parts = parts;
    const count = (table: string) => connection.prepare(`SELECT count(*) AS things FROM ${table} WHERE tenant = ?`);
    this.counts = {
      queue: count('queue'),
      'url-group': count('url_group'),
      'flow-control': count('flow_control'),
      schedule: count('schedule'),
    };
  }

  count({ instanceId, thing }: Query): number {
    const tenant = this.parts.tenants.find(instanceId);
    return tenant === null ? 0 : integer(this.counts[thing].get(tenant) ?? {}, 'things');
  }
}
