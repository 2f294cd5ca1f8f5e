/**
 * Maps the rows of the embedded store to PostgreSQL. Only this folder depends on both schemas. Ids, JSON and bytes are copied
 * unchanged. Row numbers become the positions that determine the order. Positions that the database assigns later are always
 * larger.
 */
import type { Columns } from '../stores/postgres/connection/first-load.js';
import { COPIED_RUN_COLUMNS, DEAD_LETTER } from '../stores/postgres/dead-letters/dead-letter-writes.js';
import { SOLE_CLAIM } from '../stores/postgres/runs/run-writes.js';
import { ATTEMPT, KEPT_EVENT, PAYLOAD, RUN, RUN_KEY, STEP, TASK, WAITER } from '../stores/postgres/runs/tables.js';
import { ACCOUNT_TABLES } from './account-tables.js';
import {
  type CopiedTable,
  columnList,
  countTable,
  IS_MESSAGE,
  instanceTable,
  joinRun,
  RUN_KEY_COLUMNS,
  runTable,
  type SourceRow,
  unsettledSql,
} from './copied-table.js';
import { REPAIR_TABLES } from './repair-tables.js';

/** Settings of a run that PostgreSQL also stores in separate columns or tables, so that listings can filter by them. */
interface FilterableSettings {
  readonly labels?: readonly string[];
  readonly message?: { readonly urlGroup?: string; readonly scheduleId?: string };
}
const parseSettings = ({ settings }: SourceRow) => JSON.parse(String(settings)) as FilterableSettings;
const toLabelRows = (row: SourceRow): readonly SourceRow[] =>
  [...new Set(parseSettings(row).labels ?? [])].map((label) => ({ ...row, label }));
const toMessageRows = (row: SourceRow): readonly SourceRow[] => {
  const { message } = parseSettings(row);
  return [{ ...row, url_group: message?.urlGroup ?? null, schedule_id: message?.scheduleId ?? null }];
};

const COPIED_STEP = { ...STEP, edited: 'boolean', sent: 'text' } as const satisfies Columns;

const RUN_TABLES: readonly CopiedTable[] = [
  {
    table: 'run',
    columns: { ...RUN, place: 'bigint', forked_from_run_key: 'text' },
    select: `SELECT ${RUN_KEY_COLUMNS}, r.seq AS place, r.created_at, r.workflow_run_id, r.dialect, r.workflow_url, r.caller_ip, r.flow_key,
      r.invoked_by_run_key, r.forked_from_run_key, ${IS_MESSAGE}, r.queue, r.origin, r.settings
      FROM run r JOIN tenant t ON t.seq = r.tenant ORDER BY r.seq`,
    completeTable: 'run',
    targetRowsOf: toMessageRows,
  },
  {
    table: 'run_directory',
    columns: { run_key: 'text', instance_id: 'text' },
    select: `SELECT ${RUN_KEY_COLUMNS} FROM run r JOIN tenant t ON t.seq = r.tenant ORDER BY r.seq`,
    completeTable: 'run',
  },
  {
    table: 'run_label',
    columns: { ...RUN_KEY, message: 'boolean', label: 'text', place: 'bigint' },
    select: `SELECT ${RUN_KEY_COLUMNS}, ${IS_MESSAGE}, r.seq AS place, r.settings
      FROM run r JOIN tenant t ON t.seq = r.tenant WHERE json_array_length(r.settings, '$.labels') > 0 ORDER BY r.seq`,
    completeTable: null,
    targetRowsOf: toLabelRows,
  },
  {
    table: 'active_run',
    columns: {
      ...RUN_KEY,
      workflow_run_id: 'text',
      claim: 'text',
      place: 'bigint',
      created_at: 'bigint',
      message: 'boolean',
      queue: 'text',
    },
    select: `SELECT ${RUN_KEY_COLUMNS}, r.workflow_run_id, r.seq AS place, r.created_at, ${IS_MESSAGE}, r.queue
      FROM run r JOIN tenant t ON t.seq = r.tenant WHERE r.status = 'active' ORDER BY r.seq`,
    completeTable: null,
    // The id of a message is always new, so it needs no guard against a second active run.
    targetRowsOf: (row) => [{ ...row, claim: row.message === 1 ? row.run_key : SOLE_CLAIM }],
  },
  {
    table: 'ended_run',
    columns: {
      ...RUN_KEY,
      place: 'bigint',
      state: 'text',
      created_at: 'bigint',
      completed_at: 'bigint',
      message: 'boolean',
      result: 'text',
      error: 'text',
      became_kind: 'text',
      became_run_key: 'text',
    },
    select: `SELECT ${RUN_KEY_COLUMNS}, r.seq AS place, r.created_at, r.completed_at, ${IS_MESSAGE}, r.result, r.error, r.became_kind,
      r.became_run_key, CASE WHEN r.dead_letter_seq IS NULL THEN r.status ELSE 'deadLetter' END AS state
      FROM run r JOIN tenant t ON t.seq = r.tenant WHERE r.status <> 'active' ORDER BY r.seq`,
    completeTable: null,
  },
  {
    table: 'failure_function',
    columns: RUN_KEY,
    select: `SELECT ${RUN_KEY_COLUMNS} FROM run r JOIN tenant t ON t.seq = r.tenant WHERE r.failure_function = 1 ORDER BY r.seq`,
    completeTable: null,
  },
  runTable('payload', PAYLOAD),
  {
    table: 'step',
    columns: COPIED_STEP,
    // Some steps may be staged for a run that was never created.
    select: `SELECT t.instance_id, coalesce(r.key, j.run_key) AS run_key, ${columnList(COPIED_STEP, 'x', ...Object.keys(RUN_KEY))}
      FROM step x LEFT JOIN run r ON r.seq = x.run_seq LEFT JOIN staged_journal j ON r.seq IS NULL AND j.run_seq = x.run_seq
      JOIN tenant t ON t.seq = coalesce(r.tenant, j.tenant)`,
    completeTable: 'step',
  },
  {
    table: 'staged_journal',
    columns: { ...RUN_KEY, staged_at: 'bigint', gone: 'boolean' },
    select: 'SELECT t.instance_id, j.run_key, 0 AS staged_at, 1 AS gone FROM staged_journal j JOIN tenant t ON t.seq = j.tenant',
    completeTable: 'staged_journal',
  },
  {
    table: 'task',
    columns: TASK,
    // Tasks are copied without claims. The first node that starts claims the due tasks.
    select: `SELECT ${RUN_KEY_COLUMNS}, ${columnList(TASK, 'x', ...Object.keys(RUN_KEY), 'claimed_by', 'wanted_by')},
      NULL AS claimed_by, NULL AS wanted_by FROM task x ${joinRun('x')}`,
    completeTable: 'task',
  },
  runTable('attempt', ATTEMPT, 'x.seq'),
  runTable('waiter', WAITER),
  runTable('kept_event', KEPT_EVENT, 'x.seq'),
];

const DEAD_LETTER_TABLES: readonly CopiedTable[] = [
  {
    table: 'dead_letter',
    columns: { ...DEAD_LETTER, ...COPIED_RUN_COLUMNS, place: 'bigint', run_created_at: 'bigint' },
    select: `SELECT ${RUN_KEY_COLUMNS}, d.dlq_id, d.seq AS place, d.created_at, r.created_at AS run_created_at, d.response_status,
      d.failure_function_state, r.workflow_run_id, r.workflow_url, r.caller_ip, r.flow_key, ${IS_MESSAGE}, r.queue, r.settings,
      d.failed_by, d.rules, d.fingerprint, d.response_headers, d.error, d.response_body
      FROM dead_letter d ${joinRun('d')} ORDER BY d.seq`,
    completeTable: 'dead_letter',
    targetRowsOf: toMessageRows,
  },
  {
    table: 'dead_letter_label',
    columns: { instance_id: 'text', label: 'text', place: 'bigint', dlq_id: 'text' },
    select: `SELECT t.instance_id, d.dlq_id, d.seq AS place, r.settings
      FROM dead_letter d ${joinRun('d')} WHERE json_array_length(r.settings, '$.labels') > 0 ORDER BY d.seq`,
    completeTable: null,
    targetRowsOf: toLabelRows,
  },
  instanceTable('dead_letter_group', {
    fingerprint: 'text',
    kind: 'text',
    rank: 'integer',
    first_seen_at: 'bigint',
    last_seen_at: 'bigint',
    total: 'bigint',
    entries: 'bigint',
    acknowledged_at: 'bigint',
    acknowledged_by: 'text',
    resolved_at: 'bigint',
    regressed_at: 'bigint',
    response_status: 'integer',
    step_name: 'text',
    message: 'text',
    successor: 'text',
    triage: 'text',
  }),
  instanceTable('dead_letter_group_workflow', { fingerprint: 'text', workflow_url: 'text', entries: 'bigint' }),
  instanceTable('dead_letter_group_hour', { fingerprint: 'text', hour: 'integer', count: 'bigint' }),
];

const CONTROL_TABLES: readonly CopiedTable[] = [
  {
    table: 'insight_delta',
    columns: { instance_id: 'text', seq: 'bigint', counts: 'text' },
    // Copied rows have negative numbers, because the database numbers later rows from 1.
    select: 'SELECT t.instance_id, -x.seq AS seq, x.counts FROM insight_delta x JOIN tenant t ON t.seq = x.tenant',
    completeTable: 'insight_delta',
  },
  instanceTable('insight', {
    period: 'integer',
    start: 'bigint',
    scope: 'integer',
    workflow: 'text',
    started: 'bigint',
    succeeded: 'bigint',
    failed: 'bigint',
    canceled: 'bigint',
    durations: 'text',
    steps: 'text',
  }),
  instanceTable('deduplication', { deduplication_id: 'text', run_key: 'text', expires_at: 'bigint' }),
  {
    table: 'instance_totals',
    columns: { instance_id: 'text', shard: 'integer', bytes: 'bigint', active_runs: 'bigint' },
    select: 'SELECT t.instance_id, 0 AS shard, x.bytes, x.active_runs FROM instance_totals x JOIN tenant t ON t.seq = x.tenant',
    completeTable: 'instance_totals',
    extraSelect: `SELECT t.instance_id, s.shard, s.bytes, s.active_runs
      FROM (${unsettledSql('instance_totals', 'x.key ->> 0 AS tenant, x.amounts ->> 0 AS bytes, x.amounts ->> 1 AS active_runs')}) s
      JOIN tenant t ON t.seq = s.tenant`,
  },
  instanceTable('flow_control', {
    key: 'text',
    parallelism: 'integer',
    rate: 'integer',
    period_ms: 'bigint',
    paused: 'boolean',
    pinned: 'boolean',
    pinned_only: 'text',
    window_started_at: 'bigint',
    window_granted: 'bigint',
  }),
  instanceTable('schedule', {
    schedule_id: 'text',
    seq: 'bigint',
    created_at: 'bigint',
    next_at: 'bigint',
    last_fired_at: 'bigint',
    delay_ms: 'bigint',
    paused: 'boolean',
    last_run_id: 'text',
    cron: 'text',
    time_zone: 'text',
    dialect: 'text',
    workflow_url: 'text',
    caller_ip: 'text',
    settings: 'text',
    content_type: 'text',
    forward_headers: 'text',
    body: 'bytea',
  }),
  instanceTable('destination_hold', { origin: 'text', held_by: 'text', reason: 'text', since: 'bigint' }),
  instanceTable('instance_settings', { settings: 'text' }),
  instanceTable('queue', {
    name: 'text',
    parallelism: 'integer',
    paused: 'boolean',
    created_at: 'bigint',
    updated_at: 'bigint',
  }),
  instanceTable('url_group', { name: 'text', created_at: 'bigint', updated_at: 'bigint', endpoints: 'text' }),
  countTable(
    'usage',
    { instance_id: 'text', month: 'text', account_id: 'text', price: 'double precision', messages: 'bigint' },
    `x.key ->> 0 AS instance_id, x.key ->> 1 AS month, x.key ->> 2 AS account_id, x.key ->> 3 AS price,
      x.amounts ->> 0 AS messages`,
  ),
  countTable(
    'day_count',
    { instance_id: 'text', day: 'integer', what: 'text', count: 'bigint', last_at: 'bigint' },
    'x.key ->> 0 AS instance_id, x.key ->> 1 AS day, x.key ->> 2 AS what, x.amounts ->> 0 AS count, x.last_at',
  ),
  {
    table: 'clock_mark',
    columns: { shard: 'integer', latest_time: 'bigint' },
    select: `SELECT 0 AS shard, value AS latest_time FROM counter WHERE name = 'latest_time'`,
    completeTable: null,
  },
];

export const COPIED_TABLES: readonly CopiedTable[] = [
  ...ACCOUNT_TABLES,
  ...CONTROL_TABLES,
  ...RUN_TABLES,
  ...DEAD_LETTER_TABLES,
  ...REPAIR_TABLES,
];
/** Tables of the database that are not copied from a table: those of its nodes and their workers, and of search documents. */
export const FILLED_SEPARATELY: readonly string[] = [
  'schema_version',
  'node',
  'worker_pool',
  'gate_lease',
  'day_taken',
  'instance_clock',
  'search_collection',
  'search_namespace',
];
