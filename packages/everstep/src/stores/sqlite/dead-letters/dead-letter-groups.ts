/** Lists, marks and tidies groups of dead letters, and adds entries of versions without groups to them. */
import type { StatementSync } from 'node:sqlite';
import {
  EMPTY_GROUPS_KEPT_MS,
  type FailureGroup,
  GROUP_STATES,
  HISTOGRAM_HOURS,
  HOURS_KEPT_MS,
  hourOf,
  NEW_FOR_MS,
} from '../../../engine/dead-letters/dead-letter-groups.js';
import { FAILURE_CAUSES, type RunSettings } from '../../../engine/runs/run.js';
import type {
  DeadLetterGroupPage,
  DeadLetterGroupRecord,
  DeadLetterGroupStore,
  GroupMark,
  UngroupedEntry,
} from '../../../ports/stores/dead-letter-groups.js';
import type { Listing } from '../../../ports/stores/store.js';
import { createAccountChange } from '../../shared/accounts/change.js';
import { addSealedAudit } from '../../shared/audit/audit-chain.js';
import { own } from '../../shared/sql/procedure.js';
import { integer, integerOrNull, json, type Row, text, textOrNull, word } from '../connection/columns.js';
import type { SqlSession } from '../connection/sql-session.js';
import type { StoreParts } from '../connection/store-parts.js';
import type { Transaction } from '../connection/transaction.js';
import { FACET } from '../listing/facets/facets.js';

const KINDS = ['workflow', 'message'] as const;
/** Of the URLs with most entries. */
const WORKFLOWS_TOLD = 20;
/** Order of the walks of a listing, by the positions in GROUP_STATES. */
const [REGRESSED, NEW, KNOWN] = [0, 1, 2];

/** Where a page ended: in which part, and after which group. */
interface Place {
  readonly part: number;
  readonly lastSeenAt: number;
  readonly fingerprint: string;
}

const placeOf = (position: string): Place => {
  const [part = '', lastSeenAt = '', fingerprint = ''] = position.split('-');
  return { part: Number(part), lastSeenAt: Number(lastSeenAt), fingerprint };
};

const inOrder = (a: Row, b: Row): number =>
  integer(b, 'last_seen_at') - integer(a, 'last_seen_at') || (text(a, 'fingerprint') < text(b, 'fingerprint') ? -1 : 1);

/** Columns of the index, so that only the index is read until a group is found. */
const FOUND = 'SELECT fingerprint, last_seen_at FROM dead_letter_group g';
const ASKED = `(last_seen_at < ? OR (last_seen_at = ? AND fingerprint > ?)) AND last_seen_at >= ? AND first_seen_at <= ?
  AND (entries > 0 OR ? = 1) AND (? IS NULL OR EXISTS (SELECT 1 FROM dead_letter_group_workflow w, json_each(?)
    WHERE w.tenant = g.tenant AND w.fingerprint = g.fingerprint AND w.workflow_url = json_each.value))`;
const IN_ORDER = 'ORDER BY last_seen_at DESC, fingerprint LIMIT ?';

export class DeadLetterGroups implements DeadLetterGroupStore {
  private readonly parts: StoreParts;
  private readonly transaction: Transaction;
  private readonly change: ReturnType<typeof createAccountChange>;
  private readonly walk: StatementSync;
  private readonly walkYoung: StatementSync;
  private readonly walkOld: StatementSync;
  private readonly select: StatementSync;
  private readonly selectWorkflows: StatementSync;
  private readonly selectHours: StatementSync;
  private readonly selectDlqId: StatementSync;
  private readonly acknowledge: StatementSync;
  private readonly resolve: StatementSync;
  private readonly selectUngrouped: StatementSync;
  private readonly selectEntry: StatementSync;
  private readonly updateEntry: StatementSync;
  private readonly tidying: readonly StatementSync[];

  constructor(parts: StoreParts, transaction: Transaction, store: SqlSession) {
    const { connection } = parts;
    this.parts = parts;
    this.transaction = transaction;
    this.change = createAccountChange(store, addSealedAudit);
    const listed = `${FOUND} INDEXED BY dead_letter_group_listed WHERE tenant = ? AND kind = ?`;
    this.walk = connection.prepare(`${listed} AND rank = ? AND ${ASKED} ${IN_ORDER}`);
    this.walkYoung = connection.prepare(`${listed} AND rank = 1 AND first_seen_at > ? AND ${ASKED} ${IN_ORDER}`);
    // Groups that are not new any more but still have the rank of new ones: few, and sorted when they are read.
    this.walkOld = connection.prepare(
      `${FOUND} INDEXED BY dead_letter_group_fresh WHERE tenant = ? AND kind = ? AND rank = 1 AND first_seen_at <= ? AND ${ASKED}`,
    );
    const ofGroup = 'tenant = ? AND fingerprint = ?';
    this.select = connection.prepare(`SELECT * FROM dead_letter_group WHERE ${ofGroup}`);
    this.selectWorkflows = connection.prepare(
      `SELECT workflow_url, entries FROM dead_letter_group_workflow WHERE ${ofGroup} AND entries > 0
       ORDER BY entries DESC, workflow_url LIMIT ${WORKFLOWS_TOLD}`,
    );
    this.selectHours = connection.prepare(
      `SELECT hour, count FROM dead_letter_group_hour WHERE ${ofGroup} AND hour BETWEEN ? AND ? ORDER BY hour`,
    );
    this.selectDlqId = connection.prepare('SELECT dlq_id FROM dead_letter WHERE seq = ?');
    this.acknowledge = connection.prepare(
      `UPDATE dead_letter_group SET acknowledged_at = ?, acknowledged_by = ?, regressed_at = NULL, rank = 2 WHERE ${ofGroup}`,
    );
    this.resolve = connection.prepare(
      `UPDATE dead_letter_group SET resolved_at = ?, acknowledged_by = CASE WHEN acknowledged_at IS NULL THEN ? ELSE acknowledged_by END,
         acknowledged_at = coalesce(acknowledged_at, ?), regressed_at = NULL, rank = 2 WHERE ${ofGroup}`,
    );
    this.selectUngrouped = connection.prepare(
      `SELECT t.instance_id, d.dlq_id, d.response_status, d.error, r.workflow_url, r.settings, a.name, a.cause, a.message
       FROM dead_letter d JOIN run r ON r.seq = d.run_seq JOIN tenant t ON t.seq = d.tenant
       LEFT JOIN attempt a ON a.seq = (
         SELECT max(x.seq) FROM attempt x WHERE x.run_seq = d.run_seq AND x.slot >= 0 AND x.retry_at IS NULL)
       WHERE d.fingerprint IS NULL AND d.seq > 0 ORDER BY d.seq LIMIT ?`,
    );
    this.selectEntry = connection.prepare(
      'SELECT seq, response_status, created_at FROM dead_letter WHERE dlq_id = ? AND tenant = ? AND fingerprint IS NULL',
    );
    this.updateEntry = connection.prepare('UPDATE dead_letter SET fingerprint = ? WHERE seq = ?');
    const named = (condition: string) => `IN (SELECT tenant, fingerprint FROM dead_letter_group WHERE ${condition} LIMIT ?)`;
    this.tidying = [
      connection.prepare(
        `UPDATE dead_letter_group SET rank = 2 WHERE (tenant, fingerprint) ${named('rank = 1 AND first_seen_at <= ?')}`,
      ),
      connection.prepare(
        `DELETE FROM dead_letter_group_hour WHERE (tenant, fingerprint, hour) IN (
           SELECT tenant, fingerprint, hour FROM dead_letter_group_hour WHERE hour < ? LIMIT ?)`,
      ),
      connection.prepare(
        `DELETE FROM dead_letter_group WHERE (tenant, fingerprint) ${named('entries = 0 AND last_seen_at < ?')}`,
      ),
    ];
  }

  async list({ instanceId, filter, now, after, limit }: DeadLetterGroupPage): Promise<Listing<DeadLetterGroupRecord>> {
    const tenant = this.parts.tenants.find(instanceId);
    if (tenant === null) return { items: [], next: null };
    const begin = after === null ? { part: REGRESSED, lastSeenAt: Number.MAX_SAFE_INTEGER, fingerprint: '' } : placeOf(after);
    const found: { readonly part: number; readonly row: Row }[] = [];
    const newSince = now - NEW_FOR_MS;
    const urls = filter.workflowUrls ? JSON.stringify(filter.workflowUrls) : null;
    for (let part = begin.part; part <= KNOWN && found.length <= limit; part++) {
      if (filter.states && !filter.states.some((state) => GROUP_STATES[part] === state)) continue;
      const { lastSeenAt, fingerprint } = part === begin.part ? begin : { lastSeenAt: Number.MAX_SAFE_INTEGER, fingerprint: '' };
      const [from, to] = [filter.fromDate ?? 0, filter.toDate ?? Number.MAX_SAFE_INTEGER];
      const most = limit + 1 - found.length;
      const empty = filter.withEmpty ? 1 : 0;
      const asked = [lastSeenAt, lastSeenAt, fingerprint, from, to, empty, urls, urls] as const;
      const rows =
        part === NEW
          ? this.walkYoung.all(tenant, filter.kind, newSince, ...asked, most)
          : this.walk.all(tenant, filter.kind, part, ...asked, most);
      if (part === KNOWN) rows.push(...this.walkOld.all(tenant, filter.kind, newSince, ...asked));
      for (const row of rows.sort(inOrder).slice(0, most)) found.push({ part, row });
    }
    const items = found.slice(0, limit).flatMap(({ row }) => this.read(instanceId, tenant, text(row, 'fingerprint'), now) ?? []);
    const last = found.length > limit ? found[limit - 1] : undefined;
    const next = last ? `${last.part}-${integer(last.row, 'last_seen_at')}-${text(last.row, 'fingerprint')}` : null;
    return { items, next };
  }

  async find({
    instanceId,
    fingerprint,
    now,
  }: Parameters<DeadLetterGroupStore['find']>[0]): Promise<DeadLetterGroupRecord | null> {
    const tenant = this.parts.tenants.find(instanceId);
    return tenant === null ? null : this.read(instanceId, tenant, fingerprint, now);
  }

  async mark({ instanceId, fingerprint, mark, audit }: Parameters<DeadLetterGroupStore['mark']>[0]): Promise<boolean> {
    const tenant = this.parts.tenants.find(instanceId);
    if (tenant === null) return false;
    return this.change(() => own(() => this.write(tenant, fingerprint, mark) > 0), audit);
  }

  async ungrouped({ limit }: { readonly limit: number }): Promise<readonly UngroupedEntry[]> {
    return this.selectUngrouped.all(limit).map((row) => ({
      instanceId: text(row, 'instance_id'),
      dlqId: text(row, 'dlq_id'),
      kind: json<RunSettings>(row, 'settings').message ? 'message' : 'workflow',
      workflowUrl: text(row, 'workflow_url'),
      responseStatus: integerOrNull(row, 'response_status'),
      error: text(row, 'error'),
      attempt:
        row.cause === null
          ? null
          : { name: textOrNull(row, 'name'), cause: word(row, 'cause', FAILURE_CAUSES), message: text(row, 'message') },
    }));
  }

  async group({ entries }: Parameters<DeadLetterGroupStore['group']>[0]): Promise<void> {
    this.transaction.run(() => {
      for (const { instanceId, dlqId, group } of entries) this.join(instanceId, dlqId, group);
    });
    await this.parts.connection.durable();
  }

  /** No other process writes the file. */
  async recount(): Promise<null> {
    return null;
  }

  async tidy({ now, limit }: Parameters<DeadLetterGroupStore['tidy']>[0]): Promise<number> {
    const before = [now - NEW_FOR_MS, hourOf(now - HOURS_KEPT_MS), now - EMPTY_GROUPS_KEPT_MS];
    const changed = this.transaction.run(() =>
      this.tidying.reduce((sum, statement, index) => sum + Number(statement.run(before[index] ?? 0, limit).changes), 0),
    );
    if (changed > 0) await this.parts.connection.durable();
    return changed;
  }

  private join(instanceId: string, dlqId: string, group: FailureGroup): void {
    const { tenants, facets, groups } = this.parts;
    const tenant = tenants.find(instanceId);
    const row = tenant === null ? undefined : this.selectEntry.get(dlqId, tenant);
    if (tenant === null || !row) return;
    const seq = integer(row, 'seq');
    this.updateEntry.run(group.fingerprint, seq);
    facets.add(tenant, { facet: FACET.deadLetterFingerprint, value: group.fingerprint }, seq);
    groups.entryAdded(instanceId, group, integerOrNull(row, 'response_status'), integer(row, 'created_at'));
  }

  private write(tenant: number, fingerprint: string, { kind, at, by }: GroupMark): number {
    const { changes } =
      kind === 'acknowledge'
        ? this.acknowledge.run(at, by, tenant, fingerprint)
        : this.resolve.run(at, by, at, tenant, fingerprint);
    return Number(changes);
  }

  private read(instanceId: string, tenant: number, fingerprint: string, now: number): DeadLetterGroupRecord | null {
    const row = this.select.get(tenant, fingerprint);
    if (!row) return null;
    const newest = this.parts.facets.newest(tenant, { facet: FACET.deadLetterFingerprint, value: fingerprint });
    const example = newest === null ? undefined : this.selectDlqId.get(newest);
    return {
      instanceId,
      fingerprint,
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
      exampleDlqId: example ? text(example, 'dlq_id') : null,
      workflows: this.selectWorkflows
        .all(tenant, fingerprint)
        .map((each) => ({ workflowUrl: text(each, 'workflow_url'), entries: integer(each, 'entries') })),
      hours: this.selectHours
        .all(tenant, fingerprint, hourOf(now) - HISTOGRAM_HOURS + 1, hourOf(now))
        .map((each) => ({ hour: integer(each, 'hour'), count: integer(each, 'count') })),
    };
  }
}
