/**
 * Lists the statements that name no instance although their tables can be distributed, each as a part of its text and the reason. A
 * test rejects all others. Statements "of one server" are not sent to distributed tables; other statements replace them there.
 */
const READ = 'a plain read over all servers';
const ONE_SERVER = 'of one server';
const UPKEEP = 'removes or marks old rows of all instances, without a limit on distributed tables';

export const EXCEPTIONS: readonly (readonly [part: string, reason: string])[] = [
  ['SELECT max(latest_time) FROM instance_clock', READ],
  ['SELECT coalesce(sum(active_runs), 0) FROM instance_totals', READ],
  ['SELECT due_at, run_key, slot, kind, instance_id, call_url, flow_key FROM task', READ],
  ['SELECT due_at FROM task WHERE due_at > $1', READ],
  ['WHERE t.child_run_key = $1', READ],
  ['WHERE d.rules < 2 ORDER BY d.place', READ],
  ['SELECT instance_id AS owner, fingerprint, successor FROM dead_letter_group', READ],
  ['FROM dead_letter_group WHERE triage IS NOT NULL', READ],
  ['FROM schedule WHERE next_at IS NOT NULL ORDER BY next_at', READ],
  ['FROM schedule s WHERE s.next_at <= $1', READ],
  ['AS position FROM repair\n      WHERE wake_at', READ],
  ['AS at FROM repair WHERE wake_at IS NOT NULL', READ],
  ['SELECT instance_id, run_key FROM staged_journal WHERE gone', READ],
  ['SELECT * FROM budget_alert WHERE due_at', READ],
  ['SELECT min(due_at) AS due_at FROM budget_alert', READ],
  ['WITH RECURSIVE open', ONE_SERVER],
  ['WITH RECURSIVE first', ONE_SERVER],
  ['CROSS JOIN LATERAL (\n    SELECT sum(bytes)', ONE_SERVER],
  ['DELETE FROM deduplication WHERE  (instance_id', ONE_SERVER],
  ['dead_letter_group WHERE (instance_id, fingerprint) IN', UPKEEP],
  ['dead_letter_group SET rank = 2 WHERE (instance_id, fingerprint) IN', UPKEEP],
  ['(SELECT instance_id, fingerprint, hour FROM dead_letter_group_hour WHERE hour <', UPKEEP],
  ['DELETE FROM day_count WHERE', UPKEEP],
  ['UPDATE staged_journal SET gone = true', UPKEEP],
  ['INSERT INTO repair_item (instance_id', 'the instance is the first value'],
];
