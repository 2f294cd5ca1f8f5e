/** Repairs and their items. */
import type { Columns } from '../stores/postgres/connection/first-load.js';
import { type CopiedTable, columnList } from './copied-table.js';

const REPAIR = {
  repair_id: 'text',
  version: 'bigint',
  created_at: 'bigint',
  ended_at: 'bigint',
  wake_at: 'bigint',
  phase: 'text',
  data: 'text',
} as const satisfies Columns;
const REPAIR_ITEM = {
  n: 'integer',
  rank: 'integer',
  at: 'bigint',
  canary: 'boolean',
  state: 'text',
  dlq_id: 'text',
  run_key: 'text',
  workflow_run_id: 'text',
  workflow_url: 'text',
  new_run_key: 'text',
  new_workflow_run_id: 'text',
  new_dlq_id: 'text',
  error: 'text',
  fingerprint: 'text',
} as const satisfies Columns;

export const REPAIR_TABLES: readonly CopiedTable[] = [
  {
    table: 'repair',
    columns: { instance_id: 'text', ...REPAIR, driver: 'text', driven_until: 'bigint' },
    // Repairs are copied without a driver: the first node that scans takes over active repairs.
    select: `SELECT t.instance_id, ${columnList(REPAIR, 'x')}, NULL AS driver, NULL AS driven_until
      FROM repair x JOIN tenant t ON t.seq = x.tenant`,
    completeTable: 'repair',
  },
  {
    table: 'repair_item',
    columns: { instance_id: 'text', repair_id: 'text', ...REPAIR_ITEM },
    select: `SELECT t.instance_id, p.repair_id, ${columnList(REPAIR_ITEM, 'x')}
      FROM repair_item x JOIN repair p ON p.seq = x.repair_seq JOIN tenant t ON t.seq = p.tenant`,
    completeTable: 'repair_item',
  },
];
