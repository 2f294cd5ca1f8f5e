/** Lists, marks and tidies groups of dead letters, and adds entries of versions without groups to them. */
import {
  EMPTY_GROUPS_KEPT_MS,
  GROUP_STATES,
  GroupChanges,
  HISTOGRAM_HOURS,
  HOURS_KEPT_MS,
  hourOf,
  NEW_FOR_MS,
} from '../../../engine/dead-letters/dead-letter-groups.js';
import { FAILURE_CAUSES } from '../../../engine/runs/run.js';
import type {
  DeadLetterGroupPage,
  DeadLetterGroupRecord,
  DeadLetterGroupStore,
  UngroupedEntry,
} from '../../../ports/stores/dead-letter-groups.js';
import type { Listing } from '../../../ports/stores/store.js';
import { addAudit } from '../../shared/audit/audit-log.js';
import { flag, integer, integerOrNull, json, type Row, text, textOrNull, word } from '../connection/columns.js';
import { type Database, planned, statement } from '../connection/connection.js';
import { type Columns, columnArrays, names, unnest } from '../connection/row-sets.js';
import { sendProcedure } from '../connection/sql-session.js';
import { Parameters } from '../listing/listing.js';
import { sendGroupChanges } from './dead-letter-group-writes.js';

const KINDS = ['workflow', 'message'] as const;
/** Of the URLs with most entries. */
const WORKFLOWS_TOLD = 20;
/** Order of the parts of a listing, by the positions in GROUP_STATES. */
const [REGRESSED, NEW, KNOWN] = [0, 1, 2];

const OF_GROUP = 'x.instance_id = g.instance_id AND x.fingerprint = g.fingerprint';
/** Columns of a group `g`, with its hours between these. */
const RECORD = (from: string, to: string) => `g.*,
  (SELECT x.dlq_id FROM dead_letter x WHERE ${OF_GROUP} ORDER BY x.place DESC LIMIT 1) AS example,
  (SELECT coalesce(json_agg(json_build_array(w.workflow_url, w.entries)), '[]')::text FROM (
    SELECT x.workflow_url, x.entries FROM dead_letter_group_workflow x WHERE ${OF_GROUP} AND x.entries > 0
    ORDER BY x.entries DESC, x.workflow_url LIMIT ${WORKFLOWS_TOLD}) w) AS workflows,
  (SELECT coalesce(json_agg(json_build_array(h.hour, h.count)), '[]')::text FROM (
    SELECT x.hour, x.count FROM dead_letter_group_hour x WHERE ${OF_GROUP} AND x.hour BETWEEN ${from} AND ${to}
    ORDER BY x.hour) h) AS hours`;

const FIND = statement(
  `SELECT ${RECORD('$3::integer', '$4::integer')} FROM dead_letter_group g WHERE g.instance_id = $1 AND g.fingerprint = $2`,
);
const ACKNOWLEDGE = statement(`
  UPDATE dead_letter_group SET acknowledged_at = $3::bigint, acknowledged_by = $4, regressed_at = NULL, rank = 2
  WHERE instance_id = $1 AND fingerprint = $2`);
const RESOLVE = statement(`
  UPDATE dead_letter_group SET resolved_at = $3::bigint, regressed_at = NULL, rank = 2,
    acknowledged_by = CASE WHEN acknowledged_at IS NULL THEN $4 ELSE acknowledged_by END,
    acknowledged_at = coalesce(acknowledged_at, $3::bigint)
  WHERE instance_id = $1 AND fingerprint = $2`);
const UNGROUPED = statement(`
  SELECT d.instance_id, d.dlq_id, d.message AS is_message, d.workflow_url, d.response_status, d.error, a.name, a.cause, a.message
  FROM dead_letter d LEFT JOIN LATERAL (
    SELECT x.name, x.cause, x.message FROM attempt x
    WHERE x.instance_id = d.instance_id AND x.run_key = d.run_key AND x.slot >= 0 AND x.retry_at IS NULL
    ORDER BY x.place DESC LIMIT 1) a ON true
  WHERE d.fingerprint IS NULL ORDER BY d.place LIMIT $1`);
const ENTRY = { instance_id: 'text', dlq_id: 'text', fingerprint: 'text' } as const satisfies Columns;
const LOCK_UNGROUPED = statement(`
  SELECT d.instance_id, d.dlq_id, d.response_status, d.created_at FROM ${unnest(ENTRY)} AS u(${names(ENTRY)})
  JOIN dead_letter d ON d.instance_id = u.instance_id AND d.dlq_id = u.dlq_id AND d.fingerprint IS NULL
  ORDER BY d.instance_id, d.dlq_id FOR UPDATE OF d`);
const SET_FINGERPRINTS = statement(`
  UPDATE dead_letter d SET fingerprint = u.fingerprint FROM ${unnest(ENTRY)} AS u(${names(ENTRY)})
  WHERE d.instance_id = u.instance_id AND d.dlq_id = u.dlq_id AND d.fingerprint IS NULL`);
const PLACE = { instance_id: 'text', fingerprint: 'text' } as const satisfies Columns;
const LOCK_NEXT = statement(`
  SELECT instance_id, fingerprint FROM dead_letter_group WHERE (instance_id, fingerprint) > ($1::text, $2::text)
  ORDER BY instance_id, fingerprint LIMIT $3 FOR UPDATE`);
/** Transactions that change entries count them before this lock is acquired, or after it is released. */
const RECOUNT = statement(`
  UPDATE dead_letter_group g SET entries = c.entries FROM (
    SELECT u.instance_id, u.fingerprint, (
      SELECT count(*) FROM dead_letter d WHERE d.instance_id = u.instance_id AND d.fingerprint = u.fingerprint) AS entries
    FROM ${unnest(PLACE)} AS u(${names(PLACE)})) c
  WHERE g.instance_id = c.instance_id AND g.fingerprint = c.fingerprint AND g.entries <> c.entries
  RETURNING g.instance_id, g.fingerprint`);
const FORGET_WORKFLOWS = statement(`
  DELETE FROM dead_letter_group_workflow w USING ${unnest(PLACE)} AS u(${names(PLACE)})
  WHERE w.instance_id = u.instance_id AND w.fingerprint = u.fingerprint`);
const RECOUNT_WORKFLOWS = statement(`
  INSERT INTO dead_letter_group_workflow (instance_id, fingerprint, workflow_url, entries)
  SELECT d.instance_id, d.fingerprint, d.workflow_url, count(*) FROM ${unnest(PLACE)} AS u(${names(PLACE)})
  JOIN dead_letter d ON d.instance_id = u.instance_id AND d.fingerprint = u.fingerprint GROUP BY 1, 2, 3`);
/** Locked rows are left for the next time. */
const some = (condition: string) => `IN (
  SELECT instance_id, fingerprint FROM dead_letter_group WHERE ${condition} LIMIT $2 FOR UPDATE SKIP LOCKED)`;
const SETTLE = statement(
  `UPDATE dead_letter_group SET rank = 2 WHERE (instance_id, fingerprint) ${some('rank = 1 AND first_seen_at <= $1::bigint')}`,
);
const FORGET_HOURS = statement(`
  DELETE FROM dead_letter_group_hour WHERE (instance_id, fingerprint, hour) IN (
    SELECT instance_id, fingerprint, hour FROM dead_letter_group_hour WHERE hour < $1::integer LIMIT $2 FOR UPDATE SKIP LOCKED)`);
const FORGET_EMPTY = statement(
  `DELETE FROM dead_letter_group WHERE (instance_id, fingerprint) ${some('entries = 0 AND last_seen_at < $1::bigint')}`,
);

function recordOf(row: Row): DeadLetterGroupRecord {
  return {
    instanceId: text(row, 'instance_id'),
    fingerprint: text(row, 'fingerprint'),
    kind: word(row, 'kind', KINDS),
    stepName: textOrNull(row, 'step_name'),
    responseStatus: integerOrNull(row, 'response_status'),
    message: text(row, 'message'),
    firstSeenAt: integer(row, 'first_seen_at'),
    lastSeenAt: integer(row, 'last_seen_at'),
    entries: integer(row, 'entries'),
    total: integer(row, 'total'),
    acknowledgedAt: integerOrNull(row, 'acknowledged_at'),
    acknowledgedBy: textOrNull(row, 'acknowledged_by'),
    resolvedAt: integerOrNull(row, 'resolved_at'),
    regressedAt: integerOrNull(row, 'regressed_at'),
    exampleDlqId: textOrNull(row, 'example'),
    workflows: json<readonly (readonly [string, number])[]>(row, 'workflows').map(([workflowUrl, entries]) => ({
      workflowUrl,
      entries,
    })),
    hours: json<readonly (readonly [number, number])[]>(row, 'hours').map(([hour, count]) => ({ hour, count })),
  };
}

/** SQL of the groups of a page and one more, in their order; null if no group can match. */
function found({ instanceId, filter, now, after, limit }: DeadLetterGroupPage, to: Parameters): string | null {
  const [begun = '', lastSeenAt = '', fingerprint = ''] = after?.split('-') ?? [];
  const first = after === null ? REGRESSED : Number(begun);
  const walks: readonly (readonly [part: number, condition: () => string])[] = [
    [REGRESSED, () => 'g.rank = 0'],
    [NEW, () => `g.rank = 1 AND g.first_seen_at > ${to.one(now - NEW_FOR_MS, 'bigint')}`],
    [KNOWN, () => 'g.rank = 2'],
    [KNOWN, () => `g.rank = 1 AND g.first_seen_at <= ${to.one(now - NEW_FOR_MS, 'bigint')}`],
  ];
  const asked = walks.filter(([part]) => part >= first && (filter.states?.some((state) => GROUP_STATES[part] === state) ?? true));
  if (asked.length === 0 || filter.workflowUrls?.length === 0) return null;
  const common = [`g.instance_id = ${to.one(instanceId, 'text')}`, `g.kind = ${to.one(filter.kind, 'text')}`];
  if (filter.fromDate !== undefined) common.push(`g.last_seen_at >= ${to.one(filter.fromDate, 'bigint')}`);
  if (filter.toDate !== undefined) common.push(`g.first_seen_at <= ${to.one(filter.toDate, 'bigint')}`);
  if (!filter.withEmpty) common.push('g.entries > 0');
  if (filter.workflowUrls) {
    const urls = to.many(filter.workflowUrls, 'text');
    common.push(`(SELECT true FROM dead_letter_group_workflow x WHERE ${OF_GROUP} AND x.workflow_url = ANY(${urls}) LIMIT 1)`);
  }
  const most = to.one(limit + 1, 'integer');
  const sql = asked.map(([part, condition]) => {
    const conditions = [...common, condition()];
    if (after !== null && part === first) {
      const seen = to.one(Number(lastSeenAt), 'bigint');
      conditions.push(`g.last_seen_at <= ${seen}`);
      conditions.push(`(g.last_seen_at < ${seen} OR g.fingerprint > ${to.one(fingerprint, 'text')})`);
    }
    return `(SELECT ${part} AS part, g.instance_id, g.fingerprint, g.last_seen_at FROM dead_letter_group g
      WHERE ${conditions.join(' AND ')} ORDER BY g.last_seen_at DESC, g.fingerprint LIMIT ${most})`;
  });
  return `SELECT * FROM (${sql.join(' UNION ALL ')}) f ORDER BY part, last_seen_at DESC, fingerprint LIMIT ${most}`;
}

async function list(database: Database, page: DeadLetterGroupPage): Promise<Listing<DeadLetterGroupRecord>> {
  const { now, limit } = page;
  const to = new Parameters();
  const sql = found(page, to);
  if (sql === null) return { items: [], next: null };
  const hours = [to.one(hourOf(now) - HISTOGRAM_HOURS + 1, 'integer'), to.one(hourOf(now), 'integer')] as const;
  const rows = await database.query(
    planned(`
    WITH found AS MATERIALIZED (${sql})
    SELECT f.part, ${RECORD(...hours)} FROM found f
    JOIN dead_letter_group g ON g.instance_id = f.instance_id AND g.fingerprint = f.fingerprint
    ORDER BY f.part, f.last_seen_at DESC, f.fingerprint`),
    to.values,
  );
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  const next = last ? `${integer(last, 'part')}-${integer(last, 'last_seen_at')}-${text(last, 'fingerprint')}` : null;
  return { items: rows.slice(0, limit).map(recordOf), next };
}

const ungroupedOf = (row: Row): UngroupedEntry => ({
  instanceId: text(row, 'instance_id'),
  dlqId: text(row, 'dlq_id'),
  kind: flag(row, 'is_message') ? 'message' : 'workflow',
  workflowUrl: text(row, 'workflow_url'),
  responseStatus: integerOrNull(row, 'response_status'),
  error: text(row, 'error'),
  attempt:
    row.cause === null
      ? null
      : { name: textOrNull(row, 'name'), cause: word(row, 'cause', FAILURE_CAUSES), message: text(row, 'message') },
});

export function createDeadLetterGroups(database: Database): DeadLetterGroupStore {
  return {
    list: (page) => list(database, page),
    async find({ instanceId, fingerprint, now }) {
      const last = hourOf(now);
      const [row] = await database.query(FIND, [instanceId, fingerprint, last - HISTOGRAM_HOURS + 1, last]);
      return row ? recordOf(row) : null;
    },
    mark({ instanceId, fingerprint, mark: { kind, at, by }, audit }) {
      const marking = kind === 'acknowledge' ? ACKNOWLEDGE : RESOLVE;
      return database.transaction(async (session) => {
        const isMarked = (await session.execute(marking, [instanceId, fingerprint, at, by])) > 0;
        if (isMarked && audit) sendProcedure(session, addAudit(audit));
        return isMarked;
      });
    },
    ungrouped: async ({ limit }) => (await database.query(UNGROUPED, [limit])).map(ungroupedOf),
    async group({ entries }) {
      const values = columnArrays(
        ENTRY,
        entries.map(({ instanceId, dlqId, group }) => ({
          instance_id: instanceId,
          dlq_id: dlqId,
          fingerprint: group.fingerprint,
        })),
      );
      const groups = new Map(entries.map(({ instanceId, dlqId, group }) => [`${instanceId}\n${dlqId}`, group]));
      await database.transaction(async (session) => {
        const changes = new GroupChanges();
        const locked = await session.query(LOCK_UNGROUPED, values);
        for (const row of locked) {
          const instanceId = text(row, 'instance_id');
          const group = groups.get(`${instanceId}\n${text(row, 'dlq_id')}`);
          if (group) changes.entryAdded(instanceId, group, integerOrNull(row, 'response_status'), integer(row, 'created_at'));
        }
        session.send(SET_FINGERPRINTS, values);
        sendGroupChanges(session, changes);
      });
    },
    recount: ({ after, limit }) =>
      database.transaction(async (session) => {
        const locked = await session.query(LOCK_NEXT, [after?.instanceId ?? '', after?.fingerprint ?? '', limit]);
        const placeOf = (row: Row) => ({ instance_id: text(row, 'instance_id'), fingerprint: text(row, 'fingerprint') });
        const wrong = await session.query(RECOUNT, columnArrays(PLACE, locked.map(placeOf)));
        if (wrong.length > 0) {
          const values = columnArrays(PLACE, wrong.map(placeOf));
          session.send(FORGET_WORKFLOWS, values);
          session.send(RECOUNT_WORKFLOWS, values);
        }
        const last = locked.length < limit ? undefined : locked.at(-1);
        return last ? { instanceId: text(last, 'instance_id'), fingerprint: text(last, 'fingerprint') } : null;
      }),
    async tidy({ now, limit }) {
      const settled = await database.execute(SETTLE, [now - NEW_FOR_MS, limit]);
      const hours = await database.execute(FORGET_HOURS, [hourOf(now - HOURS_KEPT_MS), limit]);
      return settled + hours + (await database.execute(FORGET_EMPTY, [now - EMPTY_GROUPS_KEPT_MS, limit]));
    },
  };
}
