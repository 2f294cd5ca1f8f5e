/** Writes journals and failed attempts. These writes are on the hot path. */
import type { StatementSync } from 'node:sqlite';
import type { FailedAttempt, RecordedStep } from '../../../engine/runs/run.js';
import type { WriteOf } from '../../../engine/writes.js';
import { storedBytesSql } from '../../../ports/stores/stored-bytes.js';
import { columnList, integer } from '../../records/columns.js';
import { ATTEMPT_COLUMNS, attemptColumnsOf, STEP_COLUMNS, stepColumnsOf } from '../../records/journal-rows.js';
import type { Applier } from '../commit/applier.js';
import type { StoreParts } from '../connection/store-parts.js';
import { checksumOf } from './checksums.js';

const NEW_STEP_COLUMNS = [...STEP_COLUMNS, 'out', 'out_crc'] as const;
const NEW_ATTEMPT_COLUMNS = [...ATTEMPT_COLUMNS, 'exchange'] as const;

/** SQL condition that selects the step of a run by its id. */
export const STEP_WITH_ID = 'run_seq = ? AND (idx = ? AND step_id = idx + 1 OR step_id = ? AND step_id <> idx + 1)';
/** Returns the values for the parameters of `STEP_WITH_ID`. */
export const stepWithId = (seq: number, stepId: number) => [seq, stepId - 1, stepId] as const;

type JournalWrite<Kind> = Extract<WriteOf<'journal'>, { readonly kind: Kind }>;

export class JournalWriter implements Applier<WriteOf<'journal'>> {
  private readonly parts: StoreParts;
  private readonly selectWithId: StatementSync;
  private readonly insertStep: StatementSync;
  private readonly copySteps: StatementSync;
  private readonly selectBytes: StatementSync;
  private readonly markEdited: StatementSync;
  private readonly updateSent: StatementSync;
  private readonly insertAttempt: StatementSync;

  constructor(parts: StoreParts) {
    const { connection } = parts;
    this.parts = parts;
    const stepColumns = columnList(NEW_STEP_COLUMNS);
    const attemptColumns = columnList(NEW_ATTEMPT_COLUMNS);
    this.selectWithId = connection.prepare(`SELECT 1 FROM step WHERE ${STEP_WITH_ID}`);
    this.insertStep = connection.prepare(
      `INSERT INTO step (run_seq, ${stepColumns}) VALUES (?, ${NEW_STEP_COLUMNS.map(() => '?').join(', ')})`,
    );
    this.copySteps = connection.prepare(
      `INSERT INTO step (run_seq, ${stepColumns}, edited, sent)
       SELECT ?, ${stepColumns}, edited, sent FROM step
       WHERE run_seq = ? AND idx >= ? AND idx < ? AND idx NOT IN (SELECT value FROM json_each(?)) ORDER BY idx`,
    );
    this.selectBytes = connection.prepare(
      `SELECT coalesce(sum(${storedBytesSql('step', 's')}), 0) AS bytes FROM step s
       WHERE s.run_seq = ? AND s.idx >= ? AND s.idx < ? AND s.idx NOT IN (SELECT value FROM json_each(?))`,
    );
    this.markEdited = connection.prepare('UPDATE step SET edited = 1 WHERE run_seq = ? AND idx = ?');
    this.updateSent = connection.prepare('UPDATE step SET sent = ? WHERE run_seq = ? AND idx = ?');
    this.insertAttempt = connection.prepare(
      `INSERT INTO attempt (run_seq, ${attemptColumns}) VALUES (?, ${NEW_ATTEMPT_COLUMNS.map(() => '?').join(', ')})`,
    );
  }

  apply(write: WriteOf<'journal'>): void {
    switch (write.kind) {
      case 'record-step':
        this.recordStep(write.runKey, write.step);
        break;
      case 'record-attempt':
        this.recordAttempt(write.runKey, write.attempt);
        break;
      case 'copy-journal':
        this.copyJournal(write);
        break;
      case 'stage-journal':
        this.stageJournal(write);
        break;
      case 'adopt-journal':
        this.parts.stagedJournals.adopt(write.runKey, write.steps);
        break;
      case 'abandon-journal':
        this.parts.stagedJournals.abandon(write.runKey);
        break;
      default:
        write satisfies never;
    }
  }

  private recordStep(runKey: string, step: RecordedStep): void {
    const run = this.parts.runs.require(runKey);
    const isInOrder = step.stepId === step.index + 1;
    if (!(isInOrder && run.hasStepsInOrder) && this.selectWithId.get(...stepWithId(run.seq, step.stepId)))
      throw new Error(`step ${step.stepId} of the run ${runKey} is already recorded`);
    run.hasStepsInOrder &&= isInOrder;
    const columns = stepColumnsOf(step);
    this.insertStep.run(run.seq, ...STEP_COLUMNS.map((name) => columns[name]), step.out, checksumOf(step.out));
    // Separate statements, because few steps need them.
    if (step.edited) this.markEdited.run(run.seq, step.index);
    if (step.sent) this.updateSent.run(JSON.stringify(step.sent), run.seq, step.index);
  }

  private copyJournal({ fromRunKey, toRunKey, length, without = [] }: JournalWrite<'copy-journal'>): void {
    const toRun = this.parts.runs.require(toRunKey);
    toRun.hasStepsInOrder = false;
    this.copy(fromRunKey, toRun.seq, { from: 0, below: length ?? Number.MAX_SAFE_INTEGER, without });
  }

  private stageJournal(write: JournalWrite<'stage-journal'>): void {
    const { fromRunKey, toRunKey, at } = write;
    const { tenant } = this.parts.runs.require(fromRunKey);
    this.copy(fromRunKey, this.parts.stagedJournals.reserveSeq(toRunKey, tenant, at), write);
  }

  private copy(
    fromRunKey: string,
    toSeq: number,
    { from, below, without }: { readonly from: number; readonly below: number; readonly without: readonly number[] },
  ): void {
    const { seq, tenant } = this.parts.runs.require(fromRunKey);
    const parameters = [seq, from, below, JSON.stringify(without)] as const;
    this.copySteps.run(toSeq, ...parameters);
    this.parts.storedBytes.add(tenant, integer(this.selectBytes.get(...parameters) ?? {}, 'bytes'));
  }

  private recordAttempt(runKey: string, attempt: FailedAttempt): void {
    const columns = attemptColumnsOf(attempt);
    this.insertAttempt.run(this.seqOf(runKey), ...NEW_ATTEMPT_COLUMNS.map((name) => columns[name]));
  }

  private seqOf(runKey: string): number {
    return this.parts.runs.require(runKey).seq;
  }
}
