/** Writes the rows of runs, their payloads and their values in the facet index. Keeps invariant 4. */
import type { StatementSync } from 'node:sqlite';
import type { Run, RunOutcome, RunPayload } from '../../../engine/runs/run.js';
import type { WriteOf } from '../../../engine/writes.js';
import { storedBytesSql } from '../../../ports/stores/stored-bytes.js';
import type { Applier } from '../commit/applier.js';
import { blob, integer } from '../connection/columns.js';
import type { StoreParts } from '../connection/store-parts.js';
import { runFacetsOf, statusFacet } from '../listing/facets/run-facets.js';
import { checksumOf } from './checksums.js';

export class RunWriter implements Applier<WriteOf<'run'>> {
  private readonly parts: StoreParts;
  private readonly insertRun: StatementSync;
  private readonly insertPayload: StatementSync;
  private readonly copyPayload: StatementSync;
  private readonly updateOutcome: StatementSync;
  private readonly updateFailureFunction: StatementSync;
  private readonly updateSettings: StatementSync;
  private readonly updateForkedFrom: StatementSync;

  constructor(parts: StoreParts) {
    const { connection } = parts;
    this.parts = parts;
    this.insertRun = connection.prepare(
      `INSERT INTO run (seq, key, tenant, status, created_at, listed_at, workflow_run_id, dialect, workflow_url, caller_ip, origin, settings,
         flow_key, invoked_by_run_key, failure_function, queue)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.insertPayload = connection.prepare(
      'INSERT INTO payload (run_seq, content_type, forward_headers, body, body_crc) VALUES (?, ?, ?, ?, ?)',
    );
    this.copyPayload = connection.prepare(
      `INSERT INTO payload (run_seq, content_type, forward_headers, body, body_crc)
       SELECT ?, content_type, forward_headers, body, body_crc FROM payload WHERE run_seq = ?
       RETURNING ${storedBytesSql('payload', 'payload')} AS bytes`,
    );
    this.updateOutcome = connection.prepare(
      `UPDATE run SET status = ?, completed_at = ?, result = ?, error = ? WHERE seq = ? AND status = 'active'`,
    );
    this.updateFailureFunction = connection.prepare('UPDATE run SET failure_function = 1 WHERE seq = ?');
    this.updateSettings = connection.prepare('UPDATE run SET settings = ? WHERE seq = ?');
    this.updateForkedFrom = connection.prepare('UPDATE run SET forked_from_run_key = ? WHERE seq = ?');
  }

  apply(write: WriteOf<'run'>): void {
    switch (write.kind) {
      case 'create-run':
        this.create(write.run, write.input);
        break;
      case 'note-failure-function':
        this.updateFailureFunction.run(this.parts.runs.require(write.runKey).seq);
        break;
      case 'note-introduction':
        this.updateSettings.run(JSON.stringify(write.settings), this.parts.runs.require(write.runKey).seq);
        break;
      case 'end-run':
        this.end(write.runKey, write.outcome, write.completedAt);
        break;
      default:
        write satisfies never;
    }
  }

  private create(run: Run, input: RunPayload | { readonly copyOf: string }): void {
    const { tenants, runs, runOrder, facets, stagedJournals, activeRunIds } = this.parts;
    const tenant = tenants.findOrCreate(run.instanceId);
    // If the journal of the run was staged, the row number was reserved at that time.
    const stagedJournal = run.origin?.kind === 'fork' || run.origin?.kind === 'resume' ? stagedJournals.find(run.key) : null;
    const listedAt = stagedJournal?.listedAt ?? runOrder.nextListedAt(run.createdAt);
    const insertion = this.insertRun.run(
      stagedJournal?.runSeq ?? null,
      run.key,
      tenant,
      run.status,
      run.createdAt,
      listedAt,
      run.workflowRunId,
      run.dialect,
      run.workflowUrl,
      run.callerIp,
      run.origin && JSON.stringify(run.origin),
      JSON.stringify(run.settings),
      run.settings.flowControl?.key ?? null,
      run.origin?.kind === 'invoke' ? run.origin.runKey : null,
      run.hasFailureFunction ? 1 : 0,
      run.settings.message?.queue ?? null,
    );
    const seq = Number(insertion.lastInsertRowid);
    if (run.origin?.kind === 'fork') this.updateForkedFrom.run(run.origin.runKey, seq);
    activeRunIds.recordCreated(seq, runOrder.lastSeq());
    runOrder.recordAdded(seq, listedAt);
    const kind = run.settings.message ? 'message' : 'workflow';
    const isActive = run.status === 'active';
    runs.remember(run.key, { seq, tenant, kind, isActive, waitSlots: null, hasStepsInOrder: stagedJournal === null });
    this.insertInput(seq, tenant, input);
    for (const value of runFacetsOf(run)) facets.add(tenant, value, seq);
  }

  private insertInput(seq: number, tenant: number, input: RunPayload | { readonly copyOf: string }): void {
    if (!('copyOf' in input)) {
      this.insertPayload.run(
        seq,
        input.contentType,
        JSON.stringify(input.forwardHeaders),
        blob(input.body),
        checksumOf(input.body),
      );
      return;
    }
    const copiedRow = this.copyPayload.get(seq, this.parts.runs.require(input.copyOf).seq);
    if (copiedRow) this.parts.storedBytes.add(tenant, integer(copiedRow, 'bytes'));
    else throw new Error(`the run ${input.copyOf} has no payload to copy`);
  }

  private end(runKey: string, outcome: RunOutcome, completedAt: number): void {
    const { runs, facets, endedBlocks } = this.parts;
    const entry = runs.require(runKey);
    const { seq, tenant, kind } = entry;
    const result = outcome.status === 'succeeded' ? outcome.result : null;
    const error = outcome.status === 'failed' ? outcome.error : null;
    const { changes } = this.updateOutcome.run(outcome.status, completedAt, result, error, seq);
    // A late write must not overwrite the outcome of a run.
    if (changes !== 1) throw new Error(`the run ${runKey} has already ended`);
    runs.remember(runKey, { ...entry, isActive: false });
    facets.remove(tenant, statusFacet(kind, 'active'), seq);
    facets.add(tenant, statusFacet(kind, outcome.status), seq);
    endedBlocks.recordChange(tenant, outcome.status, seq);
  }
}
