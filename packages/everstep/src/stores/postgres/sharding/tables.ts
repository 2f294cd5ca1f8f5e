/** Lists how each table is distributed over several servers. A test compares the lists with the schema. */

/** Tables distributed by `instance_id`: all rows of an instance are on one server. */
export const TABLES_BY_INSTANCE = [
  ...['run', 'run_label', 'active_run', 'ended_run', 'failure_function', 'payload', 'step', 'task', 'attempt', 'waiter'],
  ...['dead_letter', 'dead_letter_label', 'dead_letter_group', 'dead_letter_group_workflow', 'dead_letter_group_hour'],
  ...['deduplication', 'kept_event', 'flow_control', 'schedule', 'destination_hold', 'instance_settings', 'queue', 'url_group'],
  ...['usage', 'instance_totals', 'day_count', 'day_taken', 'budget_alert', 'staged_journal', 'gate_lease', 'instance_clock'],
  ...['repair', 'repair_item', 'insight', 'insight_delta', 'alert', 'alert_event'],
] as const;

/** Tables that are read by `run_key`, to look up the instance of a run. Their rows are on the server of the instance. */
export const TABLES_BY_RUN = ['run_directory'] as const;

/** Tables that are small and rarely changed, and therefore copied to every server. */
export const TABLES_ON_EVERY_SERVER = [
  ...['secret', 'account_user', 'api_key', 'login_session', 'team', 'team_member', 'invitation', 'queue_instance', 'token'],
  ...['deleted_instance', 'named_token', 'login_place', 'sso_identity', 'recovery_link', 'search_index'],
] as const;

/** Tables on the server that the nodes connect to. Tables of search indexes are also there. */
export const TABLES_ON_ONE_SERVER = [
  ...['schema_version', 'clock_mark', 'node', 'worker_pool', 'search_collection', 'search_namespace'],
  ...['audit_log', 'audit_reader', 'audit_chain', 'audit_anchor', 'audit_push'],
] as const;

/** The column by which statements find the rows of each distributed table. */
export const DISTRIBUTED_BY: ReadonlyMap<string, string> = new Map([
  ...TABLES_BY_INSTANCE.map((table) => [table, 'instance_id'] as const),
  ...TABLES_BY_RUN.map((table) => [table, 'run_key'] as const),
]);
