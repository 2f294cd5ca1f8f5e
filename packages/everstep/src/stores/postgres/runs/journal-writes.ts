/** Writes journals and failed attempts, on the hot path. Keeps invariant 4. */
import type { FailedAttempt, RecordedStep } from '../../../engine/runs/run.js';
import type { WriteOf } from '../../../engine/writes.js';
import { storedBytesSql } from '../../../ports/stores/stored-bytes.js';
import { columnList } from '../../records/columns.js';
import { attemptColumnsOf, stepColumnsOf } from '../../records/journal-rows.js';
import type { Applier, BatchContext } from '../commit/batch-context.js';
import type { RunInInstance } from '../commit/known-run.js';
import { distributableStatement, statement, type TransactionSession, tableWrite } from '../connection/connection.js';
import {
  type Columns,
  columnArrays,
  columnNames,
  insertInto,
  POSITION_BASE,
  type RowOf,
  unnest,
} from '../connection/row-sets.js';
import { recordStagedRuns, type StagingWrite, writeStagings } from '../storage/staged-journals.js';
import { addBytesSql, changeAndCountBytesSql } from '../storage/stored-bytes.js';
import { ATTEMPT, RUN_KEY, STEP } from './tables.js';

const { instance_id: _instance, run_key: _run, ...COPIED_COLUMNS } = STEP;
const STEP_RANGE = {
  ...RUN_KEY,
  from_instance: 'text',
  from_key: 'text',
  at_least: 'integer',
  below: 'integer',
  without: 'text',
} as const satisfies Columns;
const SENT_REQUEST = { ...RUN_KEY, idx: 'integer', sent: 'text' } as const satisfies Columns;
const EDITED_STEP = { ...RUN_KEY, idx: 'integer' } as const satisfies Columns;
/** An upper bound above the index of any step. */
const MAX_INDEX = 2_147_483_647;

const INSERT_STEPS = tableWrite('step', insertInto('step', STEP));
const STEP_RANGES = `${unnest(STEP_RANGE)} AS c(${columnNames(STEP_RANGE)})`;
const IN_RANGE = 's.idx >= c.at_least AND s.idx < c.below AND NOT (c.without::jsonb @> to_jsonb(s.idx))';
const INSERT_COPIES = `
  INSERT INTO step (${columnNames(STEP)}, edited, sent)
  SELECT c.instance_id, c.run_key, ${columnList(Object.keys(COPIED_COLUMNS), 's')}, s.edited, s.sent
  FROM ${STEP_RANGES} JOIN step s ON s.instance_id = c.from_instance AND s.run_key = c.from_key AND ${IN_RANGE}`;
const COPY_STEPS = distributableStatement(
  changeAndCountBytesSql(`${INSERT_COPIES} RETURNING step.instance_id, ${storedBytesSql('step', 'step')} AS bytes`),
  [
    INSERT_COPIES,
    addBytesSql(`(SELECT s.instance_id, ${storedBytesSql('step', 's')} AS bytes FROM ${STEP_RANGES}
    JOIN step s ON s.instance_id = c.instance_id AND s.run_key = c.run_key AND ${IN_RANGE}) copied`),
  ],
);
/** Stores the requests that steps have sent. This statement and the next one are separate, because few steps need them. */
const STORE_SENT_REQUESTS = statement(`
  UPDATE step s SET sent = e.sent FROM ${unnest(SENT_REQUEST)} AS e(${columnNames(SENT_REQUEST)})
  WHERE s.instance_id = e.instance_id AND s.run_key = e.run_key AND s.idx = e.idx`);
const MARK_EDITED = statement(`
  UPDATE step s SET edited = true FROM ${unnest(EDITED_STEP)} AS e(${columnNames(EDITED_STEP)})
  WHERE s.instance_id = e.instance_id AND s.run_key = e.run_key AND s.idx = e.idx`);
const INSERT_ATTEMPTS = statement(`
  INSERT INTO attempt (${columnNames(ATTEMPT)}, place)
  SELECT ${columnNames(ATTEMPT)}, base.place + n
  FROM (SELECT ${POSITION_BASE} AS place) base, ${unnest(ATTEMPT)} WITH ORDINALITY AS u(${columnNames(ATTEMPT)}, n)`);

interface CopiedRange {
  readonly from?: number;
  readonly below?: number | undefined;
  readonly without?: readonly number[] | undefined;
}

export class JournalWrites implements Applier<WriteOf<'journal'>> {
  private steps: RowOf<typeof STEP>[] = [];
  private copies: RowOf<typeof STEP_RANGE>[] = [];
  private editedSteps: RowOf<typeof EDITED_STEP>[] = [];
  private sentRequests: RowOf<typeof SENT_REQUEST>[] = [];
  private attempts: RowOf<typeof ATTEMPT>[] = [];
  private stagedRuns: RunInInstance[] = [];
  private stagings: StagingWrite[] = [];

  apply(write: WriteOf<'journal'>, batch: BatchContext): void {
    const { state } = batch;
    switch (write.kind) {
      case 'record-step':
        if (this.isBeingCopied(write.runKey)) batch.flush();
        this.recordStep(state.requireRun(write.runKey), write.step);
        break;
      case 'record-attempt':
        this.recordAttempt(state.requireRun(write.runKey), write.attempt);
        break;
      case 'copy-journal': {
        const [source, target] = [state.requireRun(write.fromRunKey), state.requireRun(write.toRunKey)];
        if (this.isBeingCopied(write.fromRunKey)) batch.flush();
        this.copySteps(source, target, { below: write.length, without: write.without });
        break;
      }
      case 'stage-journal': {
        const source = state.requireRun(write.fromRunKey);
        const target = { instanceId: source.instanceId, runKey: write.toRunKey };
        this.stagedRuns.push(target);
        this.copySteps(source, target, write);
        break;
      }
      case 'adopt-journal':
      case 'abandon-journal':
        this.stagings.push(write);
        break;
      default:
        write satisfies never;
    }
  }

  private recordStep({ instanceId, runKey }: RunInInstance, step: RecordedStep): void {
    this.steps.push({ instance_id: instanceId, run_key: runKey, ...stepColumnsOf(step) });
    const key = { instance_id: instanceId, run_key: runKey, idx: step.index };
    if (step.edited) this.editedSteps.push(key);
    if (step.sent) this.sentRequests.push({ ...key, sent: JSON.stringify(step.sent) });
  }

  /** Returns whether the journal is part of a copy that is not sent yet. A copy contains the steps that exist when it is sent. */
  private isBeingCopied(runKey: string): boolean {
    return this.copies.some((copy) => copy.from_key === runKey || copy.run_key === runKey);
  }

  /** Copies the steps in a range of indexes, except those in `without`. Copies all steps if there is no range. */
  private copySteps(
    source: RunInInstance,
    target: RunInInstance,
    { from: atLeast = 0, below = MAX_INDEX, without = [] }: CopiedRange,
  ): void {
    this.copies.push({
      instance_id: target.instanceId,
      run_key: target.runKey,
      from_instance: source.instanceId,
      from_key: source.runKey,
      at_least: atLeast,
      below,
      without: JSON.stringify(without),
    });
  }

  private recordAttempt({ instanceId, runKey }: RunInInstance, attempt: FailedAttempt): void {
    this.attempts.push({ instance_id: instanceId, run_key: runKey, ...attemptColumnsOf(attempt) });
  }

  sendStagings(session: TransactionSession): void {
    if (this.stagings.length > 0) writeStagings(session, this.stagings);
    if (this.stagedRuns.length > 0) recordStagedRuns(session, this.stagedRuns);
    [this.stagings, this.stagedRuns] = [[], []];
  }

  send(session: TransactionSession): void {
    if (this.steps.length > 0) session.sendJoined(INSERT_STEPS, columnArrays(STEP, this.steps));
    if (this.sentRequests.length > 0) session.send(STORE_SENT_REQUESTS, columnArrays(SENT_REQUEST, this.sentRequests));
    if (this.copies.length > 0) session.send(COPY_STEPS, columnArrays(STEP_RANGE, this.copies));
    if (this.editedSteps.length > 0) session.send(MARK_EDITED, columnArrays(EDITED_STEP, this.editedSteps));
    if (this.attempts.length > 0) session.send(INSERT_ATTEMPTS, columnArrays(ATTEMPT, this.attempts));
    [this.steps, this.copies, this.editedSteps, this.sentRequests, this.attempts] = [[], [], [], [], []];
  }
}
