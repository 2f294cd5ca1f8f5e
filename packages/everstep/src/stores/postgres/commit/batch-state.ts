/**
 * What the guards of a batch ask for and its writes build on: read and locked once for all of its units, and then kept
 * true to what the units before have written.
 *
 * Rows are locked in one order, kind by kind and by key within a kind, so that batches of several processes wait for
 * each other instead of blocking each other. What is read after a lock is what its last holder left.
 * Keeps invariants 6 and 22.
 */

import type { CommitResult, CommitUnit, RunReference, StoreGuard, StoreWrite } from '../../../ports/stores/store.js';
import { flag, integer, type Row, text, textOrNull } from '../connection/columns.js';
import { MistakenError, type SqlValue, type Statement, statement, type TransactionSession } from '../connection/connection.js';
import { type Columns, columnArrays, names, unnest } from '../connection/row-sets.js';
import { lockNextTicks } from '../control/schedule-records.js';
import type { EntryPlace } from '../dead-letters/dead-letter-writes.js';
import { lockRepairs } from '../repairs/repair-records.js';
import { type DeduplicationId, keyOf, type LockedIds, lockDeduplicationIds } from '../runs/deduplication-writes.js';
import type { RunPlace } from '../runs/run-writes.js';
import type { AssumedRuns } from './assumptions.js';
import { type BatchNames, pairOf } from './batch-names.js';
import { ControlState } from './control-state.js';

const RUN_ID = { instance_id: 'text', workflow_run_id: 'text' } as const satisfies Columns;
const ENTRY = { instance_id: 'text', dlq_id: 'text' } as const satisfies Columns;
const RUN = { instance_id: 'text', run_key: 'text' } as const satisfies Columns;
const SLOT = { ...RUN, slot: 'integer' } as const satisfies Columns;
const MOVE = { ...RUN, was: 'bigint', version: 'bigint' } as const satisfies Columns;
const CHILD = { child_instance: 'text', child_key: 'text' } as const satisfies Columns;

const lockRuns = (wanted: string) =>
  statement(`
  SELECT a.instance_id, a.run_key, a.workflow_run_id, a.version, a.queue
  FROM ${wanted} u JOIN active_run a ON a.instance_id = u.instance_id AND a.run_key = u.run_key
  ORDER BY a.instance_id, a.run_key FOR NO KEY UPDATE OF a`);
const LOCK_RUNS = lockRuns(`(SELECT * FROM ${unnest(RUN)} AS n(${names(RUN)}))`);
/** Locks them, too. Leaves alone what is not active, or not at the version at which it should be. */
const MOVE_ASSUMED = statement(`
  UPDATE active_run a SET version = m.version FROM ${unnest(MOVE)} AS m(${names(MOVE)})
  WHERE a.instance_id = m.instance_id AND a.run_key = m.run_key AND a.version = m.was`);
/** With the runs whose tasks wait for the end of others, which are of the same instances. */
const LOCK_RUNS_AND_INVOKERS = lockRuns(`(
  SELECT * FROM ${unnest(RUN)} AS n(${names(RUN)})
  UNION SELECT t.instance_id, t.run_key FROM ${unnest(CHILD, Object.keys(RUN).length + 1)} AS c(${names(CHILD)})
  JOIN task t ON t.instance_id = c.child_instance AND t.child_run_key = c.child_key)`);
/** By this clock what is new in a queue has its place there. */
const NOW = statement('SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now');
const onRuns = `FROM ${unnest(RUN)} AS u(${names(RUN)}) JOIN run r ON r.instance_id = u.instance_id AND r.run_key = u.run_key`;
/** Whoever removes them waits. */
const LOCK_PRESENT = statement(`SELECT r.run_key ${onRuns} ORDER BY r.instance_id, r.run_key FOR KEY SHARE OF r`);
const READ_RUNS = statement(`
  SELECT r.instance_id, r.run_key, EXISTS (
    SELECT 1 FROM waiter w WHERE w.instance_id = r.instance_id AND w.run_key = r.run_key) AS waits
  ${onRuns}`);
const READ_REFERENCES = statement(`SELECT r.run_key, r.workflow_run_id, r.created_at ${onRuns}`);
const READ_ACTIVE_IDS = statement(`
  SELECT a.instance_id, a.workflow_run_id, a.run_key, a.created_at
  FROM ${unnest(RUN_ID)} AS u(${names(RUN_ID)})
  JOIN active_run a ON a.instance_id = u.instance_id AND a.workflow_run_id = u.workflow_run_id AND NOT a.message
  ORDER BY a.place`);
const LOCK_TASKS = statement(`
  SELECT t.run_key, t.slot, t.message_id FROM ${unnest(SLOT)} AS u(${names(SLOT)})
  JOIN task t ON t.instance_id = u.instance_id AND t.run_key = u.run_key AND t.slot = u.slot
  ORDER BY t.run_key, t.slot FOR UPDATE OF t`);
const LOCK_ENTRIES = statement(`
  SELECT e.instance_id, e.dlq_id, e.run_key, e.workflow_url, e.fingerprint FROM ${unnest(ENTRY)} AS u(${names(ENTRY)})
  JOIN dead_letter e ON e.instance_id = u.instance_id AND e.dlq_id = u.dlq_id
  ORDER BY e.instance_id, e.dlq_id FOR UPDATE OF e`);

const referenceOf = (row: Row): RunReference => ({
  runKey: text(row, 'run_key'),
  workflowRunId: text(row, 'workflow_run_id'),
  createdAt: integer(row, 'created_at'),
});

/** A run as far as a batch has to know it. */
export interface KnownRun extends RunPlace {
  active: boolean;
  /** Empty for a run that had ended before the batch: nothing depends on it then. */
  workflowRunId: string;
  /** Of an active run: which decision made its state. */
  version: number;
  /** Of an active message that is in one. */
  queue: string | null;
  waits: boolean;
  /** It was made in the batch. */
  begun: boolean;
}

/** A batch, what it names, and the instances of the runs that it names and that were there before. */
export interface NamedBatch {
  readonly units: readonly CommitUnit[];
  readonly named: BatchNames;
  readonly instances: ReadonlyMap<string, string>;
}

/** In the order in which their rows are locked. */
const byPlace = (a: RunPlace, b: RunPlace): number => (pairOf(a.instanceId, a.runKey) < pairOf(b.instanceId, b.runKey) ? -1 : 1);

const NOTHING = Promise.resolve<readonly Row[]>([]);

export class BatchState {
  /** Of runs that were there before. */
  private readonly instances: ReadonlyMap<string, string>;
  private readonly runs = new Map<string, KnownRun>();
  /** Runs that were begun in the batch, and those that deduplication ids name. */
  private readonly references = new Map<string, RunReference>();
  /** The active runs of an id, oldest first. */
  private readonly activeIds = new Map<string, RunReference[]>();
  private readonly entries = new Map<string, EntryPlace>();
  /** Message ids of open tasks, by run and then slot, of those that guards ask for. */
  private readonly tasks = new Map<string, Map<number, string>>();
  private readonly schedules = new Map<string, number | null>();
  private readonly repairs = new Map<string, number>();
  private deduplication: LockedIds = { present: new Set(), taken: new Map() };
  private controls = new ControlState();
  /** Their rows are at the versions to which the batch brings them. */
  private readonly assumed: AssumedRuns;
  /** Unix ms by the database's clock; null where nothing of the batch goes by it. */
  databaseNow: number | null = null;

  private constructor(instances: ReadonlyMap<string, string>, assumed: AssumedRuns = new Map()) {
    this.instances = instances;
    this.assumed = assumed;
    for (const [runKey, { run }] of assumed) this.runs.set(runKey, run);
  }

  /**
   * For a batch whose units are all decisions on these runs, or beginnings: brings the runs to the versions at which it
   * leaves them, and reads nothing but which ids are taken. Throws MistakenError when one of them is not as it is assumed to be.
   */
  static async assume(session: TransactionSession, { named, instances }: NamedBatch, assumed: AssumedRuns): Promise<BatchState> {
    const state = new BatchState(instances, assumed);
    const moves = [...assumed.values()]
      .sort((a, b) => byPlace(a.run, b.run))
      .map(({ run, version }) => ({ instance_id: run.instanceId, run_key: run.runKey, was: run.version, version }));
    const [moved, taken] = await Promise.all([
      moves.length === 0 ? 0 : session.execute(MOVE_ASSUMED, columnArrays(MOVE, moves)),
      named.runIds.size === 0 ? NOTHING : session.query(READ_ACTIVE_IDS, columnArrays(RUN_ID, [...named.runIds.values()])),
    ]);
    if (moved < moves.length) throw new MistakenError('a run is not as it was left');
    for (const row of taken) state.idTaken(text(row, 'instance_id'), referenceOf(row));
    return state;
  }

  /** Everything in one round trip. */
  static async read(session: TransactionSession, { units, named, instances }: NamedBatch): Promise<BatchState> {
    const ask = (wanted: { readonly size: number }, to: Statement, values: () => readonly SqlValue[]) =>
      wanted.size === 0 ? NOTHING : session.query(to, values());
    /** Of a run that there never was nothing is asked for. */
    const places = (runKeys: Iterable<string>) =>
      [...runKeys].flatMap((run_key) => {
        const instance_id = instances.get(run_key);
        return instance_id === undefined ? [] : [{ instance_id, run_key }];
      });
    const runs = columnArrays(RUN, places(named.runs));
    const repairs = named.repairs.size === 0 ? null : lockRepairs(session, [...named.repairs.values()]);
    const locked =
      named.children.size > 0
        ? session.query(LOCK_RUNS_AND_INVOKERS, [...runs, ...columnArrays(RUN, places(named.children))])
        : ask(named.runs, LOCK_RUNS, () => runs);
    const tasks = ask(named.slots, LOCK_TASKS, () =>
      columnArrays(
        SLOT,
        [...named.slots.values()].flatMap(({ run_key, slot }) => places([run_key]).map((run) => ({ ...run, slot }))),
      ),
    );
    const entries = ask(named.entries, LOCK_ENTRIES, () => columnArrays(ENTRY, [...named.entries.values()]));
    const deduplicationIds = [...named.deduplicationIds.values()];
    const deduplication = deduplicationIds.length > 0 ? lockDeduplicationIds(session, deduplicationIds) : null;
    const schedules = [...named.schedules];
    const controls = ControlState.read(session, units);
    const ticks = schedules.length === 0 ? null : lockNextTicks(session, [...named.schedules.values()]);
    const kept = ask(named.present, LOCK_PRESENT, () => columnArrays(RUN, places(named.present)));
    // Behind all locks.
    const known = ask(named.runs, READ_RUNS, () => runs);
    const activeIds = ask(named.runIds, READ_ACTIVE_IDS, () => columnArrays(RUN_ID, [...named.runIds.values()]));
    const references = ask(named.remembered, READ_REFERENCES, () => columnArrays(RUN, places(named.remembered)));
    const time = named.queued ? session.query(NOW, []) : NOTHING;

    // All at once: when one fails the others do too.
    const answers = await Promise.all([
      known,
      locked,
      tasks,
      entries,
      activeIds,
      references,
      deduplication,
      ticks,
      repairs,
      kept,
      controls,
      time,
    ]);
    const state = new BatchState(instances);
    const [stamp] = answers[11];
    if (stamp) state.databaseNow = integer(stamp, 'now');
    for (const row of answers[0]) state.learnRun(row);
    for (const row of answers[1]) state.learnActive(row);
    for (const row of answers[2]) state.taskPut(text(row, 'run_key'), integer(row, 'slot'), text(row, 'message_id'));
    for (const row of answers[3]) {
      state.entryAdded({
        instanceId: text(row, 'instance_id'),
        dlqId: text(row, 'dlq_id'),
        runKey: text(row, 'run_key'),
        workflowUrl: text(row, 'workflow_url'),
        fingerprint: textOrNull(row, 'fingerprint'),
      });
    }
    for (const row of answers[4]) state.idTaken(text(row, 'instance_id'), referenceOf(row));
    for (const row of answers[5]) state.references.set(text(row, 'run_key'), referenceOf(row));
    if (answers[6]) state.deduplication = answers[6];
    state.controls = answers[10];
    for (const [index, tick] of (answers[7] ?? []).entries()) {
      const key = schedules[index]?.[0];
      if (key !== undefined && tick !== undefined) state.schedules.set(key, tick);
    }
    for (const { instanceId, repairId, version } of answers[8] ?? []) state.repairs.set(pairOf(instanceId, repairId), version);
    return state;
  }

  /** All that the batch had to do with, as it leaves them. */
  get knownRuns(): Iterable<KnownRun> {
    return this.runs.values();
  }

  /** Deduplication ids that have a row, expired ones too. */
  get deduplicationRows(): Set<string> {
    return this.deduplication.present;
  }

  /** Null when the guard holds. */
  refusalOf(guard: StoreGuard): CommitResult | null {
    switch (guard.kind) {
      case 'run-active':
        return this.refusalOfRun(guard);
      case 'run-present':
        return this.runs.has(guard.runKey) ? null : { kind: 'run-gone' };
      case 'run-id-free': {
        const run = this.activeIds.get(pairOf(guard.instanceId, guard.workflowRunId))?.at(-1);
        return run ? { kind: 'run-id-taken', run } : null;
      }
      case 'dead-letters-present': {
        const dlqIds = guard.dlqIds.filter((dlqId) => !this.entries.has(pairOf(guard.instanceId, dlqId)));
        return dlqIds.length === 0 ? null : { kind: 'dead-letters-missing', dlqIds };
      }
      case 'not-duplicate': {
        const taken = this.deduplication.taken.get(keyOf(guard));
        return taken && taken.expiresAt > guard.now ? { kind: 'duplicate', run: taken.run } : null;
      }
      case 'task-open':
        return this.tasks.get(guard.runKey)?.get(guard.slot) === guard.messageId ? null : { kind: 'task-gone' };
      case 'schedule-due':
        return this.schedules.get(pairOf(guard.instanceId, guard.scheduleId)) === guard.nextAt
          ? null
          : { kind: 'schedule-moved' };
      case 'repair-at':
        return this.repairs.get(pairOf(guard.instanceId, guard.repairId)) === guard.version ? null : { kind: 'repair-moved' };
      case 'queue-unchanged':
      case 'url-group-unchanged':
      case 'schedule-unchanged':
      case 'schedules-below':
        return this.controls.refusalOf(guard);
    }
  }

  /** A queue, a group of URLs or a schedule is as this says from now on. */
  controlWritten(write: StoreWrite): void {
    this.controls.note(write);
  }

  private refusalOfRun({ runKey, version }: Extract<StoreGuard, { kind: 'run-active' }>): CommitResult | null {
    const run = this.runs.get(runKey);
    if (!run?.active) return { kind: 'run-not-active' };
    return version === undefined || version === run.version ? null : { kind: 'run-moved' };
  }

  /** A unit that was decided on the run is taken, and made that version of it. Null when nobody has to write that. */
  runMoved(runKey: string, version: number): KnownRun | null {
    const run = this.requireRun(runKey);
    run.version = version;
    return run.active && !this.assumed.has(runKey) ? run : null;
  }

  /** Throws when there is no such run: a write that names it is a fault. */
  requireRun(runKey: string): KnownRun {
    const run = this.runs.get(runKey);
    if (!run) throw new Error(`there is no run with the key ${runKey}`);
    return run;
  }

  /** Null when there never was such a run. */
  instanceOf(runKey: string): string | null {
    return this.runs.get(runKey)?.instanceId ?? this.instances.get(runKey) ?? null;
  }

  requireEntry(instanceId: string, dlqId: string): EntryPlace {
    const entry = this.entries.get(pairOf(instanceId, dlqId));
    if (!entry) throw new Error(`there is no dead letter ${dlqId}`);
    return entry;
  }

  /** Whether a run of that key was there before, and is no more active. */
  hasEnded(runKey: string): boolean {
    return this.runs.get(runKey)?.active === false;
  }

  /** `isMessage`: then it is found under no run id. */
  runCreated(run: KnownRun, createdAt: number, isMessage: boolean): void {
    if (this.runs.has(run.runKey)) throw new Error(`there is a run with the key ${run.runKey} already`);
    this.runs.set(run.runKey, run);
    const reference = { runKey: run.runKey, workflowRunId: run.workflowRunId, createdAt };
    this.references.set(run.runKey, reference);
    if (!isMessage) this.idTaken(run.instanceId, reference);
  }

  /** Throws when it has ended already: a late writer must not overwrite how a run ended. */
  runEnded(runKey: string): KnownRun {
    const run = this.requireRun(runKey);
    if (!run.active) throw new Error(`the run ${runKey} has ended already`);
    run.active = false;
    const key = pairOf(run.instanceId, run.workflowRunId);
    const others = this.activeIds.get(key)?.filter((reference) => reference.runKey !== runKey);
    if (others) this.activeIds.set(key, others);
    return run;
  }

  entryAdded(entry: EntryPlace): void {
    this.entries.set(pairOf(entry.instanceId, entry.dlqId), entry);
  }

  entryTaken({ instanceId, dlqId }: EntryPlace): void {
    this.entries.delete(pairOf(instanceId, dlqId));
  }

  taskPut(runKey: string, slot: number, messageId: string): void {
    const slots = this.tasks.get(runKey);
    if (slots) slots.set(slot, messageId);
    else this.tasks.set(runKey, new Map([[slot, messageId]]));
  }

  taskDeleted(runKey: string, slot: number): void {
    this.tasks.get(runKey)?.delete(slot);
  }

  tasksDeleted(runKey: string): void {
    this.tasks.delete(runKey);
  }

  /** Throws when there is no such run. */
  deduplicationTaken(id: DeduplicationId, runKey: string, expiresAt: number): void {
    const run = this.references.get(runKey);
    if (!run) throw new Error(`there is no run with the key ${runKey}`);
    this.deduplication.taken.set(keyOf(id), { run, expiresAt });
  }

  /** `nextAt` undefined: there is no such schedule any more. */
  scheduleMoved(instanceId: string, scheduleId: string, nextAt: number | null | undefined): void {
    const key = pairOf(instanceId, scheduleId);
    if (nextAt === undefined) this.schedules.delete(key);
    else this.schedules.set(key, nextAt);
  }

  private idTaken(instanceId: string, run: RunReference): void {
    const key = pairOf(instanceId, run.workflowRunId);
    const runs = this.activeIds.get(key);
    if (runs) runs.push(run);
    else this.activeIds.set(key, [run]);
  }

  private learnRun(row: Row): void {
    const runKey = text(row, 'run_key');
    const instanceId = text(row, 'instance_id');
    const waits = flag(row, 'waits');
    this.runs.set(runKey, { instanceId, runKey, active: false, workflowRunId: '', version: 0, queue: null, waits, begun: false });
  }

  private learnActive(row: Row): void {
    const run = this.runs.get(text(row, 'run_key'));
    if (!run) return;
    run.active = true;
    run.workflowRunId = text(row, 'workflow_run_id');
    run.version = integer(row, 'version');
    run.queue = textOrNull(row, 'queue');
  }
}
