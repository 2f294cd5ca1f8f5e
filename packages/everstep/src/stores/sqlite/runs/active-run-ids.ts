/**
 * Finds the active run with an id. It is usually the newest run with this id, so the active one is looked up elsewhere only if a
 * run was created late: at a row number that was reserved before other runs were created.
 * Keeps invariant 6.
 */
import type { StatementSync } from 'node:sqlite';
import type { RunReference } from '../../../engine/writes.js';
import { integer, text } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';
import type { Counters } from '../listing/counters.js';
import type { FacetIndex } from '../listing/facets/facet-index.js';
import { FACET, stateValue } from '../listing/facets/facets.js';
import { intersect } from '../listing/facets/intersect.js';
import type { FacetReader } from '../listing/facets/members.js';

export interface ActiveRun extends RunReference {
  readonly seq: number;
}

export class ActiveRunIds {
  private readonly counters: Counters;
  private readonly facets: FacetIndex;
  private readonly facetReader: FacetReader;
  private readonly select: StatementSync;

  constructor(connection: Connection, counters: Counters, facets: FacetIndex, facetReader: FacetReader) {
    this.counters = counters;
    this.facets = facets;
    this.facetReader = facetReader;
    this.select = connection.prepare('SELECT key, status, workflow_run_id, created_at FROM run WHERE seq = ?');
  }

  /** Records a run whose row number was reserved, if runs with higher numbers exist. Requires an open transaction. */
  recordCreated(seq: number, lastSeq: number): void {
    if (seq < lastSeq) this.counters.raise('late_run_seq', seq);
  }

  /** Returns the run at this row if it is active; otherwise null. */
  activeAt(seq: number): ActiveRun | null {
    const row = this.select.get(seq);
    if (!row || text(row, 'status') !== 'active') return null;
    return { seq, runKey: text(row, 'key'), workflowRunId: text(row, 'workflow_run_id'), createdAt: integer(row, 'created_at') };
  }

  /** Returns the active run with the id; null if there is none. Does not find runs that the open transaction has created. */
  find(tenant: number, workflowRunId: string): ActiveRun | null {
    const newestSeq = this.facets.newest(tenant, { facet: FACET.runId, value: workflowRunId });
    return newestSeq === null ? null : (this.activeAt(newestSeq) ?? this.findLate(tenant, workflowRunId));
  }

  /** Returns the active run with the id if it may be older than others; null if there is none. */
  findLate(tenant: number, workflowRunId: string): ActiveRun | null {
    const lastLateSeq = this.counters.get('late_run_seq');
    if (lastLateSeq === 0) return null;
    const sources = [
      this.facetReader.anyOf(tenant, FACET.runId, [workflowRunId], 'down'),
      this.facetReader.anyOf(tenant, FACET.runStatus, [stateValue('workflow', 'active')], 'down'),
    ];
    // The open transaction may have ended the run, which the index does not contain yet.
    for (const seq of intersect(sources, { from: 1, to: lastLateSeq }, 'down')) {
      const run = this.activeAt(seq);
      if (run) return run;
    }
    return null;
  }
}
