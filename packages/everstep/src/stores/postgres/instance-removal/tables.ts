/**
 * Lists the tables with rows of queue instances. Each table of the schema with a column `instance_id` is in one of these lists;
 * `tables.test.ts` compares them with the schema.
 * Keeps invariant 21.
 */

/**
 * Tables that also have a column `run_key`. Retention removes their rows with the run, and the row of `run` last. For a deleted
 * instance, rows of `active_run` are removed first: without its row there, no decision on a run can be written.
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

/** Other tables whose rows are removed in small steps after the instance was deleted. */
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

/** Tables whose rows are removed before all others. */
export const TABLES_REMOVED_FIRST = ['active_run'] as const;
/** Tables whose rows are removed together with the rows of `run` that have the same key. */
export const TABLES_REMOVED_WITH_RUNS = ['run_directory'] as const;
/** Tables whose rows are removed immediately when the instance is deleted. */
export const TABLES_DELETED_AT_ONCE = ['queue_instance'] as const;
/** Tables whose rows are kept: billed usage, and the record of the deletion. */
export const KEPT_TABLES = ['usage', 'deleted_instance'] as const;
