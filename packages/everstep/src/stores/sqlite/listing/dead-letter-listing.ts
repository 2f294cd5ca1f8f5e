/** Reads the dead letter queue: pages of entries with any filter, and single entries. */
import type { StatementSync } from 'node:sqlite';
import { FAILURE_FUNCTION_STATES, type FailureFunctionState } from '../../../engine/runs/run.js';
import type {
  DeadLetterBodies,
  DeadLetterFilter,
  DeadLetterRecord,
  Listing,
  Page,
  Position,
} from '../../../ports/stores/store.js';
import { bodiesOf, deadLetterRecordOf } from '../../records/run-rows.js';
import { integer, text } from '../connection/columns.js';
import type { StoreParts } from '../connection/store-parts.js';
import type { RunReader } from '../runs/run-reader.js';
import { selectedFacets } from './facets/dead-letter-facets.js';
import { FACET, NO_STATE, type RunKind, separatedPrefixes, stateValues } from './facets/facets.js';
import { membersFromSeqs } from './facets/members.js';
import { EMPTY_LISTING, pageOf, positionOf, Selection } from './listing.js';

/** Every entry has one of these states, so all of them together select every entry. */
const STATES: readonly (FailureFunctionState | typeof NO_STATE)[] = [NO_STATE, ...FAILURE_FUNCTION_STATES];
export const ALL_STATES: readonly string[] = stateValues(undefined, STATES);

export class DeadLetterListing {
  private readonly parts: StoreParts;
  private readonly reader: RunReader;
  private readonly selectEntry: StatementSync;
  private readonly selectBodies: StatementSync;
  private readonly selectId: StatementSync;
  private readonly selectSeq: StatementSync;
  private readonly selectRunId: StatementSync;

  constructor(parts: StoreParts, reader: RunReader) {
    const { connection } = parts;
    this.parts = parts;
    this.reader = reader;
    this.selectEntry = connection.prepare(
      `SELECT d.dlq_id, d.run_seq, d.created_at AS failed_at, d.failure_function_state, d.response_status, d.response_headers, d.error AS failure, d.fingerprint,
         octet_length(d.response_body) + coalesce(octet_length(d.failed_by), 0) AS response_bytes, p.content_type, p.forward_headers, octet_length(p.body) AS body_bytes
       FROM dead_letter d JOIN payload p ON p.run_seq = d.run_seq WHERE d.seq = ?`,
    );
    this.selectBodies = connection.prepare(
      'SELECT d.response_body, d.failed_by, p.body FROM dead_letter d JOIN payload p ON p.run_seq = d.run_seq WHERE d.seq = ?',
    );
    this.selectId = connection.prepare('SELECT dlq_id FROM dead_letter WHERE seq = ?');
    this.selectSeq = connection.prepare('SELECT seq FROM dead_letter WHERE dlq_id = ? AND tenant = ?');
    this.selectRunId = connection.prepare(
      'SELECT r.workflow_run_id FROM dead_letter d JOIN run r ON r.seq = d.run_seq WHERE d.seq = ?',
    );
  }

  list(page: Page<DeadLetterFilter>): Listing<DeadLetterRecord> {
    return this.page(page, (seq) => this.read(seq));
  }

  listIds(page: Page<DeadLetterFilter>): Listing<string> {
    return this.page(page, (seq) => this.idOf(seq));
  }

  find(instanceId: string, dlqId: string): DeadLetterRecord | null {
    const tenant = this.parts.tenants.find(instanceId);
    const seq = tenant === null ? null : this.seqOf(tenant, dlqId);
    return seq === null ? null : this.read(seq);
  }

  bodies(instanceId: string, dlqIds: readonly string[]): ReadonlyMap<string, DeadLetterBodies> {
    const bodiesById = new Map<string, DeadLetterBodies>();
    const tenant = this.parts.tenants.find(instanceId);
    for (const dlqId of tenant === null ? [] : dlqIds) {
      const seq = this.seqOf(tenant ?? 0, dlqId);
      const row = seq === null ? undefined : this.selectBodies.get(seq);
      if (row) bodiesById.set(dlqId, bodiesOf(row));
    }
    return bodiesById;
  }

  horizon(): Position {
    return positionOf(this.parts.deadLetterOrder.lastSeq());
  }

  private page<Item>(page: Page<DeadLetterFilter>, read: (seq: number) => Item): Listing<Item> {
    const tenant = this.parts.tenants.find(page.instanceId);
    if (tenant === null) return EMPTY_LISTING;
    const { filter } = page;
    const { facetReader, deadLetterOrder } = this.parts;
    const selection = new Selection(page, deadLetterOrder, facetReader, tenant);
    if (filter.dlqIds) selection.addSource(membersFromSeqs(this.seqsOf(tenant, filter.dlqIds), selection.direction));
    const { kind, failureFunctionStates: states } = filter;
    if (states || (kind && this.hasOtherKind(tenant, kind)))
      selection.anyOf(FACET.deadLetterState, stateValues(kind, states ?? STATES));
    for (const { facet, values } of selectedFacets(filter)) selection.anyOf(facet, values);
    selection.createdWithin(deadLetterOrder, filter.fromDate, filter.toDate);
    if (filter.workflowRunIdPrefix !== undefined) this.filterByRunIdPrefix(selection, filter.workflowRunIdPrefix);
    const rows = selection.rows(() => facetReader.anyOf(tenant, FACET.deadLetterState, ALL_STATES, selection.direction));
    return pageOf(rows, page.limit, read);
  }

  /** Returns whether the filter by kind excludes any entry. Few instances have entries of both kinds. */
  private hasOtherKind(tenant: number, kind: RunKind): boolean {
    const otherStates = stateValues(kind === 'workflow' ? 'message' : 'workflow', STATES);
    return this.parts.facetReader.anyOf(tenant, FACET.deadLetterState, otherStates, 'up').seek(0) !== null;
  }

  private filterByRunIdPrefix(selection: Selection, prefix: string): void {
    const separatedPrefix = separatedPrefixes(prefix).at(-1);
    if (separatedPrefix !== prefix && selection.withPrefix(FACET.deadLetterRunId, prefix)) return;
    if (separatedPrefix !== undefined) selection.anyOf(FACET.deadLetterRunIdPrefix, [separatedPrefix]);
    if (separatedPrefix !== prefix) selection.addTest((seq) => this.runIdOf(seq).startsWith(prefix));
  }

  private seqsOf(tenant: number, dlqIds: readonly string[]): readonly number[] {
    return dlqIds.map((dlqId) => this.seqOf(tenant, dlqId)).filter((seq) => seq !== null);
  }

  private seqOf(tenant: number, dlqId: string): number | null {
    const row = this.selectSeq.get(dlqId, tenant);
    return row ? integer(row, 'seq') : null;
  }

  private runIdOf(seq: number): string {
    const row = this.selectRunId.get(seq);
    return row ? text(row, 'workflow_run_id') : '';
  }

  private idOf(seq: number): string {
    const row = this.selectId.get(seq);
    if (!row) throw new Error(`the index names dead letter ${seq}, which does not exist`);
    return text(row, 'dlq_id');
  }

  private read(seq: number): DeadLetterRecord {
    const row = this.selectEntry.get(seq);
    const run = row && this.reader.record(integer(row, 'run_seq'));
    if (!row || !run) throw new Error(`the index names dead letter ${seq}, which does not exist`);
    return deadLetterRecordOf(row, run, positionOf(seq));
  }
}
