/**
 * Where rows of a queue instance are, all of them by `instance_id`. Each table of the schema with that column is in one of these
 * lists; `instance-rows.test.ts` compares them with the schema.
 * Keeps invariant 21.
 */

/**
 * Also by `run_key`: removed with their run by retention, `run` last. For a deleted instance, rows of `active_run` are removed
 * first: no decision on a run is made without its row there.
 */
export const TABLES_OF_RUN = [
  'dead_letter',
  'ended_run',
  'run_label',
  'failure_function',
  'payload',
  'step',
  'task',
  'attempt',
  'waiter',
  'kept_event',
  'deduplication',
  'run',
] as const;

export const TABLES_OF_INSTANCE = [
  'dead_letter_label',
  'repair_item',
  'repair',
  'schedule',
  'flow_control',
  'destination_hold',
  'instance_settings',
  'queue',
  'url_group',
  'dead_letter_group',
  'dead_letter_group_workflow',
  'dead_letter_group_hour',
  'gate_lease',
  'worker_pool',
  'instance_clock',
  'token',
  'named_token',
  'budget_alert',
  'alert_event',
  'alert',
  'day_count',
  'day_taken',
  'instance_totals',
  'insight_delta',
  'insight',
  'staged_journal',
] as const;

export const REMOVED_FIRST = ['active_run'] as const;
/** Tables whose rows are removed with those of `run`, whose keys they have. */
export const WITH_RUNS = ['run_directory'] as const;
/** Tables whose rows are removed immediately when the instance is deleted. */
export const DELETED_AT_ONCE = ['queue_instance'] as const;
/** Tables whose rows are kept: billed usage, and the record of the deletion. */
export const KEPT_TABLES = ['usage', 'deleted_instance'] as const;
