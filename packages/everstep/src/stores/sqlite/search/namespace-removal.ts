/**
 * Removes the remains of removed namespaces: their rows in small numbers, then their empty tables, then free pages of the file. An
 * interrupted removal continues where it stopped: the namespace stays listed until nothing of it is left.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { integer } from '../connection/columns.js';
import { transact } from '../connection/connection.js';

/** Maximum number of rows removed in one transaction, which takes about ten milliseconds. */
const ROWS_AT_ONCE = 500;
/** Free pages released at a time: 1 MiB. */
const PAGES_AT_ONCE = 256;
/** Rows of a full-text index up to this one describe its structure, and it cannot be dropped without them. */
const LAST_RECORD_OF_STRUCTURE = 10;

export class NamespaceRemoval {
  private readonly database: DatabaseSync;
  private readonly selectGone: StatementSync;
  private readonly deleteNamespace: StatementSync;
  private readonly selectFreePages: StatementSync;

  constructor(database: DatabaseSync) {
    this.database = database;
    this.selectGone = database.prepare('SELECT seq FROM namespace WHERE gone = 1 ORDER BY seq LIMIT 1');
    this.deleteNamespace = database.prepare('DELETE FROM namespace WHERE seq = ?');
    this.selectFreePages = database.prepare('SELECT freelist_count AS free FROM pragma_freelist_count');
  }

  /** Removes some rows or free pages. Returns false when nothing is left. */
  removeSome(): boolean {
    const goneRow = this.selectGone.get();
    if (goneRow) {
      const seq = integer(goneRow, 'seq');
      transact(this.database, () => {
        if (!this.removeRows(seq)) this.removeTables(seq);
      });
      return true;
    }
    const freeRow = this.selectFreePages.get();
    if (!freeRow || integer(freeRow, 'free') === 0) return false;
    this.database.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`);
    return true;
  }

  /** Removes some rows. Returns false when none are left. The text index is removed from its end; no search uses it anymore. */
  private removeRows(seq: number): boolean {
    const deletions = [
      `DELETE FROM document_${seq} WHERE seq IN (SELECT seq FROM document_${seq} LIMIT ${ROWS_AT_ONCE})`,
      `DELETE FROM text_${seq}_data WHERE id IN
       (SELECT id FROM text_${seq}_data WHERE id > ${LAST_RECORD_OF_STRUCTURE} LIMIT ${ROWS_AT_ONCE})`,
      `DELETE FROM text_${seq}_docsize WHERE id IN (SELECT id FROM text_${seq}_docsize LIMIT ${ROWS_AT_ONCE})`,
      `DELETE FROM text_${seq}_idx WHERE (segid, term) IN (SELECT segid, term FROM text_${seq}_idx LIMIT ${ROWS_AT_ONCE})`,
    ];
    return deletions.some((sql) => Number(this.database.prepare(sql).run().changes) > 0);
  }

  private removeTables(seq: number): void {
    this.database.exec(`DROP TABLE word_${seq}; DROP TABLE text_${seq}; DROP TABLE document_${seq}`);
    this.deleteNamespace.run(seq);
  }
}
