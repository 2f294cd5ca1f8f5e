/** The open file of one search index. Every method is synchronous, and every change one durable transaction. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type {
  Filter,
  FoundDocument,
  NamespaceInfo,
  SearchDocument,
  SearchIndexInfo,
} from '../../../ports/stores/search-store.js';
import { integer, type Row, text } from '../connection/columns.js';
import { transact } from '../connection/connection.js';
import { type CopyRequest, copyOnline } from '../storage/online-copy.js';
import type { QueryOf } from './document-requests.js';
import { NamespaceRemoval } from './namespace-removal.js';
import { ContentBudget, NamespaceRows } from './namespace-rows.js';
import { RankedSearch } from './ranked-search.js';
import { namespaceTables, openIndexDatabase } from './schema.js';

/** Query on one index. */
type Query<Name extends 'fetch' | 'range' | 'search'> = Omit<QueryOf<Name>, 'indexId'>;

interface OpenNamespace {
  readonly rows: NamespaceRows;
  readonly ranked: RankedSearch;
}

export class IndexFile {
  private readonly database: DatabaseSync;
  private readonly removal: NamespaceRemoval;
  private readonly selectNamespace: StatementSync;
  private readonly selectNamespaces: StatementSync;
  private readonly insertNamespace: StatementSync;
  private readonly markGone: StatementSync;
  private readonly selectPages: StatementSync;
  private readonly selectBytes: StatementSync;
  /** Open namespaces by number, so that statements are prepared once. */
  private readonly openNamespaces = new Map<number, OpenNamespace>();
  private searchCount = 0;
  private isClosed = false;
  private readonly copies = new Set<{ readonly controller: AbortController; readonly settled: Promise<void> }>();

  constructor(file: string) {
    this.database = openIndexDatabase(file);
    this.removal = new NamespaceRemoval(this.database);
    this.selectNamespace = this.database.prepare('SELECT seq, documents FROM namespace WHERE name = ? AND gone = 0');
    this.selectNamespaces = this.database.prepare('SELECT name, documents FROM namespace WHERE gone = 0 ORDER BY name');
    this.selectBytes = this.database.prepare('SELECT coalesce(sum(bytes), 0) AS bytes FROM namespace WHERE gone = 0');
    this.insertNamespace = this.database.prepare('INSERT INTO namespace (name) VALUES (?) RETURNING seq');
    this.markGone = this.database.prepare('UPDATE namespace SET gone = 1 WHERE gone = 0 AND (? IS NULL OR name = ?)');
    this.selectPages = this.database.prepare('SELECT page_count, page_size FROM pragma_page_count, pragma_page_size');
  }

  upsert(namespace: string, documents: readonly SearchDocument[], maxNamespaces: number): 'done' | 'too-many-namespaces' {
    if (!this.selectNamespace.get(namespace) && this.namespaces().length >= maxNamespaces) return 'too-many-namespaces';
    transact(this.database, () => {
      const { rows } = this.find(namespace) ?? this.create(namespace);
      rows.addToCounts(documents.map((document) => rows.upsert(document)));
    });
    return 'done';
  }

  fetch({ namespace, ids, maxBytes }: Query<'fetch'>): (SearchDocument | null)[] {
    const rows = this.find(namespace)?.rows;
    const budget = new ContentBudget(maxBytes);
    return ids.map((id) => rows?.find(id, budget) ?? null);
  }

  range({ namespace, prefix, after, limit, maxBytes }: Query<'range'>): SearchDocument[] {
    return this.find(namespace)?.rows.range(prefix, after, limit, new ContentBudget(maxBytes)) ?? [];
  }

  /** Returns the ids of the first documents whose ids begin with the prefix. */
  ids(namespace: string, prefix: string, limit: number): string[] {
    return this.find(namespace)?.rows.ids(prefix, limit) ?? [];
  }

  /** Searches the namespace. `nextTurn` yields to other work. If the namespace is removed meanwhile, nothing more is found. */
  async search(
    { namespace, text: query, limit, filter, maxBytes }: Query<'search'>,
    nextTurn: () => Promise<void>,
  ): Promise<FoundDocument[]> {
    const row = this.selectNamespace.get(namespace);
    if (!row) return [];
    const seq = integer(row, 'seq');
    const pause = async (): Promise<boolean> => {
      await nextTurn();
      if (this.isClosed) return false;
      const currentRow = this.selectNamespace.get(namespace);
      return currentRow !== undefined && integer(currentRow, 'seq') === seq;
    };
    this.searchCount++;
    try {
      return await this.openNamespace(seq).ranked.search(query, { filter, limit, maxBytes, pause }, integer(row, 'documents'));
    } finally {
      this.searchCount--;
    }
  }

  /** Removes documents and returns how many existed. */
  remove(namespace: string, ids: readonly string[]): number {
    const rows = this.find(namespace)?.rows;
    if (!rows || ids.length === 0) return 0;
    return transact(this.database, () => {
      return -rows.addToCounts(ids.map((id) => rows.remove(id)));
    });
  }

  /** Returns the ids of documents among some rows that match the filter, and where to continue; see NamespaceRows. */
  matchingIds(namespace: string, filter: Filter, from: number, rows: number) {
    return this.find(namespace)?.rows.matchingIds(filter, from, rows) ?? { ids: [], next: null };
  }

  /** Hides the namespace, or all of them if it is null, and returns their number. `removeSome` removes their rows. */
  hide(namespace: string | null): number {
    return transact(this.database, () => {
      const hiddenCount = Number(this.markGone.run(namespace, namespace).changes);
      this.openNamespaces.clear();
      return hiddenCount;
    });
  }

  /** Empties the namespace, or all of them if it is null. Emptied namespaces still exist. */
  empty(namespace: string | null): void {
    transact(this.database, () => {
      const names = this.namespaces().map(({ name }) => name);
      const emptiedNames = namespace === null ? names : names.filter((name) => name === namespace);
      this.markGone.run(namespace, namespace);
      this.openNamespaces.clear();
      for (const name of emptiedNames) this.create(name);
    });
  }

  /** Removes some of the hidden rows and releases some disk space; returns false when none are left. */
  removeSome(): boolean {
    return this.removal.removeSome();
  }

  /** Returns the bytes of all documents. */
  storedBytes(): number {
    const row = this.selectBytes.get();
    return row ? integer(row, 'bytes') : 0;
  }

  info(): SearchIndexInfo {
    const pages = this.selectPages.get();
    const diskBytes = pages ? integer(pages, 'page_count') * integer(pages, 'page_size') : 0;
    return { namespaces: this.namespaces(), diskBytes };
  }

  /** Copies the file while writes continue. */
  async copyTo({ file, signal }: CopyRequest): Promise<void> {
    const controller = new AbortController();
    const abortSignal = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal;
    const completion = copyOnline(this.database, { file, signal: abortSignal });
    const copy = { controller, settled: completion.catch(() => {}) };
    this.copies.add(copy);
    try {
      await completion;
    } finally {
      this.copies.delete(copy);
    }
  }

  /** Whether a copy or a search of this file is in progress, so that the file must stay open. */
  get isInUse(): boolean {
    return this.copies.size > 0 || this.searchCount > 0;
  }

  /** Aborts all copies. Resolves when none is in progress. */
  async endCopies(): Promise<void> {
    for (const { controller } of this.copies) controller.abort(new Error('the document store is closed'));
    await Promise.all([...this.copies].map(({ settled }) => settled));
  }

  close(): void {
    this.isClosed = true;
    this.openNamespaces.clear();
    this.database.close();
  }

  private namespaces(): NamespaceInfo[] {
    return this.selectNamespaces.all().map((row: Row) => ({ name: text(row, 'name'), documents: integer(row, 'documents') }));
  }

  private find(namespace: string): OpenNamespace | null {
    const row = this.selectNamespace.get(namespace);
    return row ? this.openNamespace(integer(row, 'seq')) : null;
  }

  private create(namespace: string): OpenNamespace {
    const row = this.insertNamespace.get(namespace);
    if (!row) throw new Error('a namespace was not written');
    const seq = integer(row, 'seq');
    this.database.exec(namespaceTables(seq));
    return { rows: new NamespaceRows(this.database, seq), ranked: new RankedSearch(this.database, seq) };
  }

  private openNamespace(seq: number): OpenNamespace {
    const cached = this.openNamespaces.get(seq);
    if (cached) return cached;
    const namespace = { rows: new NamespaceRows(this.database, seq), ranked: new RankedSearch(this.database, seq) };
    this.openNamespaces.set(seq, namespace);
    return namespace;
  }
}
