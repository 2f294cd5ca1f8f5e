/**
 * Journals that are copied in slices, each in its own transaction, to a row number that is reserved for a run that will be
 * created. They are not visible before the run exists. Journals of runs that will not be created are also deleted in slices.
 * Keeps invariant 45.
 */
import type { StatementSync } from 'node:sqlite';
import { LIMITS } from '../../../config/limits.js';
import { storedBytesSql } from '../../../ports/stores/stored-bytes.js';
import { integer, text } from '../connection/columns.js';
import type { Connection } from '../connection/connection.js';
import type { CreationOrder } from '../listing/creation-order.js';
import type { StoredBytes } from './stored-bytes.js';

export interface StagedJournal {
  readonly runSeq: number;
  readonly listedAt: number;
}

export class StagedJournals {
  private readonly runOrder: CreationOrder;
  private readonly storedBytes: StoredBytes;
  private readonly reserve: StatementSync;
  private readonly insert: StatementSync;
  private readonly select: StatementSync;
  private readonly selectGone: StatementSync;
  private readonly selectAny: StatementSync;
  private readonly selectReserved: StatementSync;
  private readonly markGone: StatementSync;
  private readonly markAllGone: StatementSync;
  private readonly delete: StatementSync;
  private readonly selectSome: StatementSync;
  private readonly deleteSome: StatementSync;
  private readonly countSteps: StatementSync;

  constructor(connection: Connection, runOrder: CreationOrder, storedBytes: StoredBytes) {
    this.runOrder = runOrder;
    this.storedBytes = storedBytes;
    this.reserve = connection.prepare(`UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'run' RETURNING seq`);
    this.insert = connection.prepare('INSERT INTO staged_journal (run_key, run_seq, tenant, listed_at) VALUES (?, ?, ?, ?)');
    this.select = connection.prepare('SELECT run_seq, listed_at FROM staged_journal WHERE run_key = ? AND gone = 0');
    this.selectGone = connection.prepare('SELECT run_key, run_seq, tenant FROM staged_journal WHERE gone = 1 LIMIT 1');
    this.selectAny = connection.prepare('SELECT 1 FROM staged_journal WHERE gone = 0 LIMIT 1');
    this.selectReserved = connection.prepare('SELECT run_seq FROM staged_journal WHERE gone = 0');
    this.markGone = connection.prepare('UPDATE staged_journal SET gone = 1 WHERE run_key = ?');
    this.markAllGone = connection.prepare('UPDATE staged_journal SET gone = 1 WHERE gone = 0');
    this.delete = connection.prepare('DELETE FROM staged_journal WHERE run_key = ?');
    this.selectSome = connection.prepare(
      `SELECT max(idx) AS last, count(*) AS steps, coalesce(sum(bytes), 0) AS bytes FROM (
         SELECT idx, bytes, sum(bytes) OVER (ORDER BY idx) - bytes AS bytes_before FROM (
           SELECT s.idx, ${storedBytesSql('step', 's')} AS bytes FROM step s WHERE s.run_seq = ? ORDER BY s.idx LIMIT ${LIMITS.partRows}))
       WHERE bytes_before < ${LIMITS.partBytes}`,
    );
    this.countSteps = connection.prepare('SELECT count(*) AS steps FROM step WHERE run_seq = ?');
    this.deleteSome = connection.prepare('DELETE FROM step WHERE run_seq = ? AND idx <= ?');
  }

  /** Whether any journal is staged for a run that may still be created. */
  get hasAny(): boolean {
    return this.selectAny.get() !== undefined;
  }

  /** Returns the row numbers of runs that may still be created. */
  reservedSeqs(): readonly number[] {
    return this.selectReserved.all().map((row) => integer(row, 'run_seq'));
  }

  /** Returns the journal staged for the run with this key; null if there is none. */
  find(runKey: string): StagedJournal | null {
    const row = this.select.get(runKey);
    return row ? { runSeq: integer(row, 'run_seq'), listedAt: integer(row, 'listed_at') } : null;
  }

  /** Returns the row number for the run, which is reserved at the first call. Requires an open transaction. */
  reserveSeq(runKey: string, tenant: number, createdAt: number): number {
    const stagedJournal = this.find(runKey);
    if (stagedJournal) return stagedJournal.runSeq;
    const row = this.reserve.get();
    // A journal is copied from a run, so at least one run exists.
    if (!row) throw new Error('a journal is staged, but no run was ever created');
    const runSeq = integer(row, 'seq');
    const listedAt = this.runOrder.nextListedAt(createdAt);
    this.insert.run(runKey, runSeq, tenant, listedAt);
    // Runs that are created later have higher numbers.
    this.runOrder.recordAdded(runSeq, listedAt);
    return runSeq;
  }

  /** Assigns the journal to the created run. Requires an open transaction. Throws if no journal with that many steps is staged. */
  adopt(runKey: string, steps: number): void {
    const stagedJournal = this.find(runKey);
    if (!stagedJournal || integer(this.countSteps.get(stagedJournal.runSeq) ?? {}, 'steps') !== steps)
      throw new Error(`no journal of ${steps} steps is staged for the run ${runKey}`);
    this.delete.run(runKey);
  }

  /** Discards the journal, because no run with this key will be created. Requires an open transaction. */
  abandon(runKey: string): void {
    this.markGone.run(runKey);
  }

  /** Discards all staged journals. Requires an open transaction. */
  abandonAll(): void {
    this.markAllGone.run();
  }

  /** Deletes some unneeded staged steps. Requires an open transaction. Returns false if none are left. */
  removeSome(): boolean {
    const goneJournal = this.selectGone.get();
    if (!goneJournal) return false;
    const runSeq = integer(goneJournal, 'run_seq');
    const part = this.selectSome.get(runSeq) ?? {};
    if (integer(part, 'steps') === 0) {
      this.delete.run(text(goneJournal, 'run_key'));
      return true;
    }
    this.deleteSome.run(runSeq, integer(part, 'last'));
    this.storedBytes.add(integer(goneJournal, 'tenant'), -integer(part, 'bytes'));
    return true;
  }
}
