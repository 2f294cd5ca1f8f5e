/** Reads the run log: pages of runs with any filter. */
import type { StatementSync } from 'node:sqlite';
import type { RunStatus } from '../../../engine/runs/run.js';
import type { ListedRun, Listing, Page, Position, RunFilter, RunRecord, SearchableRun } from '../../../ports/stores/store.js';
import { integer, integerOrNull, json, text, textOrNull } from '../connection/columns.js';
import type { StoreParts } from '../connection/store-parts.js';
import type { RunReader } from '../runs/run-reader.js';
import { FACET, type RunKind, stateValues } from './facets/facets.js';
import { membersFromSeqs } from './facets/members.js';
import { selectedFacets } from './facets/run-facets.js';
import { EMPTY_LISTING, horizonOf, pageOf, positionOf, Selection } from './listing.js';

/** Every run has one of these statuses, so all of them together select every run. */
const STATUSES: readonly RunStatus[] = ['active', 'succeeded', 'failed', 'canceled'];

const NO_LABELS: readonly string[] = Object.freeze([]);

const missingRunError = (seq: number): Error => new Error(`the index names run ${seq}, which does not exist`);

export class RunListing {
  private readonly parts: StoreParts;
  private readonly reader: RunReader;
  private readonly selectUrl: StatementSync;
  private readonly selectSearchableRun: StatementSync;

  constructor(parts: StoreParts, reader: RunReader) {
    this.parts = parts;
    this.reader = reader;
    this.selectUrl = parts.connection.prepare('SELECT workflow_url FROM run WHERE seq = ?');
    this.selectSearchableRun = parts.connection.prepare(
      `SELECT key, workflow_run_id, created_at, completed_at, workflow_url, json_extract(settings, '$.labels') AS labels, error
       FROM run WHERE seq = ?`,
    );
  }

  list(page: Page<RunFilter>): Listing<ListedRun> {
    const rows = this.rowsOf(page);
    return rows === null ? EMPTY_LISTING : pageOf(rows, page.limit, (seq) => this.read(seq));
  }

  listSearchable(page: Page<RunFilter>): Listing<SearchableRun> {
    const rows = this.rowsOf(page);
    return rows === null ? EMPTY_LISTING : pageOf(rows, page.limit, (seq) => this.searchableRunAt(seq));
  }

  /** Returns the matching rows; null if no run can match. */
  private rowsOf(page: Page<RunFilter>): Iterable<number> | null {
    const tenant = this.parts.tenants.find(page.instanceId);
    if (tenant === null) return null;
    const { filter } = page;
    const { facetReader, runOrder } = this.parts;
    const selection = new Selection(page, runOrder, facetReader, tenant);
    const { kind = 'workflow', runKeys } = filter;
    const urlFacet = kind === 'workflow' ? FACET.runUrl : FACET.messageUrl;
    // Only messages have these properties.
    if (kind === 'workflow' && (filter.queues || filter.urlGroups || filter.scheduleIds)) return null;
    for (const { facet, values } of selectedFacets(filter, kind)) selection.anyOf(facet, values);
    if (runKeys) selection.addSource(membersFromSeqs(this.seqsOf(runKeys, tenant, kind), selection.direction));
    selection.anyOf(FACET.runStatus, filter.statuses && stateValues(kind, filter.statuses));
    selection.createdWithin(runOrder, filter.createdAt, filter.createdAt);
    selection.createdWithin(runOrder, filter.fromDate, filter.toDate);
    const prefix = filter.workflowUrlPrefix;
    if (prefix !== undefined && !selection.withPrefix(urlFacet, prefix)) {
      selection.addTest((seq) => this.urlOf(seq).startsWith(prefix));
    }
    return selection.rows(() => facetReader.anyOf(tenant, FACET.runStatus, stateValues(kind, STATUSES), selection.direction));
  }

  /** Returns the run with this id that was created at `createdAt`, or the active one, or the latest one if none is active. */
  find(instanceId: string, workflowRunId: string, createdAt: number | undefined): RunRecord | null {
    const tenant = this.parts.tenants.find(instanceId);
    if (tenant === null) return null;
    const lateRun = createdAt === undefined ? this.parts.activeRunIds.findLate(tenant, workflowRunId) : null;
    if (lateRun) return this.recordAt(lateRun.seq);
    const filter: RunFilter = createdAt === undefined ? { workflowRunId } : { workflowRunId, createdAt };
    const page = { instanceId, filter, order: 'newest-first', after: null, horizon: null, limit: 1 } as const;
    const rows = this.rowsOf(page);
    return rows === null ? null : (pageOf(rows, 1, (seq) => this.recordAt(seq)).items[0] ?? null);
  }

  /** Returns the position of the newest run, without the reserved positions of runs that will be created. */
  horizon(): Position {
    return horizonOf(this.parts.runOrder.lastSeq(), this.parts.stagedJournals.reservedSeqs());
  }

  private seqsOf(runKeys: readonly string[], tenant: number, kind: RunKind): readonly number[] {
    const runs = runKeys.map((runKey) => this.parts.runs.find(runKey));
    return runs.flatMap((run) => (run?.tenant === tenant && run.kind === kind ? [run.seq] : []));
  }

  private urlOf(seq: number): string {
    const row = this.selectUrl.get(seq);
    return row ? text(row, 'workflow_url') : '';
  }

  private read(seq: number): ListedRun {
    return { ...this.recordAt(seq), position: positionOf(seq) };
  }

  private recordAt(seq: number): RunRecord {
    const record = this.reader.record(seq);
    if (!record) throw missingRunError(seq);
    return record;
  }

  private searchableRunAt(seq: number): SearchableRun {
    const row = this.selectSearchableRun.get(seq);
    if (!row) throw missingRunError(seq);
    return {
      runKey: text(row, 'key'),
      workflowRunId: text(row, 'workflow_run_id'),
      createdAt: integer(row, 'created_at'),
      completedAt: integerOrNull(row, 'completed_at'),
      workflowUrl: text(row, 'workflow_url'),
      labels: row.labels === '[]' ? NO_LABELS : json<readonly string[]>(row, 'labels'),
      error: textOrNull(row, 'error'),
      position: positionOf(seq),
    };
  }
}
