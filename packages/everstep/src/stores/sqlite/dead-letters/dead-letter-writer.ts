/** Adds and removes entries of the dead letter queue, with their values in the facet index. */
import type { StatementSync } from 'node:sqlite';
import { type FailureGroup, UNGROUPED_RULES } from '../../../engine/dead-letters/dead-letter-groups.js';
import { CALLBACK_SLOT, type DeadLetter, type FailureFunctionState, type RunSettings } from '../../../engine/runs/run.js';
import type { WriteOf } from '../../../engine/writes.js';
import { storedBytesSql } from '../../../ports/stores/stored-bytes.js';
import type { Applier } from '../commit/applier.js';
import { blob, integer, json, type Row, text, textOrNull } from '../connection/columns.js';
import type { StoreParts } from '../connection/store-parts.js';
import { FACET_COLUMNS, facetsOf, kindOf, stateFacet } from '../listing/facets/dead-letter-facets.js';

type DeadLetterWrite<Kind> = Extract<WriteOf<'dead-letter'>, { readonly kind: Kind }>;

export class DeadLetterWriter implements Applier<WriteOf<'dead-letter'>> {
  private readonly parts: StoreParts;
  private readonly insertEntry: StatementSync;
  private readonly deleteEntry: StatementSync;
  private readonly selectIndexedColumns: StatementSync;
  private readonly selectSeq: StatementSync;
  private readonly linkRun: StatementSync;
  private readonly unlinkRun: StatementSync;
  private readonly selectState: StatementSync;
  private readonly updateState: StatementSync;
  private readonly deleteCallback: StatementSync;

  constructor(parts: StoreParts) {
    const { connection } = parts;
    this.parts = parts;
    this.insertEntry = connection.prepare(
      `INSERT INTO dead_letter (dlq_id, tenant, run_seq, created_at, listed_at, failure_function_state,
         response_status, response_headers, error, response_body, failed_by, fingerprint, rules)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.deleteEntry = connection.prepare('DELETE FROM dead_letter WHERE seq = ?');
    this.selectIndexedColumns = connection.prepare(
      `SELECT d.run_seq, ${FACET_COLUMNS}, ${storedBytesSql('dead_letter', 'd')} AS bytes
       FROM dead_letter d JOIN run r ON r.seq = d.run_seq WHERE d.seq = ?`,
    );
    this.selectSeq = connection.prepare('SELECT seq FROM dead_letter WHERE dlq_id = ? AND tenant = ?');
    this.linkRun = connection.prepare('UPDATE run SET dead_letter_seq = ? WHERE seq = ? AND dead_letter_seq IS NULL');
    this.unlinkRun = connection.prepare(
      'UPDATE run SET dead_letter_seq = NULL, became_kind = ?, became_run_key = ? WHERE seq = ?',
    );
    this.selectState = connection.prepare(
      'SELECT d.failure_function_state, r.settings FROM dead_letter d JOIN run r ON r.seq = d.run_seq WHERE d.seq = ?',
    );
    this.updateState = connection.prepare('UPDATE dead_letter SET failure_function_state = ? WHERE seq = ?');
    this.deleteCallback = connection.prepare(`DELETE FROM task WHERE run_seq = ? AND slot = ${CALLBACK_SLOT}`);
  }

  /** Returns the row number of the entry; null if this instance has no such entry. */
  find(instanceId: string, dlqId: string): number | null {
    const tenant = this.parts.tenants.find(instanceId);
    if (tenant === null) return null;
    const row = this.selectSeq.get(dlqId, tenant);
    return row ? integer(row, 'seq') : null;
  }

  apply(write: WriteOf<'dead-letter'>): void {
    switch (write.kind) {
      case 'add-dead-letter':
        this.add(write.entry, write.group);
        break;
      case 'take-dead-letter':
        this.take(write);
        break;
      case 'set-failure-function-state':
        this.setState(write.instanceId, write.dlqId, write.state);
        break;
      default:
        write satisfies never;
    }
  }

  private add(entry: DeadLetter, group: FailureGroup | null): void {
    const { runs, tenants, deadLetterOrder, groups } = this.parts;
    const run = runs.require(entry.runKey);
    const tenant = tenants.findOrCreate(entry.instanceId);
    if (run.tenant !== tenant) throw new Error(`the run ${entry.runKey} and its dead letter belong to different instances`);
    const listedAt = deadLetterOrder.nextListedAt(entry.createdAt);
    const insertion = this.insertEntry.run(
      entry.dlqId,
      tenant,
      run.seq,
      entry.createdAt,
      listedAt,
      entry.failureFunctionState,
      entry.responseStatus,
      JSON.stringify(entry.responseHeaders),
      entry.error,
      blob(entry.responseBody),
      entry.failedBy && JSON.stringify(entry.failedBy),
      group?.fingerprint ?? null,
      group?.rules ?? UNGROUPED_RULES,
    );
    const seq = Number(insertion.lastInsertRowid);
    deadLetterOrder.recordAdded(seq, listedAt);
    if (this.linkRun.run(seq, run.seq).changes !== 1) throw new Error(`the run ${entry.runKey} already has a dead letter`);
    this.index(tenant, seq, 'add');
    if (group) groups.addEntry(entry.instanceId, group, entry.responseStatus, entry.createdAt);
  }

  /** Removes the entry and its pending failure callback. `recoveredAs` is null if the entry was deleted. */
  private take({ instanceId, dlqId, recoveredAs }: DeadLetterWrite<'take-dead-letter'>): void {
    const { tenant, seq } = this.require(instanceId, dlqId);
    const runSeq = this.remove(instanceId, tenant, seq, recoveredAs?.at ?? null);
    this.unlinkRun.run(recoveredAs?.kind ?? null, recoveredAs?.runKey ?? null, runSeq);
    this.deleteCallback.run(runSeq);
  }

  private setState(instanceId: string, dlqId: string, state: FailureFunctionState | null): void {
    const { tenant, seq } = this.require(instanceId, dlqId);
    const row = this.selectState.get(seq) ?? {};
    const before = textOrNull(row, 'failure_function_state');
    const kind = kindOf(json<RunSettings>(row, 'settings'));
    this.updateState.run(state, seq);
    this.parts.facets.remove(tenant, stateFacet(kind, before), seq);
    this.parts.facets.add(tenant, stateFacet(kind, state), seq);
  }

  /**
   * Removes only the entry, and returns the row number of its run, which still refers to it. `recoveredAt` is the time at
   * which another run was created from the entry; null if none was.
   */
  remove(instanceId: string, tenant: number, seq: number, recoveredAt: number | null = null): number {
    const row = this.index(tenant, seq, 'remove');
    this.deleteEntry.run(seq);
    this.parts.storedBytes.add(tenant, -integer(row, 'bytes'));
    const fingerprint = textOrNull(row, 'fingerprint');
    if (fingerprint !== null) {
      this.parts.groups.removeEntry(instanceId, { fingerprint, workflowUrl: text(row, 'workflow_url') }, recoveredAt);
    }
    return integer(row, 'run_seq');
  }

  /** Throws if there is no such entry, because a write with its id is a programming error. */
  private require(instanceId: string, dlqId: string): { readonly tenant: number; readonly seq: number } {
    const seq = this.find(instanceId, dlqId);
    const tenant = this.parts.tenants.find(instanceId);
    if (seq === null || tenant === null) throw new Error(`there is no dead letter ${dlqId}`);
    return { tenant, seq };
  }

  /** Adds the entry to the facet index, or removes it; returns its indexed columns. */
  private index(tenant: number, seq: number, change: 'add' | 'remove'): Row {
    const row = this.selectIndexedColumns.get(seq);
    if (!row) throw new Error(`the dead letter in row ${seq} has no run`);
    for (const value of facetsOf(row)) this.parts.facets[change](tenant, value, seq);
    this.parts.endedBlocks.recordChange(tenant, 'deadLetter', seq);
    this.parts.endedBlocks.recordChange(tenant, 'failed', integer(row, 'run_seq'));
    return row;
  }
}
