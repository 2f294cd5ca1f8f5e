/** Writes to the dead letter queue: adds, changes and removes entries. */
import { type FailureGroup, GroupChanges, UNGROUPED_RULES } from '../../../engine/dead-letters/dead-letter-groups.js';
import { CALLBACK_SLOT, type DeadLetter, type FailureFunctionState } from '../../../engine/runs/run.js';
import type { WriteOf } from '../../../engine/writes.js';
import { storedBytesSql } from '../../../ports/stores/stored-bytes.js';
import { columnList } from '../../records/columns.js';
import type { Applier, BatchContext } from '../commit/batch-context.js';
import type { BatchDeadLetter } from '../commit/known-run.js';
import { distributableStatement, statement, type TransactionSession } from '../connection/connection.js';
import { type Columns, columnArrays, columnNames, POSITION_BASE, type RowOf, unnest } from '../connection/row-sets.js';
import type { RunWrites } from '../runs/run-writes.js';
import { RUN } from '../runs/tables.js';
import type { TaskWrites } from '../runs/task-writes.js';
import { addBytesSql, changeAndCountBytesSql } from '../storage/stored-bytes.js';
import { sendGroupChanges } from './dead-letter-group-writes.js';

/** Columns of `dead_letter` that are written with an entry. The others are copied from its run. */
export const DEAD_LETTER = {
  instance_id: 'text',
  dlq_id: 'text',
  run_key: 'text',
  created_at: 'bigint',
  response_status: 'integer',
  rules: 'integer',
  failure_function_state: 'text',
  response_headers: 'text',
  error: 'text',
  failed_by: 'text',
  fingerprint: 'text',
  response_body: 'bytea',
} as const satisfies Columns;
const { workflow_run_id, workflow_url, caller_ip, flow_key, message, queue, url_group, schedule_id } = RUN;
/** Columns that are copied from the run of an entry, so that entries can be filtered by them. */
export const COPIED_RUN_COLUMNS = {
  ...{ workflow_run_id, workflow_url, caller_ip, flow_key },
  ...{ message, queue, url_group, schedule_id },
} as const satisfies Columns;
const STATE = { instance_id: 'text', dlq_id: 'text', state: 'text' } as const satisfies Columns;
const REMOVAL = {
  instance_id: 'text',
  dlq_id: 'text',
  run_key: 'text',
  became_kind: 'text',
  became_run_key: 'text',
} as const satisfies Columns;

const NEW_ENTRIES = `(
  SELECT u.*, base.place + u.n AS place FROM (SELECT ${POSITION_BASE} AS place) base,
    ${unnest(DEAD_LETTER)} WITH ORDINALITY AS u(${columnNames(DEAD_LETTER)}, n))`;
/** Without `IS TRUE`, the database could use an index on the state instead of the index on the runs. */
const markEndedSql = (source: string) => `
  UPDATE ended_run e SET state = 'deadLetter' FROM ${source} g
  WHERE e.instance_id = g.instance_id AND e.run_key = g.run_key AND (e.state = 'failed') IS TRUE`;
const insertLabelsSql = (source: string) => `
  INSERT INTO dead_letter_label (instance_id, label, place, dlq_id)
  SELECT g.instance_id, l.label, g.place, g.dlq_id FROM ${source} g
  JOIN run_label l ON l.instance_id = g.instance_id AND l.run_key = g.run_key`;
const insertEntriesSql = (source: string) => `
  INSERT INTO dead_letter (${columnNames(DEAD_LETTER)}, place, run_created_at, ${columnNames(COPIED_RUN_COLUMNS)})
  SELECT ${columnList(Object.keys(DEAD_LETTER), 'g')}, g.place, r.created_at, ${columnList(Object.keys(COPIED_RUN_COLUMNS), 'r')}
  FROM ${source} g JOIN run r ON r.instance_id = g.instance_id AND r.run_key = g.run_key`;
/** The INSERT for distributed tables. All its rows use the same time, that of the statement. */
const INSERT_ON_SERVER = `
  INSERT INTO dead_letter (${columnNames(DEAD_LETTER)}, place, run_created_at, ${columnNames(COPIED_RUN_COLUMNS)})
  SELECT ${columnList(Object.keys(DEAD_LETTER), 'u')}, ${POSITION_BASE.replace('clock_timestamp', 'statement_timestamp')} + u.n,
    r.created_at, ${columnList(Object.keys(COPIED_RUN_COLUMNS), 'r')}
  FROM ${unnest(DEAD_LETTER)} WITH ORDINALITY AS u(${columnNames(DEAD_LETTER)}, n)
  JOIN run r ON r.instance_id = u.instance_id AND r.run_key = u.run_key`;
/** SQL for the entries that were inserted, with their positions. */
const INSERTED_ENTRIES = `(
  SELECT d.* FROM ${unnest(DEAD_LETTER)} AS u(${columnNames(DEAD_LETTER)})
  JOIN dead_letter d ON d.instance_id = u.instance_id AND d.dlq_id = u.dlq_id)`;
const INSERT = distributableStatement(
  `WITH given AS MATERIALIZED ${NEW_ENTRIES}, ended AS (${markEndedSql('given')}), labels AS (${insertLabelsSql('given')})
  ${insertEntriesSql('given')}`,
  [INSERT_ON_SERVER, markEndedSql(INSERTED_ENTRIES), insertLabelsSql(INSERTED_ENTRIES)],
);
const SET_STATES = statement(`
  UPDATE dead_letter d SET failure_function_state = u.state FROM ${unnest(STATE)} AS u(${columnNames(STATE)})
  WHERE d.instance_id = u.instance_id AND d.dlq_id = u.dlq_id`);
const REMOVED_ENTRIES = `${unnest(REMOVAL)} AS g(${columnNames(REMOVAL)})`;
const deleteEntriesSql = (source: string) => `
  DELETE FROM dead_letter d USING ${source} WHERE d.instance_id = g.instance_id AND d.dlq_id = g.dlq_id
  RETURNING d.instance_id, ${storedBytesSql('dead_letter', 'd')} AS bytes`;
const deleteLabelsSql = (source: string) => `
  DELETE FROM dead_letter_label l USING ${source} WHERE l.instance_id = g.instance_id AND l.dlq_id = g.dlq_id`;
const markRecoveredSql = (source: string) => `
  UPDATE ended_run e SET state = 'failed', became_kind = g.became_kind, became_run_key = g.became_run_key
  FROM ${source} WHERE e.instance_id = g.instance_id AND e.run_key = g.run_key`;
const REMOVE_ENTRIES = distributableStatement(
  `WITH given AS MATERIALIZED (SELECT * FROM ${REMOVED_ENTRIES}), entries AS (${deleteEntriesSql('given g')}),
  given_back AS (${addBytesSql('entries', '-')}), labels AS (${deleteLabelsSql('given g')}) ${markRecoveredSql('given g')}`,
  [
    changeAndCountBytesSql(deleteEntriesSql(REMOVED_ENTRIES), '-'),
    deleteLabelsSql(REMOVED_ENTRIES),
    markRecoveredSql(REMOVED_ENTRIES),
  ],
);

export class DeadLetterWrites implements Applier<WriteOf<'dead-letter'>> {
  private entries: RowOf<typeof DEAD_LETTER>[] = [];
  private removals: RowOf<typeof REMOVAL>[] = [];
  /** Ids of the entries in `removals`, and keys of their runs. */
  private readonly removedKeys = new Set<string>();
  private readonly states = new Map<string, RowOf<typeof STATE>>();
  private readonly groups = new GroupChanges();
  private readonly runs: RunWrites;
  private readonly tasks: TaskWrites;

  /** `runs` and `tasks` collect the writes of the same batch. */
  constructor(runs: RunWrites, tasks: TaskWrites) {
    this.runs = runs;
    this.tasks = tasks;
  }

  apply(write: WriteOf<'dead-letter'>, { state, flush }: BatchContext): void {
    switch (write.kind) {
      case 'add-dead-letter': {
        const { entry, group } = write;
        if (state.requireRun(entry.runKey).instanceId !== entry.instanceId)
          throw new Error(`the run ${entry.runKey} and its dead letter belong to different instances`);
        if (this.isBeingRemoved(entry)) flush();
        this.addEntry(entry, group);
        this.runs.markDeadLetter(entry.runKey);
        // Without a group, entries are not counted by URL.
        state.addDeadLetter({ ...entry, workflowUrl: group?.workflowUrl ?? '', fingerprint: group?.fingerprint ?? null });
        if (group) this.groups.addEntry(entry.instanceId, group, entry.responseStatus, entry.createdAt);
        break;
      }
      case 'take-dead-letter': {
        const entry = state.requireDeadLetter(write.instanceId, write.dlqId);
        const { fingerprint, workflowUrl } = entry;
        this.removeEntry(entry, write.recoveredAs);
        state.removeDeadLetter(entry);
        if (fingerprint !== null)
          this.groups.removeEntry(entry.instanceId, { fingerprint, workflowUrl }, write.recoveredAs?.at ?? null);
        this.tasks.delete(entry, CALLBACK_SLOT, false);
        state.deleteTask(entry.runKey, CALLBACK_SLOT);
        break;
      }
      case 'set-failure-function-state':
        this.setState(state.requireDeadLetter(write.instanceId, write.dlqId), write.state);
        break;
      default:
        write satisfies never;
    }
  }

  private addEntry(entry: DeadLetter, group: FailureGroup | null): void {
    this.entries.push({
      instance_id: entry.instanceId,
      dlq_id: entry.dlqId,
      run_key: entry.runKey,
      created_at: entry.createdAt,
      response_status: entry.responseStatus,
      rules: group?.rules ?? UNGROUPED_RULES,
      failure_function_state: entry.failureFunctionState,
      response_headers: JSON.stringify(entry.responseHeaders),
      error: entry.error,
      failed_by: entry.failedBy && JSON.stringify(entry.failedBy),
      fingerprint: group?.fingerprint ?? null,
      response_body: entry.responseBody,
    });
  }

  /** Returns whether a removal of this entry, or of another entry of its run, must be sent before the entry is added. */
  private isBeingRemoved({ instanceId, dlqId, runKey }: Pick<BatchDeadLetter, 'instanceId' | 'dlqId' | 'runKey'>): boolean {
    return this.removedKeys.has(runKey) || this.removedKeys.has(`${instanceId}\n${dlqId}`);
  }

  private setState({ instanceId, dlqId }: BatchDeadLetter, state: FailureFunctionState | null): void {
    this.states.set(`${instanceId}\n${dlqId}`, { instance_id: instanceId, dlq_id: dlqId, state });
  }

  /** Removes an entry from the queue. `newRun` is the run that it was resumed or restarted as; null if the entry is deleted. */
  private removeEntry(
    { instanceId, dlqId, runKey }: BatchDeadLetter,
    newRun: { readonly kind: string; readonly runKey: string } | null,
  ): void {
    this.removals.push({
      instance_id: instanceId,
      dlq_id: dlqId,
      run_key: runKey,
      became_kind: newRun?.kind ?? null,
      became_run_key: newRun?.runKey ?? null,
    });
    this.removedKeys.add(runKey).add(`${instanceId}\n${dlqId}`);
  }

  send(session: TransactionSession): void {
    const states = [...this.states.values()];
    if (this.entries.length > 0) session.send(INSERT, columnArrays(DEAD_LETTER, this.entries));
    if (states.length > 0) session.send(SET_STATES, columnArrays(STATE, states));
    if (this.removals.length > 0) session.send(REMOVE_ENTRIES, columnArrays(REMOVAL, this.removals));
    [this.entries, this.removals] = [[], []];
    this.states.clear();
    this.removedKeys.clear();
  }

  sendGroups(session: TransactionSession): void {
    sendGroupChanges(session, this.groups);
  }
}
