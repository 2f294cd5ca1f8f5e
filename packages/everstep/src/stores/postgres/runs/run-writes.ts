/** Writes the rows of runs, their payloads and their ends. */
import type { Run, RunOutcome, RunPayload } from '../../../engine/runs/run.js';
import type { StoreGuard, WriteOf } from '../../../engine/writes.js';
import { storedBytesSql } from '../../../ports/stores/stored-bytes.js';
import { columnList } from '../../records/columns.js';
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
import { addBytesSql, changeAndCountBytesSql } from '../storage/stored-bytes.js';
import { PAYLOAD, RUN, RUN_KEY } from './tables.js';

const NEW_RUN = { ...RUN, claim: 'text' } as const satisfies Columns;
/** Columns of labels. `n` is the number of the run within the statement, starting at 1. */
const LABEL = {
  instance_id: 'text',
  message: 'boolean',
  run_key: 'text',
  label: 'text',
  n: 'integer',
} as const satisfies Columns;
const PAYLOAD_COPY = { ...RUN_KEY, from_instance: 'text', from_key: 'text' } as const satisfies Columns;
const RUN_END = {
  ...RUN_KEY,
  state: 'text',
  completed_at: 'bigint',
  result: 'text',
  error: 'text',
} as const satisfies Columns;

const NEW_RUN_COLUMN_COUNT = Object.keys(NEW_RUN).length;

/** New runs as rows. Active runs are inserted in the order of the index of run ids, so that two batches do not deadlock. */
const NEW_RUNS = `${unnest(NEW_RUN)} WITH ORDINALITY AS u(${columnNames(NEW_RUN)}, n)`;
const NEW_LABELS = `${unnest(LABEL, NEW_RUN_COLUMN_COUNT + 1)} AS l(${columnNames(LABEL)})`;
const INTO_RUN = `INSERT INTO run (${columnNames(RUN)}, place)`;
const INTO_DIRECTORY = 'INSERT INTO run_directory (run_key, instance_id)';
const INTO_LABEL = 'INSERT INTO run_label (instance_id, message, label, run_key, place)';
const LABEL_COLUMNS = 'l.instance_id, l.message, l.label, l.run_key';
const ACTIVE_COLUMNS = 'instance_id, run_key, workflow_run_id, claim, created_at, message, queue';
const INTO_ACTIVE = `INSERT INTO active_run (${ACTIVE_COLUMNS}, place)`;
const IS_NEW_RUN = 'r.instance_id = u.instance_id AND r.run_key = u.run_key';
/** Inserts runs. In the form with several statements, the later ones read the positions that the first one has assigned. */
const INSERT_RUNS = distributableStatement(
  `
  WITH base AS MATERIALIZED (SELECT ${POSITION_BASE} AS place),
  given AS MATERIALIZED (SELECT u.*, base.place + u.n AS place FROM base, ${NEW_RUNS}),
  runs AS (${INTO_RUN} SELECT ${columnNames(RUN)}, place FROM given),
  directory AS (${INTO_DIRECTORY} SELECT run_key, instance_id FROM given),
  labels AS (${INTO_LABEL} SELECT ${LABEL_COLUMNS}, base.place + l.n FROM base, ${NEW_LABELS})
  ${INTO_ACTIVE} SELECT ${ACTIVE_COLUMNS}, place FROM given ORDER BY instance_id, workflow_run_id`,
  [
    `${INTO_RUN} SELECT ${columnList(Object.keys(RUN), 'u')}, base.place + u.n
     FROM (SELECT ${POSITION_BASE} AS place) base, ${NEW_RUNS}`,
    `${INTO_DIRECTORY} SELECT u.run_key, u.instance_id FROM ${NEW_RUNS}`,
    `${INTO_LABEL} SELECT ${LABEL_COLUMNS}, r.place FROM ${NEW_LABELS}
     JOIN run r ON r.instance_id = l.instance_id AND r.run_key = l.run_key`,
    `${INTO_ACTIVE} SELECT ${columnList(ACTIVE_COLUMNS.split(', '), 'u')}, r.place FROM ${NEW_RUNS} JOIN run r ON ${IS_NEW_RUN}
     ORDER BY u.instance_id, u.workflow_run_id`,
  ],
);

const INSERT_PAYLOADS = tableWrite('payload', insertInto('payload', PAYLOAD));
/** Payloads to copy. If the source is missing, the NOT NULL constraints reject the row. */
const COPIED_PAYLOADS = `${unnest(PAYLOAD_COPY)} AS c(${columnNames(PAYLOAD_COPY)})`;
const INSERT_COPIED_PAYLOADS = `
  INSERT INTO payload (${columnNames(PAYLOAD)})
  SELECT c.instance_id, c.run_key, p.content_type, p.forward_headers, p.body
  FROM ${COPIED_PAYLOADS} LEFT JOIN payload p ON p.instance_id = c.from_instance AND p.run_key = c.from_key`;
const COPY_PAYLOADS = distributableStatement(
  changeAndCountBytesSql(
    `${INSERT_COPIED_PAYLOADS} RETURNING payload.instance_id, ${storedBytesSql('payload', 'payload')} AS bytes`,
  ),
  [
    INSERT_COPIED_PAYLOADS,
    addBytesSql(`(SELECT p.instance_id, ${storedBytesSql('payload', 'p')} AS bytes FROM ${COPIED_PAYLOADS}
    JOIN payload p ON p.instance_id = c.instance_id AND p.run_key = c.run_key) copied`),
  ],
);
const END_RUNS = statement(`
  WITH gone AS (
    DELETE FROM active_run a USING ${unnest(RUN_END)} AS g(${columnNames(RUN_END)})
    WHERE a.instance_id = g.instance_id AND a.run_key = g.run_key
    RETURNING ${Object.keys(RUN_END)
      .map((name) => `g.${name}`)
      .join(', ')}, a.place, a.created_at, a.message
  )
  INSERT INTO ended_run (${columnNames(RUN_END)}, place, created_at, message) SELECT ${columnNames(RUN_END)}, place, created_at, message FROM gone`);
const VERSION_CHANGE = { ...RUN_KEY, version: 'bigint' } as const satisfies Columns;
const UPDATE_VERSIONS = statement(`
  UPDATE active_run a SET version = m.version FROM ${unnest(VERSION_CHANGE)} AS m(${columnNames(VERSION_CHANGE)})
  WHERE a.instance_id = m.instance_id AND a.run_key = m.run_key`);
const FORKED_RUN = { ...RUN_KEY, from_key: 'text' } as const satisfies Columns;
/** Marks forks. This is a separate statement, because few runs need it. */
const MARK_FORKS = statement(`
  UPDATE run r SET forked_from_run_key = f.from_key FROM ${unnest(FORKED_RUN)} AS f(${columnNames(FORKED_RUN)})
  WHERE r.instance_id = f.instance_id AND r.run_key = f.run_key`);
const SETTINGS_CHANGE = { ...RUN_KEY, settings: 'text' } as const satisfies Columns;
const UPDATE_SETTINGS = statement(`
  UPDATE run r SET settings = s.settings FROM ${unnest(SETTINGS_CHANGE)} AS s(${columnNames(SETTINGS_CHANGE)})
  WHERE r.instance_id = s.instance_id AND r.run_key = s.run_key`);
const INSERT_FAILURE_FUNCTIONS = statement(`${insertInto('failure_function', RUN_KEY)} ON CONFLICT DO NOTHING`);

/** Value of `claim` for a run that must be the only active one with its id. */
export const SOLE_CLAIM = '';

type CreateRun = Extract<WriteOf<'run'>, { readonly kind: 'create-run' }>;

export class RunWrites implements Applier<WriteOf<'run'>> {
  private runs: RowOf<typeof NEW_RUN>[] = [];
  private labels: RowOf<typeof LABEL>[] = [];
  private payloads: RowOf<typeof PAYLOAD>[] = [];
  private payloadCopies: RowOf<typeof PAYLOAD_COPY>[] = [];
  private readonly ends = new Map<string, RowOf<typeof RUN_END>>();
  /** Instance id and run id of each run in `ends`. */
  private readonly endedIds = new Set<string>();
  private failureFunctions: RowOf<typeof RUN_KEY>[] = [];
  private forks: RowOf<typeof FORKED_RUN>[] = [];
  private settingsChanges: RowOf<typeof SETTINGS_CHANGE>[] = [];
  private readonly newVersions = new Map<string, RowOf<typeof VERSION_CHANGE>>();

  apply(write: WriteOf<'run'>, batch: BatchContext, guards: readonly StoreGuard[]): void {
    switch (write.kind) {
      case 'create-run':
        this.createRun(write, batch, guards);
        break;
      case 'note-failure-function':
        this.recordFailureFunction(batch.state.requireRun(write.runKey));
        break;
      case 'note-introduction': {
        const { instanceId, runKey } = batch.state.requireRun(write.runKey);
        this.settingsChanges.push({ instance_id: instanceId, run_key: runKey, settings: JSON.stringify(write.settings) });
        break;
      }
      case 'end-run': {
        const run = batch.state.endRun(write.runKey);
        this.endRun(run, write.outcome, write.completedAt);
        this.endedIds.add(`${run.instanceId}\n${run.workflowRunId}`);
        break;
      }
      default:
        write satisfies never;
    }
  }

  private createRun({ run, input }: CreateRun, { state, flush }: BatchContext, guards: readonly StoreGuard[]): void {
    const { instanceId, key, workflowRunId, createdAt, status } = run;
    if (status !== 'active') throw new Error(`cannot create the run ${key} with the status ${status}`);
    const isSole = guards.some(
      (guard) => guard.kind === 'run-id-free' && guard.instanceId === instanceId && guard.workflowRunId === workflowRunId,
    );
    const source = 'copyOf' in input ? state.requireRun(input.copyOf) : input;
    // The end of the previous run with this id must be written first.
    if (this.endedIds.has(`${instanceId}\n${workflowRunId}`)) flush();
    this.insertRun(run, source, isSole);
    const message = run.settings.message ?? null;
    const newRun = { instanceId, runKey: key, workflowRunId, isActive: true, version: 0, mayHaveWaiters: false, isNew: true };
    state.createRun({ ...newRun, queue: message?.queue ?? null }, createdAt, message !== null);
  }

  /** Inserts a run. `isSole` is true if the unit requires that no other run with the id is active. */
  private insertRun(run: Run, input: RunPayload | RunInInstance, isSole: boolean): void {
    const { instanceId, key, settings, origin } = run;
    const { message } = settings;
    this.runs.push({
      instance_id: instanceId,
      run_key: key,
      created_at: run.createdAt,
      workflow_run_id: run.workflowRunId,
      dialect: run.dialect,
      workflow_url: run.workflowUrl,
      caller_ip: run.callerIp,
      flow_key: settings.flowControl?.key ?? null,
      invoked_by_run_key: origin?.kind === 'invoke' ? origin.runKey : null,
      message: message !== undefined,
      queue: message?.queue ?? null,
      url_group: message?.urlGroup ?? null,
      schedule_id: message?.scheduleId ?? null,
      origin: origin && JSON.stringify(origin),
      settings: JSON.stringify(settings),
      claim: isSole ? SOLE_CLAIM : key,
    });
    for (const label of new Set(settings.labels)) {
      this.labels.push({
        instance_id: instanceId,
        message: message !== undefined,
        run_key: key,
        label,
        n: this.runs.length,
      });
    }
    if (origin?.kind === 'fork') this.forks.push({ instance_id: instanceId, run_key: key, from_key: origin.runKey });
    if (run.hasFailureFunction) this.recordFailureFunction({ instanceId, runKey: key });
    if ('runKey' in input) {
      this.payloadCopies.push({ instance_id: instanceId, run_key: key, from_instance: input.instanceId, from_key: input.runKey });
      return;
    }
    this.payloads.push({
      instance_id: instanceId,
      run_key: key,
      content_type: input.contentType,
      forward_headers: JSON.stringify(input.forwardHeaders),
      body: input.body,
    });
  }

  private recordFailureFunction({ instanceId, runKey }: RunInInstance): void {
    this.failureFunctions.push({ instance_id: instanceId, run_key: runKey });
  }

  /** Updates the version of an active run. */
  moveRun({ instanceId, runKey }: RunInInstance, version: number): void {
    this.newVersions.set(runKey, { instance_id: instanceId, run_key: runKey, version });
  }

  private endRun({ instanceId, runKey }: RunInInstance, outcome: RunOutcome, completedAt: number): void {
    this.ends.set(runKey, {
      instance_id: instanceId,
      run_key: runKey,
      state: outcome.status,
      completed_at: completedAt,
      result: outcome.status === 'succeeded' ? outcome.result : null,
      error: outcome.status === 'failed' ? outcome.error : null,
    });
  }

  /** Records that the run has a dead letter, if its end is not sent yet. */
  markDeadLetter(runKey: string): void {
    const end = this.ends.get(runKey);
    if (end) this.ends.set(runKey, { ...end, state: 'deadLetter' });
  }

  sendCreated(session: TransactionSession): void {
    const { runs, labels, failureFunctions } = this;
    if (runs.length > 0) session.send(INSERT_RUNS, [...columnArrays(NEW_RUN, runs), ...columnArrays(LABEL, labels)]);
    if (this.forks.length > 0) session.send(MARK_FORKS, columnArrays(FORKED_RUN, this.forks));
    if (this.settingsChanges.length > 0) session.send(UPDATE_SETTINGS, columnArrays(SETTINGS_CHANGE, this.settingsChanges));
    if (failureFunctions.length > 0) session.send(INSERT_FAILURE_FUNCTIONS, columnArrays(RUN_KEY, failureFunctions));
    [this.runs, this.labels, this.failureFunctions, this.forks, this.settingsChanges] = [[], [], [], [], []];
  }

  sendPayloads(session: TransactionSession): void {
    if (this.payloads.length > 0) session.sendJoined(INSERT_PAYLOADS, columnArrays(PAYLOAD, this.payloads));
    if (this.payloadCopies.length > 0) session.send(COPY_PAYLOADS, columnArrays(PAYLOAD_COPY, this.payloadCopies));
    [this.payloads, this.payloadCopies] = [[], []];
  }

  sendEnds(session: TransactionSession): void {
    // An ended run has no row with a version.
    for (const runKey of this.ends.keys()) this.newVersions.delete(runKey);
    if (this.newVersions.size > 0) session.send(UPDATE_VERSIONS, columnArrays(VERSION_CHANGE, [...this.newVersions.values()]));
    this.newVersions.clear();
    if (this.ends.size > 0) session.send(END_RUNS, columnArrays(RUN_END, [...this.ends.values()]));
    this.ends.clear();
    this.endedIds.clear();
  }
}
