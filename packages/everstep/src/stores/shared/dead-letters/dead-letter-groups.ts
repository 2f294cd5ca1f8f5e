/** Lists groups of dead letters. */
import { truncateText } from '@everstep/sdk/protocol';
import {
  type FailureGroup,
  GROUP_STATES,
  HISTOGRAM_HOURS,
  hourOf,
  NEW_FOR_MS,
} from '../../../engine/dead-letters/dead-letter-groups.js';
import { type GroupTriage, NO_TRIAGE } from '../../../engine/dead-letters/group-triage.js';
import type { FailedBy } from '../../../engine/failures/error-details.js';
import { FAILURE_CAUSES } from '../../../engine/runs/run.js';
import type {
  DeadLetterGroupPage,
  DeadLetterGroupRecord,
  GroupUpkeepStore,
  LatestFailure,
  UngroupedEntry,
} from '../../../ports/stores/dead-letter-groups.js';
import type { Listing } from '../../../ports/stores/page.js';
import { bytes, integer, json, type Row, text, textOrNull, word } from '../../records/columns.js';
import type { AddAudit } from '../audit/audit-log.js';
import { INSTANCE_COLUMN, inList, ofInstance, withIndex } from '../sql/dialect.js';
import { type Procedure, rows } from '../sql/procedure.js';
import { byDialect, joinSql, raw, type Sql, sql } from '../sql/sql.js';
import { type Column, NUMBER, nullable, oneOf, TEXT, table } from '../sql/table.js';

const KINDS: readonly FailureGroup['kind'][] = ['workflow', 'message'];
const MAX_WORKFLOWS = 20;
/** Maximum length of the newest entry's message in a listing. The entry itself has the whole message. */
const MAX_LATEST_LENGTH = 2_000;
/** Parts of a listing, by their positions in GROUP_STATES. `rank` is the part, except for groups that were new until recently. */
const [REGRESSED, NEW, KNOWN] = [0, 1, 2];
export const [RANK_REGRESSED, RANK_NEW] = [REGRESSED, NEW];

/** Column of the triage, which is null until a user triages the group. */
export const TRIAGE: Column<GroupTriage> = {
  read: (foundRow, name) => (foundRow[name] === null ? NO_TRIAGE : json<GroupTriage>(foundRow, name)),
  write: (triage) => JSON.stringify(triage),
};

const GROUP = table<Omit<DeadLetterGroupRecord, 'instanceId' | 'exampleDlqId' | 'latest' | 'workflows' | 'hours'>>(
  'dead_letter_group',
  {
    fingerprint: TEXT,
    kind: oneOf(KINDS),
    stepName: nullable(TEXT),
    responseStatus: nullable(NUMBER),
    message: TEXT,
    firstSeenAt: NUMBER,
    lastSeenAt: NUMBER,
    entries: NUMBER,
    total: NUMBER,
    acknowledgedAt: nullable(NUMBER),
    acknowledgedBy: nullable(TEXT),
    resolvedAt: nullable(NUMBER),
    regressedAt: nullable(NUMBER),
    triage: TRIAGE,
  },
);

const ENTRY = table<Omit<UngroupedEntry, 'attempt' | 'failedBy' | 'responseBody'>>('dead_letter', {
  instanceId: TEXT,
  dlqId: TEXT,
  fingerprint: nullable(TEXT),
  kind: oneOf(KINDS),
  workflowUrl: TEXT,
  responseStatus: nullable(NUMBER),
  error: TEXT,
});

/** Reads an ungrouped entry from a row with the columns of the entry and of its last attempt. */
export const ungroupedOf = (row: Row): UngroupedEntry => ({
  ...ENTRY.read(row),
  failedBy: row.failed_by === null ? null : json<FailedBy>(row, 'failed_by'),
  responseBody: row.response_body === null ? null : bytes(row, 'response_body'),
  attempt:
    row.cause === null
      ? null
      : { name: textOrNull(row, 'name'), cause: word(row, 'cause', FAILURE_CAUSES), message: text(row, 'message') },
});

const MAX_READ_RESPONSE_BYTES = 32 * 1024;
/** The response of an entry whose error is not stored in another column. */
export const SHORT_RESPONSE = `CASE WHEN d.failed_by IS NULL AND octet_length(d.response_body) <= ${MAX_READ_RESPONSE_BYTES}
  THEN d.response_body END AS response_body`;

/** The newest entry of a group. */
export interface GroupExample {
  readonly dlqId: string;
  readonly latest: LatestFailure;
}

/** Reads a row with the columns `dlq_id`, `error` and `failed_by`. */
export function exampleOf(row: Row): GroupExample {
  const { message, stepName, thrown }: FailedBy =
    row.failed_by === null ? { message: text(row, 'error'), stepName: null } : json<FailedBy>(row, 'failed_by');
  return {
    dlqId: text(row, 'dlq_id'),
    latest: { message: truncateText(message, MAX_LATEST_LENGTH), stepName, source: thrown?.source ?? null },
  };
}

/** The parts that each store implements separately, because indexes of entries and counters differ. */
export interface StoreSpecificGroups extends Omit<GroupUpkeepStore, 'tidy'> {
  readonly addAudit: AddAudit;
  /** Returns the newest entry of each of these groups that has one, by fingerprint. */
  examples(instanceId: string, fingerprints: readonly string[]): Procedure<ReadonlyMap<string, GroupExample>>;
}

/** Returns SQL for a JSON list of the rows of a subquery, each as a list of these columns. */
const listOf = (columns: string, subquery: Sql): Sql =>
  byDialect({
    sqlite: sql`(SELECT json_group_array(json_array(${raw(columns)})) FROM (${subquery}))`,
    postgres: sql`(SELECT coalesce(json_agg(json_build_array(${raw(columns)})), '[]')::text FROM (${subquery}) AS listed)`,
  });

const ofGroup = (alias: string): Sql =>
  sql`${raw(alias)}.${INSTANCE_COLUMN} = g.${INSTANCE_COLUMN} AND ${raw(alias)}.fingerprint = g.fingerprint`;

export function* records(
  instanceId: string,
  fingerprints: readonly string[],
  now: number,
  { examples }: StoreSpecificGroups,
): Procedure<readonly DeadLetterGroupRecord[]> {
  if (fingerprints.length === 0) return [];
  const workflows = sql`
    SELECT w.workflow_url, w.entries FROM dead_letter_group_workflow w WHERE ${ofGroup('w')} AND w.entries > 0
    ORDER BY w.entries DESC, w.workflow_url LIMIT ${raw(String(MAX_WORKFLOWS))}`;
  const hours = sql`
    SELECT h.hour, h.count FROM dead_letter_group_hour h
    WHERE ${ofGroup('h')} AND h.hour BETWEEN ${hourOf(now) - HISTOGRAM_HOURS + 1} AND ${hourOf(now)} ORDER BY h.hour`;
  const foundRows = yield* rows(sql`
    SELECT g.*, ${listOf('workflow_url, entries', workflows)} AS workflows, ${listOf('hour, count', hours)} AS hours
    FROM dead_letter_group g WHERE g.${ofInstance(instanceId)} AND g.fingerprint ${inList(fingerprints)}`);
  const newestEntries = yield* examples(instanceId, fingerprints);
  const rowsByFingerprint = new Map(foundRows.map((groupRow) => [text(groupRow, 'fingerprint'), groupRow]));
  return fingerprints.flatMap((fingerprint) => {
    const group = rowsByFingerprint.get(fingerprint);
    if (!group) return [];
    return {
      ...GROUP.read(group),
      instanceId,
      exampleDlqId: newestEntries.get(fingerprint)?.dlqId ?? null,
      latest: newestEntries.get(fingerprint)?.latest ?? null,
      workflows: json<[string, number][]>(group, 'workflows').map(([workflowUrl, entries]) => ({ workflowUrl, entries })),
      hours: json<[number, number][]>(group, 'hours').map(([hour, count]) => ({ hour, count })),
    };
  });
}

/** The position after a group: its part, when it was last seen, and its fingerprint. */
interface GroupPosition {
  readonly part: number;
  readonly lastSeenAt: number;
  readonly fingerprint: string;
}

const START: GroupPosition = { part: REGRESSED, lastSeenAt: Number.MAX_SAFE_INTEGER, fingerprint: '' };

function positionFrom(position: string): GroupPosition {
  const [part = '', lastSeenAt = '', fingerprint = ''] = position.split('-');
  return { part: Number(part), lastSeenAt: Number(lastSeenAt), fingerprint };
}

const compareGroups = (a: GroupPosition, b: GroupPosition): number =>
  a.part - b.part || b.lastSeenAt - a.lastSeenAt || (a.fingerprint < b.fingerprint ? -1 : 1);

/** A part of a UNION with its own order and limit. */
const unionPart = (statement: Sql): Sql =>
  byDialect({ sqlite: sql`SELECT * FROM (${statement})`, postgres: sql`(${statement})` });

/** Reads the groups of a page and at least one more, unless there are none. */
export function* groupsFrom(
  { instanceId, filter, now, limit }: DeadLetterGroupPage,
  after: GroupPosition = START,
): Procedure<readonly GroupPosition[]> {
  const newSince = now - NEW_FOR_MS;
  const listedIndex = withIndex('dead_letter_group_listed');
  const orderAndLimit = sql`ORDER BY g.last_seen_at DESC, g.fingerprint LIMIT ${limit + 1}`;
  const walks: readonly (readonly [part: number, index: Sql, condition: Sql, orderAndLimit: Sql])[] = [
    [REGRESSED, listedIndex, sql`g.rank = 0`, orderAndLimit],
    [NEW, listedIndex, sql`g.rank = 1 AND g.first_seen_at > ${newSince}`, orderAndLimit],
    [KNOWN, listedIndex, sql`g.rank = 2`, orderAndLimit],
    // Groups that are no longer new, but still have the rank of new ones. They are few, so all of them are read.
    [KNOWN, withIndex('dead_letter_group_fresh'), sql`g.rank = 1 AND g.first_seen_at <= ${newSince}`, raw('')],
  ];
  const { states, workflowUrls, fromDate, toDate, withEmpty } = filter;
  const commonConditions = [sql`g.${ofInstance(instanceId)}`, sql`g.kind = ${filter.kind}`];
  if (fromDate !== undefined) commonConditions.push(sql`g.last_seen_at >= ${fromDate}`);
  if (toDate !== undefined) commonConditions.push(sql`g.first_seen_at <= ${toDate}`);
  if (!withEmpty) commonConditions.push(sql`g.entries > 0`);
  if (workflowUrls) {
    commonConditions.push(sql`EXISTS (
      SELECT 1 FROM dead_letter_group_workflow w WHERE ${ofGroup('w')} AND w.workflow_url ${inList(workflowUrls)})`);
  }
  const requestedWalks = walks.filter(
    ([part]) => part >= after.part && (states === undefined || states.some((state) => state === GROUP_STATES[part])),
  );
  if (requestedWalks.length === 0 || workflowUrls?.length === 0) return [];
  const isAfter = sql`
    g.last_seen_at <= ${after.lastSeenAt} AND (g.last_seen_at < ${after.lastSeenAt} OR g.fingerprint > ${after.fingerprint})`;
  const statements = requestedWalks.map(([part, index, condition, order]) => {
    const conditions = joinSql([...commonConditions, condition, ...(part === after.part ? [isAfter] : [])], ' AND ');
    return unionPart(
      sql`SELECT ${raw(String(part))} AS part, g.fingerprint, g.last_seen_at FROM dead_letter_group g ${index}
        WHERE ${conditions} ${order}`,
    );
  });
  const foundGroups = (yield* rows(joinSql(statements, ' UNION ALL '))).map((row) => ({
    part: integer(row, 'part'),
    lastSeenAt: integer(row, 'last_seen_at'),
    fingerprint: text(row, 'fingerprint'),
  }));
  return foundGroups.sort(compareGroups);
}

export function* list(page: DeadLetterGroupPage, specificParts: StoreSpecificGroups): Procedure<Listing<DeadLetterGroupRecord>> {
  const { instanceId, now, after, limit } = page;
  const foundGroups = yield* groupsFrom(page, after === null ? undefined : positionFrom(after));
  const fingerprints = foundGroups.slice(0, limit).map(({ fingerprint }) => fingerprint);
  const lastGroup = foundGroups.length > limit ? foundGroups[limit - 1] : undefined;
  return {
    items: yield* records(instanceId, fingerprints, now, specificParts),
    next: lastGroup ? `${lastGroup.part}-${lastGroup.lastSeenAt}-${lastGroup.fingerprint}` : null,
  };
}
