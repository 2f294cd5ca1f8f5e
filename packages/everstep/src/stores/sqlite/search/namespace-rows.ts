/** The documents of one namespace in the file of its index. Each method is part of a transaction of its caller. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Filter, SearchDocument } from '../../../ports/stores/search-store.js';
import { contentBytes, RECORD_BYTES } from '../../../ports/stores/stored-bytes.js';
import { integer, type Row, text, textOrNull } from '../connection/columns.js';
import { documentText } from './document-text.js';
import { sliceBytes, sliceOf } from './filter-slices.js';
import { filterSql } from './filter-sql.js';
import { DOCUMENT_BYTES, STORED_BYTES } from './schema.js';

/** The bytes left for documents in one response. Once they are used up, documents are returned without their content. */
export class ContentBudget {
  private remainingBytes: number;

  constructor(maxBytes: number) {
    this.remainingBytes = maxBytes;
  }

  /**
   * Returns the document with its content if the budget allows it. `head` has the id and the bytes; `read` returns the
   * document.
   */
  documentOf(head: Row, read: () => Row | undefined): SearchDocument {
    const bytes = integer(head, 'bytes');
    this.remainingBytes -= bytes;
    const row = this.remainingBytes >= 0 ? read() : undefined;
    return row ? documentOf(row) : { id: text(head, 'id'), content: '{}', metadata: null, leftOut: bytes };
  }
}

const documentOf = (row: Row): SearchDocument => ({
  id: text(row, 'id'),
  content: text(row, 'content'),
  metadata: textOrNull(row, 'metadata'),
});

/** Returns the exclusive end of all texts that begin with `prefix`; null if there is no end. */
export function endOfPrefix(prefix: string): string | null {
  const characters = [...prefix];
  for (;;) {
    const last = characters.pop()?.codePointAt(0);
    if (last === undefined) return null;
    if (last === 0x10ffff) continue;
    // Half of a surrogate pair is not a character.
    return characters.join('') + String.fromCodePoint(last + 1 === 0xd800 ? 0xe000 : last + 1);
  }
}

/** The change in size of a namespace. */
export interface Difference {
  readonly documents: number;
  readonly bytes: number;
}

export class NamespaceRows {
  readonly seq: number;
  private readonly database: DatabaseSync;
  private readonly insertDocument: StatementSync;
  private readonly insertText: StatementSync;
  private readonly deleteDocument: StatementSync;
  private readonly deleteText: StatementSync;
  private readonly selectById: StatementSync;
  private readonly selectHead: StatementSync;
  private readonly selectRange: StatementSync;
  private readonly updateCounts: StatementSync;

  constructor(database: DatabaseSync, seq: number) {
    this.database = database;
    this.seq = seq;
    const documents = `document_${seq}`;
    this.insertDocument = database.prepare(
      `INSERT INTO ${documents} (id, content, metadata) VALUES (?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET content = excluded.content, metadata = excluded.metadata RETURNING seq`,
    );
    this.insertText = database.prepare(`INSERT OR REPLACE INTO text_${seq} (rowid, body, tags) VALUES (?, ?, ?)`);
    this.deleteDocument = database.prepare(`DELETE FROM ${documents} WHERE id = ? RETURNING seq, ${STORED_BYTES} AS bytes`);
    this.deleteText = database.prepare(`DELETE FROM text_${seq} WHERE rowid = ?`);
    this.selectById = database.prepare(`SELECT seq, id, content, metadata FROM ${documents} WHERE id = ?`);
    this.selectHead = database.prepare(`SELECT id, ${DOCUMENT_BYTES} AS bytes FROM ${documents} WHERE id = ?`);
    this.selectRange = database.prepare(
      `SELECT id, ${DOCUMENT_BYTES} AS bytes FROM ${documents}
       WHERE id >= ? AND id > ? AND (? IS NULL OR id < ?) ORDER BY id LIMIT ?`,
    );
    this.updateCounts = database.prepare('UPDATE namespace SET documents = documents + ?, bytes = bytes + ? WHERE seq = ?');
  }

  /** Creates or replaces one document. */
  upsert({ id, content, metadata }: SearchDocument): Difference {
    const previousHead = this.selectHead.get(id);
    const row = this.insertDocument.get(id, content, metadata);
    if (!row) throw new Error('a document was not written');
    const { words, tags } = documentText(content, metadata);
    this.insertText.run(integer(row, 'seq'), words, tags);
    const bytes = contentBytes(content, metadata);
    if (previousHead) return { documents: 0, bytes: bytes - integer(previousHead, 'bytes') };
    return { documents: 1, bytes: RECORD_BYTES + bytes };
  }

  /** Removes one document. Returns no difference if it does not exist. */
  remove(id: string): Difference {
    const row = this.deleteDocument.get(id);
    if (!row) return { documents: 0, bytes: 0 };
    this.deleteText.run(integer(row, 'seq'));
    return { documents: -1, bytes: -integer(row, 'bytes') };
  }

  /** Adds the differences to the counts of the namespace. Returns the number of created documents minus that of removed ones. */
  addToCounts(differences: readonly Difference[]): number {
    let [documents, bytes] = [0, 0];
    for (const difference of differences) {
      documents += difference.documents;
      bytes += difference.bytes;
    }
    if (documents !== 0 || bytes !== 0) this.updateCounts.run(documents, bytes, this.seq);
    return documents;
  }

  find(id: string, budget: ContentBudget): SearchDocument | null {
    const head = this.selectHead.get(id);
    return head ? budget.documentOf(head, () => this.selectById.get(id)) : null;
  }

  range(prefix: string, after: string | null, limit: number, budget: ContentBudget): SearchDocument[] {
    return this.heads(prefix, after, limit).map((head) => budget.documentOf(head, () => this.selectById.get(text(head, 'id'))));
  }

  /** Returns the next ids with the prefix. */
  ids(prefix: string, limit: number): string[] {
    return this.heads(prefix, null, limit).map((head) => text(head, 'id'));
  }

  private heads(prefix: string, after: string | null, limit: number): readonly Row[] {
    // No id is empty, so every id comes after the empty text.
    const end = endOfPrefix(prefix);
    return this.selectRange.all(prefix, after ?? '', end, end, limit);
  }

  /**
   * Returns the ids of matching documents among at most `rows` rows from `from` on, fewer if their documents are long; `next`
   * is null when none are left.
   */
  matchingIds(filter: Filter, from: number, rows: number): { readonly ids: string[]; readonly next: number | null } {
    const { sql, values } = filterSql(filter, 'd');
    const selectSizes = this.database.prepare(
      `SELECT seq, ${DOCUMENT_BYTES} AS bytes FROM document_${this.seq} WHERE seq >= ? ORDER BY seq LIMIT ?`,
    );
    const { last } = sliceOf(selectSizes.iterate(from, rows), sliceBytes(filter));
    if (last === null) return { ids: [], next: null };
    const foundRows = this.database
      .prepare(`SELECT d.id FROM document_${this.seq} d WHERE d.seq BETWEEN ? AND ? AND ${sql}`)
      .all(from, last, ...values);
    return { ids: foundRows.map((row) => text(row, 'id')), next: last + 1 };
  }
}
