/** Reads the log of a run in parts, so that a long journal is never completely in memory. */
import type { StatementSync } from 'node:sqlite';
import { LIMITS } from '../../../config/limits.js';
import type { FailedAttempt } from '../../../engine/runs/run.js';
import type {
  HistoryQuery,
  JournalSize,
  ListedStep,
  ListedTask,
  Part,
  PartBounds,
  RunHistory,
} from '../../../ports/stores/store.js';
import { columnList, flag, integer, type Row } from '../../records/columns.js';
import { ATTEMPT_COLUMNS, failedAttemptOf, listedStepOf, STEP_COLUMNS } from '../../records/journal-rows.js';
import { invokedRunOf } from '../../records/run-rows.js';
import { SPECIAL_TASK_COLUMNS, TASK_COLUMNS, taskOf } from '../../records/task-rows.js';
import type { StoreParts } from '../connection/store-parts.js';
import type { EventRecords } from './event-records.js';
import { STEP_WITH_ID, stepWithId } from './journal-writer.js';
import type { RunReader } from './run-reader.js';

const NO_LIMIT = Number.MAX_SAFE_INTEGER;

function listedTaskOf(row: Row): ListedTask {
  const task = taskOf(row);
  return flag(row, 'stripped') ? { ...task, bodyLeftOut: integer(row, 'row_bytes') } : task;
}

/** Reads rows until the part is full. Each row contains its bytes in `row_bytes` and its position in `position`. */
function partOf<Item>(rows: Iterable<Row>, { maxRows, maxBytes }: PartBounds, read: (row: Row) => Item): Part<Item> {
  const items: Item[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (items.length >= maxRows || bytes >= maxBytes) return { items, next: String(integer(row, 'position')) };
    items.push(read(row));
    bytes += integer(row, 'row_bytes') + LIMITS.assumedRowBytes;
  }
  return { items, next: null };
}

export class HistoryReader {
  private readonly parts: StoreParts;
  private readonly runs: RunReader;
  private readonly events: EventRecords;
  private readonly selectSteps: StatementSync;
  private readonly selectStepsWithSent: StatementSync;
  private readonly selectStep: StatementSync;
  private readonly selectSize: StatementSync;
  private readonly selectLength: StatementSync;
  private readonly selectTasks: StatementSync;
  private readonly selectAttempts: StatementSync;
  private readonly selectExchanges: StatementSync;
  private readonly selectInvokedRuns: StatementSync;

  constructor(parts: StoreParts, runs: RunReader, events: EventRecords) {
    const { connection } = parts;
    this.parts = parts;
    this.runs = runs;
    this.events = events;
    const commonColumns = columnList([...STEP_COLUMNS, 'edited']);
    // The row header contains the length of a text, so a long text is not read to measure it.
    const prepareSteps = (sent: string, sentBytes: string) =>
      connection.prepare(
        `SELECT ${commonColumns}${sent}, idx AS position, octet_length(out) AS out_bytes,
           CASE WHEN octet_length(out) <= ? THEN out END AS out,
           octet_length(name) + ${sentBytes} + CASE WHEN octet_length(out) <= ? THEN octet_length(out) ELSE 0 END AS row_bytes
         FROM step WHERE run_seq = ? AND idx >= ? AND idx < ? ORDER BY idx`,
      );
    this.selectSteps = prepareSteps('', '0');
    this.selectStepsWithSent = prepareSteps(', sent', 'coalesce(octet_length(sent), 0)');
    this.selectStep = connection.prepare(
      `SELECT ${commonColumns}, octet_length(out) AS out_bytes, CASE WHEN octet_length(out) <= ? THEN out END AS out
       FROM step WHERE ${STEP_WITH_ID}`,
    );
    this.selectLength = connection.prepare('SELECT coalesce(max(idx) + 1, 0) AS length FROM step WHERE run_seq = ?');
    this.selectSize = connection.prepare(
      `SELECT count(*) AS steps, coalesce(sum(octet_length(name) + coalesce(octet_length(out), 0)), 0) AS bytes,
         coalesce(max(octet_length(out)), 0) AS longest FROM step WHERE run_seq = ?`,
    );
    const strippedCondition = `kind IN ('call', 'invoke') AND octet_length(detail) > ${LIMITS.maxInlineBytes}`;
    this.selectTasks = connection.prepare(
      `SELECT ${columnList([...TASK_COLUMNS, ...SPECIAL_TASK_COLUMNS])}, slot AS position,
         coalesce(octet_length(name), 0) + coalesce(octet_length(detail), 0) AS row_bytes,
         coalesce(${strippedCondition}, 0) AS stripped,
         CASE WHEN ${strippedCondition} THEN json_remove(detail, '$.body', '$.invoke.body') ELSE detail END AS detail
       FROM task WHERE run_seq = ? AND slot >= ? ORDER BY slot`,
    );
    const prepareAttempts = (exchange: string, bytes: string) =>
      connection.prepare(
        `SELECT seq AS position, ${columnList(ATTEMPT_COLUMNS)}${exchange},
           octet_length(message) + coalesce(octet_length(thrown), 0) + ${bytes} AS row_bytes
         FROM attempt WHERE run_seq = ? AND seq >= ? AND (? IS NULL OR slot = ?) ORDER BY seq`,
      );
    this.selectAttempts = prepareAttempts('', '0');
    this.selectExchanges = prepareAttempts(', exchange', 'coalesce(octet_length(exchange), 0)');
    this.selectInvokedRuns = connection.prepare(
      `SELECT key AS run_key, workflow_run_id, created_at, origin, status FROM run
       WHERE invoked_by_run_key = ? ORDER BY seq LIMIT ${LIMITS.maxListedInvocations}`,
    );
  }

  history(query: HistoryQuery): RunHistory | null {
    const seq = this.seqOf(query.runKey);
    const run = seq === null ? null : this.runs.record(seq);
    if (seq === null || !run) return null;
    const steps = this.steps({ ...query, from: '0' });
    const tasks = this.tasks({ ...query, from: null });
    const attempts = this.attempts({ ...query, from: null });
    return {
      run,
      journalLength: integer(this.selectLength.get(seq) ?? {}, 'length'),
      steps: steps.items,
      tasks: tasks.items,
      attempts: attempts.items,
      next: { steps: steps.next, tasks: tasks.next, attempts: attempts.next },
      invoked: this.selectInvokedRuns
        .all(query.runKey)
        .map(invokedRunOf)
        .sort((a, b) => a.stepId - b.stepId),
      keptEvents: this.events.keptEventsWithoutContent(seq),
    };
  }

  steps(query: HistoryQuery & { readonly from: string; readonly below?: number }): Part<ListedStep> {
    const { runKey, bounds, maxOutBytes, exchanges, from, below = NO_LIMIT } = query;
    const seq = this.seqOf(runKey);
    if (seq === null) return { items: [], next: null };
    const statement = exchanges ? this.selectStepsWithSent : this.selectSteps;
    return partOf(statement.iterate(maxOutBytes, maxOutBytes, seq, Number(from), below), bounds, listedStepOf);
  }

  step(runKey: string, stepId: number, maxOutBytes: number): ListedStep | null {
    const seq = this.seqOf(runKey);
    const row = seq === null ? undefined : this.selectStep.get(maxOutBytes, ...stepWithId(seq, stepId));
    return row ? listedStepOf(row) : null;
  }

  tasks({ runKey, bounds, from }: Pick<HistoryQuery, 'runKey' | 'bounds'> & { readonly from: string | null }): Part<ListedTask> {
    const seq = this.seqOf(runKey);
    if (seq === null) return { items: [], next: null };
    return partOf(this.selectTasks.iterate(seq, from === null ? -NO_LIMIT : Number(from)), bounds, listedTaskOf);
  }

  firstTasks(runKeys: readonly string[], limit: number): ReadonlyMap<string, readonly ListedTask[]> {
    const bounds = { maxRows: limit, maxBytes: NO_LIMIT };
    return new Map(runKeys.map((runKey) => [runKey, this.tasks({ runKey, bounds, from: null }).items]));
  }

  attempts({
    runKey,
    bounds,
    exchanges,
    from,
    slot,
  }: Omit<HistoryQuery, 'maxOutBytes'> & { readonly from: string | null; readonly slot?: number }): Part<FailedAttempt> {
    const seq = this.seqOf(runKey);
    if (seq === null) return { items: [], next: null };
    const statement = exchanges ? this.selectExchanges : this.selectAttempts;
    return partOf(statement.iterate(seq, Number(from ?? 0), slot ?? null, slot ?? null), bounds, failedAttemptOf);
  }

  size(runKey: string): JournalSize {
    const seq = this.seqOf(runKey);
    const row = seq === null ? undefined : this.selectSize.get(seq);
    if (!row) return { steps: 0, bytes: 0, longestOutBytes: 0 };
    return { steps: integer(row, 'steps'), bytes: integer(row, 'bytes'), longestOutBytes: integer(row, 'longest') };
  }

  private seqOf(runKey: string): number | null {
    return this.parts.runs.find(runKey)?.seq ?? null;
  }
}
