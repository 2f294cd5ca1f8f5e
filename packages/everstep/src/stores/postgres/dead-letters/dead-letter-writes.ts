/** Writes to the dead letter queue: entries are added, changed and removed. */
import { type FailureGroup, GroupChanges, UNGROUPED_RULES } from '../../../engine/dead-letters/dead-letter-groups.js';
import { CALLBACK_SLOT, type DeadLetter, type FailureFunctionState } from '../../../engine/runs/run.js';
import type { WriteOf } from '../../../engine/writes.js';
import { storedSql } from '../../../ports/stores/stored-bytes.js';
import { listOf } from '../../records/columns.js';
import type { Applier, BatchContext } from '../commit/batch-context.js';
import type { KnownEntry } from '../commit/known-run.js';
import { inForms, statement, type TransactionSession } from '../connection/connection.js';
import { type Columns, columnArrays, columnNames, PLACE_BASE, type RowOf, unnest } from '../connection/row-sets.js';
import type { RunWrites } from '../runs/run-writes.js';
import { RUN } from '../runs/tables.js';
import type { TaskWrites } from '../runs/task-writes.js';
import { addBytes, countChangedBytes } from '../storage/stored-bytes.js';
import { sendGroupChanges } from './dead-letter-group-writes.js';

/** Columns of `dead_letter` that are written with an entry. The others are copied from its run. */
export const ENTRY = {
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
/** Columns of the run that its entry contains, so that entries can be filtered by them. */
export const COPIED = {
  ...{ workflow_run_id, workflow_url, caller_ip, flow_key },
  ...{ message, queue, url_group, schedule_id },
} as const satisfies Columns;
const STATE = { instance_id: 'text', dlq_id: 'text', state: 'text' } as const satisfies Columns;
const TAKE = {
  instance_id: 'text',
  dlq_id: 'text',
  run_key: 'text',
  became_kind: 'text',
  became_run_key: 'text',
} as const satisfies Columns;

const GIVEN = `(
  SELECT u.*, base.place + u.n AS place FROM (SELECT ${PLACE_BASE} AS place) base,
    ${unnest(ENTRY)} WITH ORDINALITY AS u(${columnNames(ENTRY)}, n))`;
/** `IS TRUE` keeps the server from looking for the state in an index instead of for the run. */
const markEnded = (source: string) => `
  UPDATE ended_run e SET state = 'deadLetter' FROM ${source} g
  WHERE e.instance_id = g.instance_id AND e.run_key = g.run_key AND (e.state = 'failed') IS TRUE`;
const insertLabels = (source: string) => `
  INSERT INTO dead_letter_label (instance_id, label, place, dlq_id)
  SELECT g.instance_id, l.label, g.place, g.dlq_id FROM ${source} g
  JOIN run_label l ON l.instance_id = g.instance_id AND l.run_key = g.run_key`;
const insertEntries = (source: string) => `
  INSERT INTO dead_letter (${columnNames(ENTRY)}, place, run_created_at, ${columnNames(COPIED)})
  SELECT ${listOf(Object.keys(ENTRY), 'g')}, g.place, r.created_at, ${listOf(Object.keys(COPIED), 'r')}
  FROM ${source} g JOIN run r ON r.instance_id = g.instance_id AND r.run_key = g.run_key`;
/** The insertion where the tables are on several servers. The time is that of the statement, so that all rows have the same. */
const INSERT_ON_SERVER = `
  INSERT INTO dead_letter (${columnNames(ENTRY)}, place, run_created_at, ${columnNames(COPIED)})
  SELECT ${listOf(Object.keys(ENTRY), 'u')}, ${PLACE_BASE.replace('clock_timestamp', 'statement_timestamp')} + u.n,
    r.created_at, ${listOf(Object.keys(COPIED), 'r')}
  FROM ${unnest(ENTRY)} WITH ORDINALITY AS u(${columnNames(ENTRY)}, n)
  JOIN run r ON r.instance_id = u.instance_id AND r.run_key = u.run_key`;
/** SQL: the entries that were inserted, with their positions. */
const INSERTED = `(
  SELECT d.* FROM ${unnest(ENTRY)} AS u(${columnNames(ENTRY)})
  JOIN dead_letter d ON d.instance_id = u.instance_id AND d.dlq_id = u.dlq_id)`;
const INSERT = inForms(
  `WITH given AS MATERIALIZED ${GIVEN}, ended AS (${markEnded('given')}), labels AS (${insertLabels('given')})
  ${insertEntries('given')}`,
  [INSERT_ON_SERVER, markEnded(INSERTED), insertLabels(INSERTED)],
);
const SET_STATES = statement(`
  UPDATE dead_letter d SET failure_function_state = u.state FROM ${unnest(STATE)} AS u(${columnNames(STATE)})
  WHERE d.instance_id = u.instance_id AND d.dlq_id = u.dlq_id`);
const TAKEN = `${unnest(TAKE)} AS g(${columnNames(TAKE)})`;
const deleteEntries = (source: string) => `
  DELETE FROM dead_letter d USING ${source} WHERE d.instance_id = g.instance_id AND d.dlq_id = g.dlq_id
  RETURNING d.instance_id, ${storedSql('dead_letter', 'd')} AS bytes`;
const deleteLabels = (source: string) => `
  DELETE FROM dead_letter_label l USING ${source} WHERE l.instance_id = g.instance_id AND l.dlq_id = g.dlq_id`;
const markTaken = (source: string) => `
  UPDATE ended_run e SET state = 'failed', became_kind = g.became_kind, became_run_key = g.became_run_key
  FROM ${source} WHERE e.instance_id = g.instance_id AND e.run_key = g.run_key`;
const TAKE_OUT = inForms(
  `WITH given AS MATERIALIZED (SELECT * FROM ${TAKEN}), entries AS (${deleteEntries('given g')}),
  given_back AS (${addBytes('entries', '-')}), labels AS (${deleteLabels('given g')}) ${markTaken('given g')}`,
  [countChangedBytes(deleteEntries(TAKEN), '-'), deleteLabels(TAKEN), markTaken(TAKEN)],
);

export class DeadLetterWrites implements Applier<WriteOf<'dead-letter'>> {
  private entries: RowOf<typeof ENTRY>[] = [];
  private takes: RowOf<typeof TAKE>[] = [];
  private readonly taking = new Set<string>();
  private readonly states = new Map<string, RowOf<typeof STATE>>();
  private readonly groups = new GroupChanges();
  private readonly runs: RunWrites;
  private readonly tasks: TaskWrites;

  /** `runs` and `tasks`: writes of the same batch. */
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
        if (this.isTaking(entry)) flush();
        this.add(entry, group);
        this.runs.deadLetterAdded(entry.runKey);
        // Without a group, entries are not counted by URL.
        state.entryAdded({ ...entry, workflowUrl: group?.workflowUrl ?? '', fingerprint: group?.fingerprint ?? null });
        if (group) this.groups.entryAdded(entry.instanceId, group, entry.responseStatus, entry.createdAt);
        break;
      }
      case 'take-dead-letter': {
        const entry = state.requireEntry(write.instanceId, write.dlqId);
        const { fingerprint, workflowUrl } = entry;
        this.take(entry, write.became);
        state.entryTaken(entry);
        if (fingerprint !== null)
          this.groups.entryRemoved(entry.instanceId, { fingerprint, workflowUrl }, write.became?.at ?? null);
        this.tasks.delete(entry, CALLBACK_SLOT, false);
        state.taskDeleted(entry.runKey, CALLBACK_SLOT);
        break;
      }
      case 'set-failure-function-state':
        this.setState(state.requireEntry(write.instanceId, write.dlqId), write.state);
        break;
      default:
        write satisfies never;
    }
  }

  private add(entry: DeadLetter, group: FailureGroup | null): void {
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

  /** Returns whether the removal of the entry, or of that of the run, is not sent yet. Another can only be added afterwards. */
  private isTaking({ instanceId, dlqId, runKey }: Pick<KnownEntry, 'instanceId' | 'dlqId' | 'runKey'>): boolean {
    return this.taking.has(runKey) || this.taking.has(`${instanceId}\n${dlqId}`);
  }

  private setState({ instanceId, dlqId }: KnownEntry, state: FailureFunctionState | null): void {
    this.states.set(`${instanceId}\n${dlqId}`, { instance_id: instanceId, dlq_id: dlqId, state });
  }

  /** Takes an entry from the queue. `became` is null if the entry is deleted. */
  private take(
    { instanceId, dlqId, runKey }: KnownEntry,
    became: { readonly kind: string; readonly runKey: string } | null,
  ): void {
    this.takes.push({
      instance_id: instanceId,
      dlq_id: dlqId,
      run_key: runKey,
      became_kind: became?.kind ?? null,
      became_run_key: became?.runKey ?? null,
    });
    this.taking.add(runKey).add(`${instanceId}\n${dlqId}`);
  }

  send(session: TransactionSession): void {
    const states = [...this.states.values()];
    if (this.entries.length > 0) session.send(INSERT, columnArrays(ENTRY, this.entries));
    if (states.length > 0) session.send(SET_STATES, columnArrays(STATE, states));
    if (this.takes.length > 0) session.send(TAKE_OUT, columnArrays(TAKE, this.takes));
    [this.entries, this.takes] = [[], []];
    this.states.clear();
    this.taking.clear();
  }

  sendGroups(session: TransactionSession): void {
    sendGroupChanges(session, this.groups);
  }
}
