/**
 * What becomes of the rows of the embedded store in PostgreSQL: the one place that knows both schemas. Ids, JSON and bytes
 * are taken as they are. Row numbers say what came first, there as here: they are small, and places that a database gives
 * later are behind all of them.
 */
import type { Columns, RowOf } from '../stores/postgres/first-load.js';
import { SOLE, urlColumns } from '../stores/postgres/run-writes.js';
import { TASK } from '../stores/postgres/task-rows.js';

/** A row as the embedded store has it, under the names of the columns it goes to. */
export type SourceRow = Readonly<Record<string, unknown>>;
export type TargetRow = RowOf<Columns>;

export interface CopiedTable {
  readonly table: string;
  readonly columns: Columns;
  readonly select: string;
  /** The table of the embedded store of which every row has to be among the rows that `select` gives; null: it gives some. */
  readonly allOf: string | null;
  /** Absent: each row becomes one, its values taken by name. */
  rowsOf?(row: SourceRow): readonly Readonly<Record<string, unknown>>[];
}

const KEY = { instance_id: 'text', run_key: 'text' } as const satisfies Columns;
/** Columns of the run `r` of its instance `t`. */
const OF_RUN = 't.instance_id, r.key AS run_key';
const runOf = (alias: string) => `JOIN run r ON r.seq = ${alias}.run_seq JOIN tenant t ON t.seq = r.tenant`;
const IS_MESSAGE = `json_extract(r.settings, '$.message') IS NOT NULL AS message`;
const columnList = (columns: Columns, alias: string, ...but: readonly string[]) =>
  Object.keys(columns)
    .filter((name) => !but.includes(name))
    .map((name) => `${alias}.${name}`)
    .join(', ');

/** A table that is the same on both sides. */
const same = (table: string, columns: Columns): CopiedTable => ({
  table,
  columns,
  select: `SELECT ${columnList(columns, 'x')} FROM ${table} x ORDER BY x.rowid`,
  allOf: table,
});
/** The same, but without row numbers of its own. */
const sameWithoutRowid = (table: string, columns: Columns): CopiedTable => ({
  ...same(table, columns),
  select: `SELECT ${columnList(columns, 'x')} FROM ${table} x`,
});
/** One that names its instance by number in the embedded store. */
const ofInstance = (table: string, columns: Columns): CopiedTable => ({
  table,
  columns: { instance_id: 'text', ...columns },
  select: `SELECT t.instance_id, ${columnList(columns, 'x')} FROM ${table} x JOIN tenant t ON t.seq = x.tenant`,
  allOf: table,
});
/** One that names its run by number. */
const ofRun = (table: string, columns: Columns, more = ''): CopiedTable => ({
  table,
  columns: { ...KEY, ...columns, ...(more === '' ? {} : { place: 'bigint' }) },
  select: `SELECT ${OF_RUN}, ${columnList(columns, 'x')}${more} FROM ${table} x ${runOf('x')}`,
  allOf: table,
});
/** Counts, which have several rows in a database so that commits do not wait for each other. */
const counted = (table: string, columns: Columns): CopiedTable => ({
  table,
  columns: { ...columns, shard: 'integer' },
  select: `SELECT ${columnList(columns, 'x')}, 0 AS shard FROM ${table} x`,
  allOf: table,
});

interface KnownSettings {
  readonly labels?: readonly string[];
  readonly message?: { readonly urlGroup?: string; readonly scheduleId?: string };
}
const settingsOf = ({ settings }: SourceRow) => JSON.parse(String(settings)) as KnownSettings;
const labelsOf = (row: SourceRow): readonly SourceRow[] =>
  [...new Set(settingsOf(row).labels ?? [])].map((label) => ({ ...row, label }));
const asked = (row: SourceRow): readonly SourceRow[] => {
  const { message } = settingsOf(row);
  return [{ ...row, url_group: message?.urlGroup ?? null, schedule_id: message?.scheduleId ?? null }];
};

const RUN = {
  ...KEY,
  place: 'bigint',
  created_at: 'bigint',
  workflow_run_id: 'text',
  dialect: 'text',
  workflow_url: 'text',
  caller_ip: 'text',
  flow_key: 'text',
  invoked_by_run_key: 'text',
  forked_from_run_key: 'text',
  message: 'boolean',
  queue: 'text',
  url_group: 'text',
  schedule_id: 'text',
  url_host: 'text',
  url_path: 'text',
  origin: 'text',
  settings: 'text',
} as const satisfies Columns;

const RUNS: readonly CopiedTable[] = [
  {
    table: 'run',
    columns: RUN,
    select: `SELECT ${OF_RUN}, r.seq AS place, r.created_at, r.workflow_run_id, r.dialect, r.workflow_url, r.caller_ip, r.flow_key,
      r.invoked_by_run_key, r.forked_from_run_key, ${IS_MESSAGE}, r.queue, r.origin, r.settings
      FROM run r JOIN tenant t ON t.seq = r.tenant ORDER BY r.seq`,
    allOf: 'run',
    rowsOf: (row) => asked(row).map((known) => ({ ...known, ...urlColumns(String(row.workflow_url)) })),
  },
  {
    table: 'run_directory',
    columns: { run_key: 'text', instance_id: 'text' },
    select: `SELECT ${OF_RUN} FROM run r JOIN tenant t ON t.seq = r.tenant ORDER BY r.seq`,
    allOf: 'run',
  },
  {
    table: 'run_label',
    columns: { ...KEY, message: 'boolean', label: 'text', place: 'bigint' },
    select: `SELECT ${OF_RUN}, ${IS_MESSAGE}, r.seq AS place, r.settings
      FROM run r JOIN tenant t ON t.seq = r.tenant WHERE json_array_length(r.settings, '$.labels') > 0 ORDER BY r.seq`,
    allOf: null,
    rowsOf: labelsOf,
  },
  {
    table: 'active_run',
    columns: {
      ...KEY,
      workflow_run_id: 'text',
      claim: 'text',
      place: 'bigint',
      created_at: 'bigint',
      message: 'boolean',
      queue: 'text',
    },
    select: `SELECT ${OF_RUN}, r.workflow_run_id, r.seq AS place, r.created_at, ${IS_MESSAGE}, r.queue
      FROM run r JOIN tenant t ON t.seq = r.tenant WHERE r.status = 'active' ORDER BY r.seq`,
    allOf: null,
    // The id of a message is its own, and nothing asks whether it is free.
    rowsOf: (row) => [{ ...row, claim: row.message === 1 ? row.run_key : SOLE }],
  },
  {
    table: 'ended_run',
    columns: {
      ...KEY,
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
    select: `SELECT ${OF_RUN}, r.seq AS place, r.created_at, r.completed_at, ${IS_MESSAGE}, r.result, r.error, r.became_kind,
      r.became_run_key, CASE WHEN r.dead_letter_seq IS NULL THEN r.status ELSE 'deadLetter' END AS state
      FROM run r JOIN tenant t ON t.seq = r.tenant WHERE r.status <> 'active' ORDER BY r.seq`,
    allOf: null,
  },
  {
    table: 'failure_function',
    columns: KEY,
    select: `SELECT ${OF_RUN} FROM run r JOIN tenant t ON t.seq = r.tenant WHERE r.failure_function = 1 ORDER BY r.seq`,
    allOf: null,
  },
  ofRun('payload', { content_type: 'text', forward_headers: 'text', body: 'bytea' }),
  ofRun('step', {
    idx: 'integer',
    step_id: 'integer',
    first_of_group: 'integer',
    concurrent: 'integer',
    created_at: 'bigint',
    completed_at: 'bigint',
    sleep_ms: 'bigint',
    wake_at: 'bigint',
    name: 'text',
    type: 'text',
    message_id: 'text',
    out: 'text',
    edited: 'boolean',
  }),
  {
    table: 'task',
    columns: TASK,
    // Nobody's: the node that is started claims what is due.
    select: `SELECT ${OF_RUN}, ${columnList(TASK, 'x', ...Object.keys(KEY), 'claimed_by', 'wanted_by')},
      NULL AS claimed_by, NULL AS wanted_by FROM task x ${runOf('x')}`,
    allOf: 'task',
  },
  ofRun(
    'attempt',
    {
      slot: 'integer',
      retried: 'integer',
      at: 'bigint',
      status: 'integer',
      retry_at: 'bigint',
      name: 'text',
      message_id: 'text',
      cause: 'text',
      message: 'text',
      exchange: 'text',
    },
    ', x.seq AS place',
  ),
  ofRun('waiter', { slot: 'integer', event_id: 'text', since: 'bigint' }),
  ofRun('kept_event', { received_at: 'bigint', event_key: 'text', event_id: 'text', content: 'text' }, ', x.seq AS place'),
];

const DEAD_LETTERS: readonly CopiedTable[] = [
  {
    table: 'dead_letter',
    columns: {
      ...KEY,
      dlq_id: 'text',
      place: 'bigint',
      created_at: 'bigint',
      run_created_at: 'bigint',
      response_status: 'integer',
      failure_function_state: 'text',
      workflow_run_id: 'text',
      workflow_url: 'text',
      caller_ip: 'text',
      flow_key: 'text',
      message: 'boolean',
      queue: 'text',
      url_group: 'text',
      schedule_id: 'text',
      response_headers: 'text',
      error: 'text',
      response_body: 'bytea',
    },
    select: `SELECT ${OF_RUN}, d.dlq_id, d.seq AS place, d.created_at, r.created_at AS run_created_at, d.response_status,
      d.failure_function_state, r.workflow_run_id, r.workflow_url, r.caller_ip, r.flow_key, ${IS_MESSAGE}, r.queue, r.settings,
      d.response_headers, d.error, d.response_body
      FROM dead_letter d ${runOf('d')} ORDER BY d.seq`,
    allOf: 'dead_letter',
    rowsOf: asked,
  },
  {
    table: 'dead_letter_label',
    columns: { instance_id: 'text', label: 'text', place: 'bigint', dlq_id: 'text' },
    select: `SELECT t.instance_id, d.dlq_id, d.seq AS place, r.settings
      FROM dead_letter d ${runOf('d')} WHERE json_array_length(r.settings, '$.labels') > 0 ORDER BY d.seq`,
    allOf: null,
    rowsOf: labelsOf,
  },
];

const CONTROLS: readonly CopiedTable[] = [
  ofInstance('deduplication', { deduplication_id: 'text', run_key: 'text', expires_at: 'bigint' }),
  ofInstance('flow_control', {
    key: 'text',
    parallelism: 'integer',
    rate: 'integer',
    period_ms: 'bigint',
    paused: 'boolean',
    pinned: 'boolean',
    window_started_at: 'bigint',
    window_granted: 'bigint',
  }),
  ofInstance('schedule', {
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
  ofInstance('destination_hold', { origin: 'text', held_by: 'text', reason: 'text', since: 'bigint' }),
  ofInstance('instance_settings', { settings: 'text' }),
  ofInstance('queue', {
    name: 'text',
    parallelism: 'integer',
    paused: 'boolean',
    created_at: 'bigint',
    updated_at: 'bigint',
  }),
  ofInstance('url_group', { name: 'text', created_at: 'bigint', updated_at: 'bigint', endpoints: 'text' }),
  counted('usage', { instance_id: 'text', month: 'text', account_id: 'text', price: 'double precision', messages: 'bigint' }),
  counted('day_count', { instance_id: 'text', day: 'integer', what: 'text', count: 'bigint', last_at: 'bigint' }),
  {
    table: 'clock_mark',
    columns: { shard: 'integer', latest_time: 'bigint' },
    select: `SELECT 0 AS shard, value AS latest_time FROM counter WHERE name = 'latest_time'`,
    allOf: null,
  },
];

/** Those first that others refer to. */
const ACCOUNTS: readonly CopiedTable[] = [
  sameWithoutRowid('secret', { name: 'text', value: 'text' }),
  same('account_user', { user_id: 'text', seq: 'bigint', email: 'text', created_at: 'bigint' }),
  same('api_key', {
    api_key_id: 'text',
    seq: 'bigint',
    user_id: 'text',
    name: 'text',
    key_hash: 'text',
    created_at: 'bigint',
    revoked_at: 'bigint',
  }),
  same('team', { team_id: 'text', seq: 'bigint', name: 'text', created_at: 'bigint' }),
  same('team_member', { user_id: 'text', team_id: 'text', seq: 'bigint', role: 'text', added_at: 'bigint' }),
  {
    table: 'queue_instance',
    columns: {
      instance_id: 'text',
      seq: 'bigint',
      region: 'text',
      name: 'text',
      created_at: 'bigint',
      current_signing_key: 'text',
      next_signing_key: 'text',
      account_id: 'text',
      plan: 'text',
      budget_dollars: 'double precision',
      budget_alert_url: 'text',
      price: 'double precision',
      first_price: 'double precision',
    },
    // What was counted without a price has that of the first one already.
    select: 'SELECT q.*, q.price AS first_price FROM queue_instance q ORDER BY q.seq',
    allOf: 'queue_instance',
  },
  same('token', {
    token_id: 'text',
    seq: 'bigint',
    instance_id: 'text',
    access: 'text',
    created_at: 'bigint',
    revoked_at: 'bigint',
  }),
  sameWithoutRowid('login_session', {
    session_hash: 'text',
    user_id: 'text',
    api_key_id: 'text',
    created_at: 'bigint',
    expires_at: 'bigint',
  }),
  sameWithoutRowid('login_place', { user_id: 'text', place: 'text', at: 'bigint' }),
  sameWithoutRowid('budget_alert', {
    instance_id: 'text',
    month: 'text',
    percent: 'integer',
    body: 'text',
    retried: 'integer',
    due_at: 'bigint',
  }),
  {
    ...same('search_index', {
      index_id: 'text',
      seq: 'bigint',
      account_id: 'text',
      name: 'text',
      region: 'text',
      type: 'text',
      created_at: 'bigint',
      token_number: 'bigint',
      deleted: 'boolean',
    }),
  },
  same('audit_log', {
    seq: 'bigint',
    audit_id: 'text',
    at: 'bigint',
    actor: 'text',
    action: 'text',
    subject: 'text',
    address: 'text',
    account_ids: 'text',
    details: 'text',
  }),
  sameWithoutRowid('audit_reader', { account_id: 'text', entry_seq: 'bigint' }),
];

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
} as const satisfies Columns;

const REPAIRS: readonly CopiedTable[] = [
  {
    table: 'repair',
    columns: { instance_id: 'text', ...REPAIR, driver: 'text', driven_until: 'bigint' },
    // Nobody's: the first node that looks drives those that are under way.
    select: `SELECT t.instance_id, ${columnList(REPAIR, 'x')}, NULL AS driver, NULL AS driven_until
      FROM repair x JOIN tenant t ON t.seq = x.tenant`,
    allOf: 'repair',
  },
  {
    table: 'repair_item',
    columns: { instance_id: 'text', repair_id: 'text', ...REPAIR_ITEM },
    select: `SELECT t.instance_id, p.repair_id, ${columnList(REPAIR_ITEM, 'x')}
      FROM repair_item x JOIN repair p ON p.seq = x.repair_seq JOIN tenant t ON t.seq = p.tenant`,
    allOf: 'repair_item',
  },
];

export const COPIED_TABLES: readonly CopiedTable[] = [...ACCOUNTS, ...CONTROLS, ...RUNS, ...DEAD_LETTERS, ...REPAIRS];
/** What a database has besides, and fills by itself: that of its nodes, and of the documents of search indexes. */
export const FILLED_OTHERWISE: readonly string[] = [
  'schema_version',
  'node',
  'gate_lease',
  'day_taken',
  'search_collection',
  'search_namespace',
];
