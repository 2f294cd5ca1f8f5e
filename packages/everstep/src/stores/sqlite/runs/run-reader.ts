/** Reads single runs and due tasks. */
import type { StatementSync } from 'node:sqlite';
import { nextPosition, positionsIn } from '../../../engine/runs/positions.js';
import { ADVANCE_SLOT, type RecordedStep, type Run, type RunPayload, type Task } from '../../../engine/runs/run.js';
import type { DueTask, PayloadHead, RunRecord, Store, TaskReference } from '../../../ports/stores/store.js';
import { columnList, integer, type Row, text, textOrNull } from '../../records/columns.js';
import { recordedStepOf, STEP_COLUMNS } from '../../records/journal-rows.js';
import { headersOf, payloadOf, runIdentityOf, runRecordOf } from '../../records/run-rows.js';
import { taskKindOf, taskOf } from '../../records/task-rows.js';
import type { StoreParts } from '../connection/store-parts.js';
import { verifyRow } from './checksums.js';
import type { EventRecords } from './event-records.js';
import { RUN_RECORD_COLUMNS, RUN_RECORD_TABLES } from './run-records.js';

/** Destination of a task, and its flow control key. */
const DELIVERY_COLUMNS = `
  CASE t.kind WHEN 'call' THEN t.call_url
    WHEN 'callback' THEN coalesce(json_extract(r.settings, '$.failureCallback.url'), r.workflow_url)
    ELSE r.workflow_url END AS url,
  CASE t.kind WHEN 'call' THEN t.flow_key WHEN 'advance' THEN r.flow_key WHEN 'step' THEN r.flow_key WHEN 'message' THEN r.flow_key END AS flow_key,
  t.queue`;

const DUE_TASKS = `
  SELECT t.due_at, t.run_seq, t.slot, t.kind, r.key, n.instance_id, ${DELIVERY_COLUMNS}
  FROM task t JOIN run r ON r.seq = t.run_seq JOIN tenant n ON n.seq = r.tenant
  WHERE t.due_at <= ? AND (t.due_at, t.run_seq, t.slot) > (?, ?, ?)`;

type DueTasksQuery = Parameters<Store['dueTasks']>[0];

const dueTaskOf = (row: Row): DueTask => ({
  runKey: text(row, 'key'),
  slot: integer(row, 'slot'),
  dueAt: integer(row, 'due_at'),
  kind: taskKindOf(row),
  instanceId: text(row, 'instance_id'),
  workflowUrl: text(row, 'url'),
  flowControlKey: textOrNull(row, 'flow_key'),
  ...(row.queue === null ? {} : { queue: text(row, 'queue') }),
  runVersion: 0,
});

export class RunReader {
  private readonly parts: StoreParts;
  private readonly events: EventRecords;
  private readonly selectIdentity: StatementSync;
  private readonly selectRecord: StatementSync;
  private readonly selectJournalSize: StatementSync;
  private readonly selectSteps: StatementSync;
  private readonly selectStepIds: StatementSync;
  private readonly selectTasks: StatementSync;
  private readonly selectRetries: StatementSync;
  private readonly selectPayload: StatementSync;
  private readonly selectPayloadHead: StatementSync;
  private readonly selectResult: StatementSync;
  private readonly selectDueTasks: StatementSync;
  private readonly selectDueTasksOfTenant: StatementSync;
  private readonly selectNextTenant: StatementSync;
  private readonly selectIsDue: StatementSync;
  private readonly selectNextDue: StatementSync;
  private readonly selectInvoker: StatementSync;

  constructor(parts: StoreParts, events: EventRecords) {
    const { connection } = parts;
    this.parts = parts;
    this.events = events;
    this.selectIdentity = connection.prepare(
      `SELECT r.*, r.key AS run_key, t.instance_id, EXISTS (SELECT 1 FROM kept_event k WHERE k.run_seq = r.seq) AS keeps_events
       FROM run r JOIN tenant t ON t.seq = r.tenant WHERE r.seq = ?`,
    );
    this.selectRecord = connection.prepare(`SELECT ${RUN_RECORD_COLUMNS} FROM ${RUN_RECORD_TABLES} WHERE r.seq = ?`);
    this.selectJournalSize = connection.prepare(
      `SELECT count(*) AS entries, coalesce(max(step_id), 0) AS last_step_id, coalesce(sum(octet_length(out)), 0) AS result_bytes
       FROM step WHERE run_seq = ?`,
    );
    const steps = columnList([...STEP_COLUMNS, 'out', 'out_crc', 'edited']);
    this.selectSteps = connection.prepare(`SELECT ${steps} FROM step WHERE run_seq = ? AND idx >= ? ORDER BY idx`);
    this.selectStepIds = connection.prepare('SELECT step_id FROM step WHERE run_seq = ?');
    this.selectTasks = connection.prepare('SELECT * FROM task WHERE run_seq = ? ORDER BY slot');
    this.selectRetries = connection.prepare(
      'SELECT retried FROM attempt WHERE run_seq = ? AND slot >= 0 AND retry_at IS NULL AND at = ? ORDER BY seq DESC LIMIT 1',
    );
    this.selectPayload = connection.prepare('SELECT * FROM payload WHERE run_seq = ?');
    this.selectPayloadHead = connection.prepare(
      'SELECT content_type, forward_headers, octet_length(body) AS body_bytes FROM payload WHERE run_seq = ?',
    );
    this.selectResult = connection.prepare('SELECT result FROM run WHERE seq = ?');
    this.selectDueTasks = connection.prepare(`${DUE_TASKS} ORDER BY t.due_at, t.run_seq, t.slot LIMIT ?`);
    this.selectDueTasksOfTenant = connection.prepare(
      `${DUE_TASKS} AND t.tenant = ? ORDER BY t.due_at, t.run_seq, t.slot LIMIT ?`,
    );
    this.selectNextTenant = connection.prepare(
      `SELECT n.seq, n.instance_id FROM tenant n
       WHERE n.seq = (SELECT tenant FROM task WHERE due_at IS NOT NULL AND tenant > ? ORDER BY tenant LIMIT 1)`,
    );
    this.selectIsDue = connection.prepare('SELECT 1 FROM task WHERE tenant = ? AND due_at >= ? AND due_at <= ? LIMIT 1');
    this.selectNextDue = connection.prepare('SELECT due_at FROM task WHERE due_at > ? ORDER BY due_at LIMIT 1');
    this.selectInvoker = connection.prepare(
      `SELECT t.slot, r.key FROM task t JOIN run r ON r.seq = t.run_seq WHERE t.child_run_key = ? AND r.status = 'active'`,
    );
  }

  loadRun(runKey: string): Run | null {
    const seq = this.parts.runs.find(runKey)?.seq;
    const row = seq === undefined ? undefined : this.selectIdentity.get(seq);
    if (seq === undefined || !row) return null;
    const size = this.selectJournalSize.get(seq) ?? {};
    const openTasks = this.tasksOf(seq);
    const tasks = new Map(openTasks.map((task) => [task.slot, task]));
    const journalLength = integer(size, 'entries');
    const usedPositions = {
      entries: journalLength,
      lastStepId: integer(size, 'last_step_id'),
      lastSlot: openTasks.at(-1)?.slot ?? 0,
    };
    const nextStepId = nextPosition(usedPositions);
    return {
      ...runIdentityOf(row),
      ...(nextStepId === null
        ? positionsIn(this.selectStepIds.all(seq).map((step) => integer(step, 'step_id')))
        : { nextStepId }),
      journalLength,
      journalBytes: integer(size, 'result_bytes'),
      replayedLength: tasks.has(ADVANCE_SLOT) ? -1 : journalLength,
      version: 0,
      tasks,
      keptEvents: integer(row, 'keeps_events') === 0 ? [] : this.events.keptEvents(seq),
      hasFailureFunction: integer(row, 'failure_function') === 1,
    };
  }

  loadPayload(runKey: string): RunPayload | null {
    const seq = this.parts.runs.find(runKey)?.seq;
    const row = seq === undefined ? undefined : this.selectPayload.get(seq);
    return row ? payloadOf(verifyRow(row, 'body', 'body_crc', () => `the payload of run ${runKey}`)) : null;
  }

  payloadHead(runKey: string): PayloadHead | null {
    const seq = this.parts.runs.find(runKey)?.seq;
    const row = seq === undefined ? undefined : this.selectPayloadHead.get(seq);
    return row ? { ...headersOf(row), bodyBytes: integer(row, 'body_bytes') } : null;
  }

  result(runKey: string): string | null {
    const seq = this.parts.runs.find(runKey)?.seq;
    const row = seq === undefined ? undefined : this.selectResult.get(seq);
    return row ? textOrNull(row, 'result') : null;
  }

  loadJournal(runKey: string, from: number, maxBytes = Number.POSITIVE_INFINITY): readonly RecordedStep[] {
    const seq = this.parts.runs.find(runKey)?.seq;
    if (seq === undefined) return [];
    const read = (row: Row) => recordedStepOf(verifyRow(row, 'out', 'out_crc', () => `step ${row.step_id} of run ${runKey}`));
    if (maxBytes === Number.POSITIVE_INFINITY) return this.selectSteps.all(seq, from).map(read);
    const steps: RecordedStep[] = [];
    let bytes = 0;
    for (const row of this.selectSteps.iterate(seq, from)) {
      const step = read(row);
      steps.push(step);
      bytes += step.out?.length ?? 0;
      if (bytes >= maxBytes) break;
    }
    return steps;
  }

  record(seq: number): RunRecord | null {
    const row = this.selectRecord.get(seq);
    return row ? runRecordOf(row) : null;
  }

  recordOf(runKey: string): RunRecord | null {
    const seq = this.parts.runs.find(runKey)?.seq;
    return seq === undefined ? null : this.record(seq);
  }

  dueTasks({ before, after, limit, instanceId }: DueTasksQuery): readonly DueTask[] {
    const [dueAt, seq, slot] = after ? [after.dueAt, this.parts.runs.rowNumberOf(after.runKey), after.slot] : [-1, 0, 0];
    if (instanceId === undefined) return this.selectDueTasks.all(before, dueAt, seq, slot, limit).map(dueTaskOf);
    const tenant = this.parts.tenants.find(instanceId);
    return tenant === null ? [] : this.selectDueTasksOfTenant.all(before, dueAt, seq, slot, tenant, limit).map(dueTaskOf);
  }

  dueInstances(from: number, before: number): readonly string[] {
    const instanceIds: string[] = [];
    // Each query finds the next tenant in the index.
    for (let row = this.selectNextTenant.get(-1); row; ) {
      const tenant = integer(row, 'seq');
      if (this.selectIsDue.get(tenant, from, before)) instanceIds.push(text(row, 'instance_id'));
      row = this.selectNextTenant.get(tenant);
    }
    return instanceIds;
  }

  nextDueAt(after: number): number | null {
    const row = this.selectNextDue.get(after);
    return row ? integer(row, 'due_at') : null;
  }

  /** Returns the number of retries of the delivery that failed the run at `at`; 0 if no delivery failed it. */
  retriesBeforeFailure(runKey: string, at: number): number {
    const seq = this.parts.runs.find(runKey)?.seq;
    const row = seq === undefined ? undefined : this.selectRetries.get(seq, at);
    return row ? integer(row, 'retried') : 0;
  }

  /** Returns the task that invoked the run. If several tasks refer to the run, all except one belong to ended runs. */
  invokerOf(childRunKey: string): Pick<TaskReference, 'runKey' | 'slot'> | null {
    const row = this.selectInvoker.get(childRunKey);
    return row ? { runKey: text(row, 'key'), slot: integer(row, 'slot') } : null;
  }

  private tasksOf(seq: number): readonly Task[] {
    return this.selectTasks.all(seq).map(taskOf);
  }
}
