/** Finds the row number of a run by its key. Recently used runs are cached in memory. */
import type { StatementSync } from 'node:sqlite';
import { integer, text } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';
import type { RunKind } from '../listing/facets/facets.js';

/** Maximum number of runs in each of two generations. */
const GENERATION_SIZE = 10_000;

export interface RunEntry {
  readonly seq: number;
  readonly tenant: number;
  readonly kind: RunKind;
  readonly isActive: boolean;
  /** Slots with event waiters; null if there are none. They are in memory so that other slots need no statement. */
  waitSlots: Set<number> | null;
  /** Whether the id of every recorded step is one more than its index. False if this is not known. */
  hasStepsInOrder: boolean;
}

export class RunDirectory {
  private readonly select: StatementSync;
  private readonly selectWaitSlots: StatementSync;
  private readonly selectNext: StatementSync;
  private youngEntries = new Map<string, RunEntry>();
  private oldEntries = new Map<string, RunEntry>();

  constructor(connection: Connection) {
    this.select = connection.prepare(
      `SELECT seq, tenant, status, json_extract(settings, '$.message') IS NOT NULL AS is_message,
         EXISTS (SELECT 1 FROM waiter w WHERE w.run_seq = run.seq) AS waits,
         EXISTS (SELECT 1 FROM step s WHERE s.run_seq = run.seq AND s.step_id <> s.idx + 1) AS out_of_order
       FROM run WHERE key = ?`,
    );
    this.selectWaitSlots = connection.prepare('SELECT DISTINCT slot FROM waiter WHERE run_seq = ?');
    this.selectNext = connection.prepare('SELECT seq FROM run WHERE key > ? ORDER BY key LIMIT 1');
  }

  find(runKey: string): RunEntry | null {
    const youngEntry = this.youngEntries.get(runKey);
    if (youngEntry) return youngEntry;
    const entry = this.oldEntries.get(runKey) ?? this.load(runKey);
    if (entry) this.remember(runKey, entry);
    return entry;
  }

  /** Returns the run. Throws if it does not exist, because the write that refers to it is then invalid. */
  require(runKey: string): RunEntry {
    const entry = this.find(runKey);
    if (!entry) throw new Error(`there is no run with the key ${runKey}`);
    return entry;
  }

  remember(runKey: string, entry: RunEntry): void {
    if (this.youngEntries.size >= GENERATION_SIZE) {
      this.oldEntries = this.youngEntries;
      this.youngEntries = new Map();
    }
    this.youngEntries.set(runKey, entry);
  }

  /** Returns the row number of the run; for an unknown key, a number after all runs with smaller keys. */
  rowNumberOf(runKey: string): number {
    const entry = this.find(runKey);
    if (entry) return entry.seq;
    const row = this.selectNext.get(runKey);
    return row ? integer(row, 'seq') - 0.5 : Number.MAX_SAFE_INTEGER;
  }

  /** Forgets a removed run. */
  drop(runKey: string): void {
    this.youngEntries.delete(runKey);
    this.oldEntries.delete(runKey);
  }

  /** Forgets all runs, because a rollback may have undone some of them. */
  forget(): void {
    this.youngEntries.clear();
    this.oldEntries.clear();
  }

  private load(runKey: string): RunEntry | null {
    const row = this.select.get(runKey);
    if (!row) return null;
    const seq = integer(row, 'seq');
    const waitSlots =
      integer(row, 'waits') === 0 ? null : new Set(this.selectWaitSlots.all(seq).map((waiter) => integer(waiter, 'slot')));
    const kind = integer(row, 'is_message') === 1 ? 'message' : 'workflow';
    const [isActive, hasStepsInOrder] = [text(row, 'status') === 'active', integer(row, 'out_of_order') === 0];
    return { seq, tenant: integer(row, 'tenant'), kind, isActive, waitSlots, hasStepsInOrder };
  }
}
