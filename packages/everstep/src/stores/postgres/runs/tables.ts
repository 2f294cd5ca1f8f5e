/** Columns of the tables of runs, with their types. Statements that write, read or copy these tables use these lists. */
import type { Columns } from '../connection/row-sets.js';

/** The columns that identify a run. */
export const RUN_KEY = { instance_id: 'text', run_key: 'text' } as const satisfies Columns;

/** Columns of runs, except those that are assigned or updated later: `place`, `forked_from_run_key`. */
export const RUN = {
  ...RUN_KEY,
  created_at: 'bigint',
  workflow_run_id: 'text',
  dialect: 'text',
  workflow_url: 'text',
  caller_ip: 'text',
  flow_key: 'text',
  invoked_by_run_key: 'text',
  message: 'boolean',
  queue: 'text',
  url_group: 'text',
  schedule_id: 'text',
  origin: 'text',
  settings: 'text',
} as const satisfies Columns;

export const PAYLOAD = {
  ...RUN_KEY,
  content_type: 'text',
  forward_headers: 'text',
  body: 'bytea',
} as const satisfies Columns;

/** Columns of steps, except those that few steps have: `edited`, `sent`. */
export const STEP = {
  ...RUN_KEY,
  idx: 'integer',
  step_id: 'integer',
  first_of_group: 'integer',
  concurrent: 'integer',
  created_at: 'bigint',
  completed_at: 'bigint',
  sleep_ms: 'bigint',
  wake_at: 'bigint',
  started_at: 'bigint',
  name: 'text',
  type: 'text',
  message_id: 'text',
  out: 'text',
} as const satisfies Columns;

export const ATTEMPT = {
  ...RUN_KEY,
  slot: 'integer',
  retried: 'integer',
  at: 'bigint',
  status: 'integer',
  retry_at: 'bigint',
  name: 'text',
  message_id: 'text',
  cause: 'text',
  message: 'text',
  thrown: 'text',
  exchange: 'text',
} as const satisfies Columns;

export const KEPT_EVENT = {
  ...RUN_KEY,
  received_at: 'bigint',
  event_key: 'text',
  event_id: 'text',
  content: 'text',
} as const satisfies Columns;

export const WAITER = { ...RUN_KEY, slot: 'integer', event_id: 'text', since: 'bigint' } as const satisfies Columns;

export const TASK = {
  ...RUN_KEY,
  slot: 'integer',
  due_at: 'bigint',
  created_at: 'bigint',
  retried: 'integer',
  first_of_group: 'integer',
  concurrent: 'integer',
  sleep_ms: 'bigint',
  wake_at: 'bigint',
  kind: 'text',
  message_id: 'text',
  name: 'text',
  step_type: 'text',
  flow_key: 'text',
  queue: 'text',
  child_run_key: 'text',
  call_url: 'text',
  detail: 'text',
  claimed_by: 'text',
  wanted_by: 'text',
} as const satisfies Columns;
