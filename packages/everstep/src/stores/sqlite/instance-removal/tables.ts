/**
 * Tables with rows of queue instances, by the column that finds the rows of one instance. Each table of the schema that has such
 * rows is in one of these lists; `tables.test.ts` compares them with the schema.
 * Keeps invariant 21.
 */

/** Tables with rows by `run_seq`, which are removed with their run, also by retention. */
export const TABLES_OF_RUN = ['payload', 'step', 'task', 'attempt', 'waiter', 'kept_event'] as const;

/** Tables whose rows are removed with their facets and groups, by separate code. */
export const RUN_TABLES = ['run', 'dead_letter'] as const;

/** Tables with rows by `repair_seq`, which are removed before their repair. */
export const TABLES_OF_REPAIR = ['repair_item'] as const;

/** Tables with rows by `tenant`, which are removed when no run is left. */
export const TABLES_OF_TENANT = [
  'repair',
  'schedule',
  'deduplication',
  'flow_control',
  'destination_hold',
  'instance_settings',
  'queue',
  'url_group',
  'dead_letter_group',
  'dead_letter_group_workflow',
  'dead_letter_group_hour',
  'facet',
  'instance_totals',
  'insight_delta',
  'insight',
] as const;

/** Tables with rows by `instance_id`. */
export const TABLES_OF_INSTANCE = ['token', 'named_token', 'budget_alert', 'day_count', 'alert_event', 'alert'] as const;

/** Tables whose rows are removed immediately when the instance is deleted. */
export const DELETED_AT_ONCE = ['queue_instance'] as const;

/** Table of journals that are copied for future runs. They are removed if the run is not created. */
export const STAGING_TABLES = ['staged_journal'] as const;

/** Tables whose rows are kept: billed usage, the record of the deletion, and the number of the instance, which is never reused. */
export const KEPT_TABLES = ['usage', 'deleted_instance', 'tenant'] as const;
