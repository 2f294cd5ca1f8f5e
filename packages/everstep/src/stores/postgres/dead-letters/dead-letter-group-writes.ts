/**
 * Writes the counters of groups of dead letters. These changes are the last statements of a transaction. They start by locking the
 * rows of the groups in a fixed order. Transactions can therefore wait for each other here, but never deadlock.
 * Keeps invariant 7.
 */
import { type GroupChange, type GroupChanges, SEVERAL_SUCCESSORS } from '../../../engine/dead-letters/dead-letter-groups.js';
import { statement, type TransactionSession } from '../connection/connection.js';
import { type Columns, columnArrays, columnNames, unnest } from '../connection/row-sets.js';

const GROUP_KEY = { instance_id: 'text', fingerprint: 'text' } as const satisfies Columns;
const ADDITION = {
  ...GROUP_KEY,
  kind: 'text',
  step_name: 'text',
  response_status: 'integer',
  message: 'text',
  first_seen_at: 'bigint',
  last_seen_at: 'bigint',
  total: 'bigint',
} as const satisfies Columns;
const REMOVAL = {
  ...GROUP_KEY,
  gone: 'bigint',
  moved: 'bigint',
  recovered_at: 'bigint',
  successor: 'text',
} as const satisfies Columns;
const WORKFLOW = { ...GROUP_KEY, workflow_url: 'text', entries: 'bigint' } as const satisfies Columns;
const HOUR = { ...GROUP_KEY, hour: 'integer', count: 'bigint' } as const satisfies Columns;

const LOCK = statement(`
  SELECT g.fingerprint FROM ${unnest(GROUP_KEY)} AS u(${columnNames(GROUP_KEY)})
  JOIN dead_letter_group g ON g.instance_id = u.instance_id AND g.fingerprint = u.fingerprint
  ORDER BY g.instance_id, g.fingerprint FOR UPDATE OF g`);
/** SQL condition: entries were added after the group was resolved. */
const ADDED_AFTER_RESOLUTION = 'g.resolved_at <= excluded.last_seen_at';
const ADD_ENTRIES = statement(`
  INSERT INTO dead_letter_group AS g (${columnNames(ADDITION)}, entries, rank)
  SELECT ${columnNames(ADDITION)}, total, 1 FROM ${unnest(ADDITION)} AS u(${columnNames(ADDITION)})
  ORDER BY instance_id, fingerprint
  ON CONFLICT (instance_id, fingerprint) DO UPDATE SET
    total = g.total + excluded.total,
    entries = g.entries + excluded.entries,
    first_seen_at = least(g.first_seen_at, excluded.first_seen_at),
    last_seen_at = greatest(g.last_seen_at, excluded.last_seen_at),
    regressed_at = CASE WHEN ${ADDED_AFTER_RESOLUTION} THEN excluded.last_seen_at ELSE g.regressed_at END,
    rank = CASE WHEN ${ADDED_AFTER_RESOLUTION} THEN 0 ELSE g.rank END,
    resolved_at = CASE WHEN ${ADDED_AFTER_RESOLUTION} THEN NULL ELSE g.resolved_at END`);
const IS_RESOLVED = 'g.entries = u.gone AND u.recovered_at IS NOT NULL';
const REMOVE_ENTRIES = statement(`
  UPDATE dead_letter_group g SET
    entries = g.entries - u.gone,
    total = g.total - u.moved,
    successor = CASE WHEN u.successor IS NULL THEN g.successor
      WHEN coalesce(g.successor, u.successor) = u.successor THEN u.successor ELSE '${SEVERAL_SUCCESSORS}' END,
    resolved_at = CASE WHEN ${IS_RESOLVED} THEN u.recovered_at ELSE g.resolved_at END,
    regressed_at = CASE WHEN ${IS_RESOLVED} THEN NULL ELSE g.regressed_at END,
    rank = CASE WHEN NOT (${IS_RESOLVED}) OR g.rank > 0 THEN g.rank WHEN g.acknowledged_at IS NULL THEN 1 ELSE 2 END
  FROM ${unnest(REMOVAL)} AS u(${columnNames(REMOVAL)}) WHERE g.instance_id = u.instance_id AND g.fingerprint = u.fingerprint`);
const COUNT_WORKFLOWS = statement(`
  INSERT INTO dead_letter_group_workflow AS w (${columnNames(WORKFLOW)})
  SELECT ${columnNames(WORKFLOW)} FROM ${unnest(WORKFLOW)} AS u(${columnNames(WORKFLOW)}) ORDER BY instance_id, fingerprint, workflow_url
  ON CONFLICT (instance_id, fingerprint, workflow_url) DO UPDATE SET entries = w.entries + excluded.entries`);
const DROP_WORKFLOWS = statement(`
  DELETE FROM dead_letter_group_workflow w USING ${unnest(WORKFLOW)} AS u(${columnNames(WORKFLOW)})
  WHERE w.instance_id = u.instance_id AND w.fingerprint = u.fingerprint AND w.workflow_url = u.workflow_url AND w.entries = 0`);
const COUNT_HOURS = statement(`
  INSERT INTO dead_letter_group_hour AS h (${columnNames(HOUR)})
  SELECT ${columnNames(HOUR)} FROM ${unnest(HOUR)} AS u(${columnNames(HOUR)}) ORDER BY instance_id, fingerprint, hour
  ON CONFLICT (instance_id, fingerprint, hour) DO UPDATE SET count = h.count + excluded.count`);

const groupKeyOf = ({ instanceId, fingerprint }: Pick<GroupChange, 'instanceId' | 'fingerprint'>) => ({
  instance_id: instanceId,
  fingerprint,
});

/** Sends the changes without waiting. Must be called last in a transaction. */
export function sendGroupChanges(session: TransactionSession, changes: GroupChanges): void {
  if (!changes.hasChanges) return;
  const { groups, workflows, hours } = changes.take();
  session.send(LOCK, columnArrays(GROUP_KEY, groups.map(groupKeyOf)));
  const additions = groups.flatMap((group) => {
    const { properties, firstAt, lastAt, added: total } = group;
    if (!properties) return [];
    const { kind, stepName, responseStatus, message } = properties;
    const propertyColumns = { kind, step_name: stepName, response_status: responseStatus, message };
    return [{ ...groupKeyOf(group), ...propertyColumns, first_seen_at: firstAt, last_seen_at: lastAt, total }];
  });
  if (additions.length > 0) session.send(ADD_ENTRIES, columnArrays(ADDITION, additions));
  const removals = groups
    .filter(({ removed }) => removed > 0)
    .map((group) => ({
      ...groupKeyOf(group),
      gone: group.removed,
      moved: group.moved,
      recovered_at: group.recoveredAt,
      successor: group.successor,
    }));
  if (removals.length > 0) session.send(REMOVE_ENTRIES, columnArrays(REMOVAL, removals));
  if (workflows.length > 0) {
    const values = columnArrays(
      WORKFLOW,
      workflows.map((change) => ({ ...groupKeyOf(change), workflow_url: change.workflowUrl, entries: change.entries })),
    );
    session.send(COUNT_WORKFLOWS, values);
    if (removals.length > 0) session.send(DROP_WORKFLOWS, values);
  }
  const hourRows = hours.map((change) => ({ ...groupKeyOf(change), hour: change.hour, count: change.added }));
  if (hourRows.length > 0) session.send(COUNT_HOURS, columnArrays(HOUR, hourRows));
}
