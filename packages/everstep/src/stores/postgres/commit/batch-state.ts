/**
 * The state that the guards and writes of a batch depend on. It is read and locked once for all units, and then updated with the
 * writes of each unit for the units that follow.
 *
 * Rows are locked in one order, by table and by key within a table, so that batches of several processes wait for each other
 * and do not deadlock. A read after a lock sees what the previous holder of the lock wrote.
 * Keeps invariants 6 and 22.
 */
import type { Task } from '../../../engine/runs/run.js';
import type { CommitResult, CommitUnit, RunReference, StoreGuard } from '../../../engine/writes.js';
import { flag, integer, integerOrNull, type Row, text, textOrNull } from '../connection/columns.js';
import {
  distributableStatement,
  type SqlValue,
  type Statement,
  statement,
  type TransactionSession,
  VersionConflictError,
} from '../connection/connection.js';
import { type Columns, columnArrays, columnNames, unnest } from '../connection/row-sets.js';
import { lockNextTicks } from '../control/schedule-records.js';
import { lockRepairs } from '../repairs/repairs.js';
import { type DeduplicationId, deduplicationKeyOf, type LockedIds, lockDeduplicationIds } from '../runs/deduplication-ids.js';
import { RUN_KEY } from '../runs/tables.js';
import { type ControlledWrite, ControlState } from './control-state.js';
import type { BatchDeadLetter, BatchRun, ExpectedRuns, RunInInstance } from './known-run.js';
import { type LockSet, scopedKey } from './lock-set.js';

const RUN_ID = { instance_id: 'text', workflow_run_id: 'text' } as const satisfies Columns;
const DEAD_LETTER_ID = { instance_id: 'text', dlq_id: 'text' } as const satisfies Columns;
const SLOT = { ...RUN_KEY, slot: 'integer' } as const satisfies Columns;
const VERSION_CHANGE = { ...RUN_KEY, expected_version: 'bigint', version: 'bigint' } as const satisfies Columns;
const CHILD = { child_instance: 'text', child_key: 'text' } as const satisfies Columns;

const lockRunsSql = (runsSql: string) => `
  SELECT a.instance_id, a.run_key, a.workflow_run_id, a.version, a.queue
  FROM ${runsSql} JOIN active_run a ON a.instance_id = u.instance_id AND a.run_key = u.run_key
  ORDER BY a.instance_id, a.run_key FOR NO KEY UPDATE OF a`;
const LOCK_RUNS = statement(lockRunsSql(`${unnest(RUN_KEY)} AS u(${columnNames(RUN_KEY)})`));
/** Updates versions, which also locks the runs. Skips runs that are not active or do not have the expected version. */
const UPDATE_EXPECTED_VERSIONS = statement(`
  UPDATE active_run a SET version = m.version FROM ${unnest(VERSION_CHANGE)} AS m(${columnNames(VERSION_CHANGE)})
  WHERE a.instance_id = m.instance_id AND a.run_key = m.run_key AND a.version = m.expected_version`);
/** The runs of the batch, and the runs whose tasks wait for the end of a child. A run and its child are in the same instance. */
const RUNS_AND_INVOKERS = `(
  SELECT * FROM ${unnest(RUN_KEY)} AS n(${columnNames(RUN_KEY)})
  UNION SELECT t.instance_id, t.run_key FROM ${unnest(CHILD, Object.keys(RUN_KEY).length + 1)} AS c(${columnNames(CHILD)})
  JOIN task t ON t.instance_id = c.child_instance AND t.child_run_key = c.child_key) u`;
/** The form for distributed tables also compares the instance outside the UNION, where the planner finds it. */
const LOCK_RUNS_AND_INVOKERS = distributableStatement(lockRunsSql(RUNS_AND_INVOKERS), [
  lockRunsSql(`${RUNS_AND_INVOKERS} JOIN unnest($1::text[]) AS i(instance_id) ON i.instance_id = u.instance_id`).replace(
    'a.instance_id = u.instance_id AND',
    'a.instance_id = i.instance_id AND a.instance_id = u.instance_id AND',
  ),
]);
/** The clock that assigns positions to new messages in queues. */
const NOW = statement('SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now');
const FROM_RUNS = `FROM ${unnest(RUN_KEY)} AS u(${columnNames(RUN_KEY)})
  JOIN run r ON r.instance_id = u.instance_id AND r.run_key = u.run_key`;
/** Locks these runs, so that a transaction that removes them waits. */
const LOCK_PRESENT_RUNS = statement(`SELECT r.run_key ${FROM_RUNS} ORDER BY r.instance_id, r.run_key FOR KEY SHARE OF r`);
const READ_RUNS = statement(`
  SELECT r.instance_id, r.run_key, EXISTS (
    SELECT 1 FROM waiter w WHERE w.instance_id = u.instance_id AND w.run_key = u.run_key) AS waits
  ${FROM_RUNS}`);
const READ_REFERENCES = statement(`SELECT r.run_key, r.workflow_run_id, r.created_at ${FROM_RUNS}`);
const READ_ACTIVE_IDS = statement(`
  SELECT a.instance_id, a.workflow_run_id, a.run_key, a.created_at
  FROM ${unnest(RUN_ID)} AS u(${columnNames(RUN_ID)})
  JOIN active_run a ON a.instance_id = u.instance_id AND a.workflow_run_id = u.workflow_run_id AND NOT a.message
  ORDER BY a.place`);
const LOCK_TASKS = statement(`
  SELECT t.run_key, t.slot, t.message_id, t.retried FROM ${unnest(SLOT)} AS u(${columnNames(SLOT)})
  JOIN task t ON t.instance_id = u.instance_id AND t.run_key = u.run_key AND t.slot = u.slot
  ORDER BY t.run_key, t.slot FOR UPDATE OF t`);
const LOCK_DEAD_LETTERS = statement(`
  SELECT e.instance_id, e.dlq_id, e.run_key, e.workflow_url, e.fingerprint
  FROM ${unnest(DEAD_LETTER_ID)} AS u(${columnNames(DEAD_LETTER_ID)})
  JOIN dead_letter e ON e.instance_id = u.instance_id AND e.dlq_id = u.dlq_id
  ORDER BY e.instance_id, e.dlq_id FOR UPDATE OF e`);

const referenceOf = (row: Row): RunReference => ({
  runKey: text(row, 'run_key'),
  workflowRunId: text(row, 'workflow_run_id'),
  createdAt: integer(row, 'created_at'),
});

/** A batch, its lock set, and the instances of the existing runs in it. */
export interface LockedBatch {
  readonly units: readonly CommitUnit[];
  readonly locks: LockSet;
  readonly instances: ReadonlyMap<string, string>;
}

const knownDeadLetterOf = (row: Row): BatchDeadLetter => ({
  instanceId: text(row, 'instance_id'),
  dlqId: text(row, 'dlq_id'),
  runKey: text(row, 'run_key'),
  workflowUrl: text(row, 'workflow_url'),
  fingerprint: textOrNull(row, 'fingerprint'),
});

/** The part of an open task that guards compare. */
type OpenTask = Pick<Task, 'slot' | 'messageId'> & { readonly retried?: number | null };

const openTaskOf = (row: Row): OpenTask => ({
  slot: integer(row, 'slot'),
  messageId: text(row, 'message_id'),
  retried: integerOrNull(row, 'retried'),
});

/** Compares two runs by the order in which their rows are locked. */
const compareKeys = (a: RunInInstance, b: RunInInstance): number =>
  scopedKey(a.instanceId, a.runKey) < scopedKey(b.instanceId, b.runKey) ? -1 : 1;

const NO_ROWS = Promise.resolve<readonly Row[]>([]);

export class BatchState {
  /** Instance ids of the runs that existed before the batch, by run key. */
  private readonly instances: ReadonlyMap<string, string>;
  private readonly runs = new Map<string, BatchRun>();
  /** Runs that the batch created, and those that deduplication ids refer to. */
  private readonly references = new Map<string, RunReference>();
  /** The active runs of each id, oldest first. */
  private readonly activeIds = new Map<string, RunReference[]>();
  private readonly deadLetters = new Map<string, BatchDeadLetter>();
  /** The open tasks in the lock set, by run and then slot. */
  private readonly tasks = new Map<string, Map<number, OpenTask>>();
  private readonly schedules = new Map<string, number | null>();
  private readonly repairs = new Map<string, number>();
  private deduplication: LockedIds = { existingKeys: new Set(), takenIds: new Map() };
  private controls = new ControlState();
  /** Runs whose rows already have the versions after the batch. */
  private readonly expectedRuns: ExpectedRuns;
  /** Unix ms by the clock of the database; null if the batch does not need it. */
  databaseNow: number | null = null;

  private constructor(instances: ReadonlyMap<string, string>, expectedRuns: ExpectedRuns = new Map()) {
    this.instances = instances;
    this.expectedRuns = expectedRuns;
    for (const [runKey, { run }] of expectedRuns) this.runs.set(runKey, run);
  }

  /**
   * Creates the state of a batch that only creates runs and decides on the expected runs. Updates the expected runs to their
   * versions after the batch, and reads only which run ids are taken. Throws VersionConflictError if a run does not have its
   * expected version.
   */
  static async expect(
    session: TransactionSession,
    { locks, instances }: LockedBatch,
    expectedRuns: ExpectedRuns,
  ): Promise<BatchState> {
    const state = new BatchState(instances, expectedRuns);
    const versionChanges = [...expectedRuns.values()]
      .sort((a, b) => compareKeys(a.run, b.run))
      .map(({ run, version }) => ({ instance_id: run.instanceId, run_key: run.runKey, expected_version: run.version, version }));
    const [updatedCount, takenIds] = await Promise.all([
      versionChanges.length === 0 ? 0 : session.execute(UPDATE_EXPECTED_VERSIONS, columnArrays(VERSION_CHANGE, versionChanges)),
      locks.runIds.size === 0 ? NO_ROWS : session.query(READ_ACTIVE_IDS, columnArrays(RUN_ID, [...locks.runIds.values()])),
    ]);
    if (updatedCount < versionChanges.length) throw new VersionConflictError('a run does not have its expected version');
    for (const row of takenIds) state.takeRunId(text(row, 'instance_id'), referenceOf(row));
    return state;
  }

  /** Creates the state of any batch: reads and locks everything in its lock set, in one round trip. */
  static async read(session: TransactionSession, { units, locks, instances }: LockedBatch): Promise<BatchState> {
    const queryIfAny = (keys: { readonly size: number }, lockOrRead: Statement, values: () => readonly SqlValue[]) =>
      keys.size === 0 ? NO_ROWS : session.query(lockOrRead, values());
    /** Returns the keys of the runs with their instances, without runs that never existed. */
    const keysOf = (runKeys: Iterable<string>) =>
      [...runKeys].flatMap((run_key) => {
        const instance_id = instances.get(run_key);
        return instance_id === undefined ? [] : [{ instance_id, run_key }];
      });
    const runColumns = columnArrays(RUN_KEY, keysOf(locks.runs));
    // The statements are sent in this order: first the locks, then the reads that must see what the locks protect.
    const responses = {
      repairs: locks.repairs.size === 0 ? [] : lockRepairs(session, [...locks.repairs.values()]),
      active:
        locks.children.size > 0
          ? session.query(LOCK_RUNS_AND_INVOKERS, [...runColumns, ...columnArrays(RUN_KEY, keysOf(locks.children))])
          : queryIfAny(locks.runs, LOCK_RUNS, () => runColumns),
      entries: queryIfAny(locks.deadLetters, LOCK_DEAD_LETTERS, () =>
        columnArrays(DEAD_LETTER_ID, [...locks.deadLetters.values()]),
      ),
      // After the dead letters: whether a slot is free depends on tasks that another holder of that lock has put.
      tasks: queryIfAny(locks.slots, LOCK_TASKS, () =>
        columnArrays(
          SLOT,
          [...locks.slots.values()].flatMap(({ run_key, slot }) => keysOf([run_key]).map((run) => ({ ...run, slot }))),
        ),
      ),
      deduplication:
        locks.deduplicationIds.size === 0 ? null : lockDeduplicationIds(session, [...locks.deduplicationIds.values()]),
      controls: ControlState.read(session, units),
      ticks: locks.schedules.size === 0 ? [] : lockNextTicks(session, [...locks.schedules.values()]),
      present: queryIfAny(locks.presentRuns, LOCK_PRESENT_RUNS, () => columnArrays(RUN_KEY, keysOf(locks.presentRuns))),
      runs: queryIfAny(locks.runs, READ_RUNS, () => runColumns),
      activeIds: queryIfAny(locks.runIds, READ_ACTIVE_IDS, () => columnArrays(RUN_ID, [...locks.runIds.values()])),
      references: queryIfAny(locks.rememberedRuns, READ_REFERENCES, () => columnArrays(RUN_KEY, keysOf(locks.rememberedRuns))),
      time: locks.hasQueuedMessage ? session.query(NOW, []) : NO_ROWS,
    };
    // If one statement fails, the following ones fail too.
    await Promise.all(Object.values(responses));

    const state = new BatchState(instances);
    const [clockRow] = await responses.time;
    if (clockRow) state.databaseNow = integer(clockRow, 'now');
    for (const row of await responses.runs) state.addRun(row);
    for (const row of await responses.active) state.markActive(row);
    for (const row of await responses.tasks) state.putTask(text(row, 'run_key'), openTaskOf(row));
    for (const row of await responses.entries) state.addDeadLetter(knownDeadLetterOf(row));
    for (const row of await responses.activeIds) state.takeRunId(text(row, 'instance_id'), referenceOf(row));
    for (const row of await responses.references) state.references.set(text(row, 'run_key'), referenceOf(row));
    state.deduplication = (await responses.deduplication) ?? state.deduplication;
    state.controls = await responses.controls;
    const ticks = await responses.ticks;
    for (const [index, key] of [...locks.schedules.keys()].entries()) {
      const tick = ticks[index];
      if (tick !== undefined) state.schedules.set(key, tick);
    }
    for (const { instanceId, repairId, version } of await responses.repairs)
      state.repairs.set(scopedKey(instanceId, repairId), version);
    return state;
  }

  /** All runs that the batch has read or created, in their state after the batch. */
  get allRuns(): Iterable<BatchRun> {
    return this.runs.values();
  }

  /** Deduplication ids that have a row, including expired ones. */
  get deduplicationRows(): Set<string> {
    return this.deduplication.existingKeys;
  }

  /** Returns the result for a guard that does not hold; null if it holds. */
  refusalOf(guard: StoreGuard): CommitResult | null {
    switch (guard.kind) {
      case 'run-active':
        return this.refusalOfRun(guard);
      case 'run-present':
        return this.runs.has(guard.runKey) ? null : { kind: 'run-gone' };
      case 'run-id-free': {
        const run = this.activeIds.get(scopedKey(guard.instanceId, guard.workflowRunId))?.at(-1);
        return run ? { kind: 'run-id-taken', run } : null;
      }
      case 'dead-letters-present': {
        const dlqIds = guard.dlqIds.filter((dlqId) => !this.deadLetters.has(scopedKey(guard.instanceId, dlqId)));
        return dlqIds.length === 0 ? null : { kind: 'dead-letters-missing', dlqIds };
      }
      case 'not-duplicate': {
        const takenId = this.deduplication.takenIds.get(deduplicationKeyOf(guard));
        return takenId && takenId.expiresAt > guard.now ? { kind: 'duplicate', run: takenId.run } : null;
      }
      case 'task-open':
        return this.isTaskOpen(guard) ? null : { kind: 'task-gone' };
      case 'slot-free':
        return this.tasks.get(guard.runKey)?.has(guard.slot) ? { kind: 'slot-taken' } : null;
      case 'schedule-due':
        return this.schedules.get(scopedKey(guard.instanceId, guard.scheduleId)) === guard.nextAt
          ? null
          : { kind: 'schedule-moved' };
      case 'repair-at':
        return this.repairs.get(scopedKey(guard.instanceId, guard.repairId)) === guard.version ? null : { kind: 'repair-moved' };
      case 'queue-unchanged':
      case 'url-group-unchanged':
      case 'schedule-unchanged':
      case 'schedules-below':
        return this.controls.refusalOf(guard);
    }
  }

  /** Records a write to a queue, URL group or schedule. */
  recordControlWrite(write: ControlledWrite): void {
    this.controls.recordWrite(write);
    if (write.kind === 'put-schedule') {
      const { instanceId, scheduleId, nextAt } = write.schedule;
      this.schedules.set(scopedKey(instanceId, scheduleId), nextAt);
    } else if (write.kind === 'delete-schedule') this.schedules.delete(scopedKey(write.instanceId, write.scheduleId));
  }

  private isTaskOpen({ runKey, slot, messageId, retried }: Extract<StoreGuard, { kind: 'task-open' }>): boolean {
    const task = this.tasks.get(runKey)?.get(slot);
    return task?.messageId === messageId && (retried === undefined || task.retried === retried);
  }

  private refusalOfRun({ runKey, version }: Extract<StoreGuard, { kind: 'run-active' }>): CommitResult | null {
    const run = this.runs.get(runKey);
    if (!run?.isActive) return { kind: 'run-not-active' };
    return version === undefined || version === run.version ? null : { kind: 'run-moved' };
  }

  /** Sets the version of a run after an applied unit. Returns the run if its row must be updated, otherwise null. */
  moveRun(runKey: string, version: number): BatchRun | null {
    const run = this.requireRun(runKey);
    run.version = version;
    return run.isActive && !this.expectedRuns.has(runKey) ? run : null;
  }

  /** Returns the run. Throws if it does not exist, because the write that names it is then faulty. */
  requireRun(runKey: string): BatchRun {
    const run = this.runs.get(runKey);
    if (!run) throw new Error(`there is no run with the key ${runKey}`);
    return run;
  }

  /** Returns the instance of the run; null if there never was such a run. */
  instanceOf(runKey: string): string | null {
    return this.runs.get(runKey)?.instanceId ?? this.instances.get(runKey) ?? null;
  }

  requireDeadLetter(instanceId: string, dlqId: string): BatchDeadLetter {
    const entry = this.deadLetters.get(scopedKey(instanceId, dlqId));
    if (!entry) throw new Error(`there is no dead letter ${dlqId}`);
    return entry;
  }

  /** Returns whether the batch has read or created the run, and the run is no longer active. */
  hasEnded(runKey: string): boolean {
    return this.runs.get(runKey)?.isActive === false;
  }

  /** Records a new run. `isMessage` is true for a message, which is not found by its run id. */
  createRun(run: BatchRun, createdAt: number, isMessage: boolean): void {
    if (this.runs.has(run.runKey)) throw new Error(`a run with the key ${run.runKey} already exists`);
    this.runs.set(run.runKey, run);
    const reference = { runKey: run.runKey, workflowRunId: run.workflowRunId, createdAt };
    this.references.set(run.runKey, reference);
    if (!isMessage) this.takeRunId(run.instanceId, reference);
  }

  /** Records the end of the run. Throws if it has already ended: a late write must not overwrite the outcome. */
  endRun(runKey: string): BatchRun {
    const run = this.requireRun(runKey);
    if (!run.isActive) throw new Error(`the run ${runKey} has already ended`);
    run.isActive = false;
    const key = scopedKey(run.instanceId, run.workflowRunId);
    const remainingRuns = this.activeIds.get(key)?.filter((reference) => reference.runKey !== runKey);
    if (remainingRuns) this.activeIds.set(key, remainingRuns);
    return run;
  }

  addDeadLetter(entry: BatchDeadLetter): void {
    this.deadLetters.set(scopedKey(entry.instanceId, entry.dlqId), entry);
  }

  removeDeadLetter({ instanceId, dlqId }: BatchDeadLetter): void {
    this.deadLetters.delete(scopedKey(instanceId, dlqId));
  }

  putTask(runKey: string, task: OpenTask): void {
    const slots = this.tasks.get(runKey);
    if (slots) slots.set(task.slot, task);
    else this.tasks.set(runKey, new Map([[task.slot, task]]));
  }

  deleteTask(runKey: string, slot: number): void {
    this.tasks.get(runKey)?.delete(slot);
  }

  deleteTasks(runKey: string): void {
    this.tasks.delete(runKey);
  }

  /** Records that the run has taken the deduplication id. Throws if the run does not exist. */
  takeDeduplicationId(id: DeduplicationId, runKey: string, expiresAt: number): void {
    const run = this.references.get(runKey);
    if (!run) throw new Error(`there is no run with the key ${runKey}`);
    this.deduplication.takenIds.set(deduplicationKeyOf(id), { run, expiresAt });
  }

  private takeRunId(instanceId: string, run: RunReference): void {
    const key = scopedKey(instanceId, run.workflowRunId);
    const runs = this.activeIds.get(key);
    if (runs) runs.push(run);
    else this.activeIds.set(key, [run]);
  }

  private addRun(row: Row): void {
    const runKey = text(row, 'run_key');
    const instanceId = text(row, 'instance_id');
    const mayHaveWaiters = flag(row, 'waits');
    this.runs.set(runKey, {
      instanceId,
      runKey,
      isActive: false,
      workflowRunId: '',
      version: 0,
      queue: null,
      mayHaveWaiters,
      isNew: false,
    });
  }

  private markActive(row: Row): void {
    const run = this.runs.get(text(row, 'run_key'));
    if (!run) return;
    run.isActive = true;
    run.workflowRunId = text(row, 'workflow_run_id');
    run.version = integer(row, 'version');
    run.queue = textOrNull(row, 'queue');
  }
}
