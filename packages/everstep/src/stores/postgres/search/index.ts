/** The documents of search indexes in PostgreSQL. Each index has a separate table. */
import { LIMITS } from '../../../config/limits.js';
import type { Log } from '../../../ports/log.js';
import type {
  DocumentBound,
  DocumentSelector,
  Filter,
  FoundDocument,
  Namespace,
  SearchDocument,
  SearchDocuments,
  SearchIndexInfo,
  UpsertResult,
} from '../../../ports/stores/search-store.js';
import { contentBytes, RECORD_BYTES } from '../../../ports/stores/stored-bytes.js';
import { integer, text, textOrNull } from '../connection/columns.js';
import { Database, type SqlValue, statement, type TransactionSession, unpreparedStatement } from '../connection/connection.js';
import { Cleaner } from './cleaner.js';
import {
  createNamespace,
  findTable,
  listNamespaces,
  lockCollection,
  lockNamespace,
  readDiskBytes,
  type StoredNamespace,
  withNamespace,
} from './collection.js';
import { documentText } from './document-text.js';
import { Values } from './filter-sql.js';
import { endOfPrefix } from './prefix.js';
import { documentOf, filterCondition, limitBytes, rankedSearch } from './ranked-search.js';

const MAX_REMOVED_AT_ONCE = 1000;
/** Maximum number of documents that a filter examines in one statement. */
const MAX_FILTERED_AT_ONCE = 2000;

const ADD_COUNTS = statement('UPDATE search_namespace SET documents = documents + $2, bytes = bytes + $3 WHERE number = $1');
const SELECT_STORED_BYTES = statement(`
  SELECT coalesce(sum(bytes), 0)::bigint AS bytes FROM search_namespace WHERE index_id = ANY ($1::text[]) AND NOT gone`);
/** SQL for the stored bytes of a document. */
const DOCUMENT_BYTES = `(${RECORD_BYTES} + octet_length(content) + coalesce(octet_length(metadata), 0))`;
const MARK_GONE = statement(`
  UPDATE search_namespace SET gone = true WHERE index_id = $1 AND ($2::text IS NULL OR name = $2) AND NOT gone RETURNING name`);
const INSERT_NAMESPACES = statement('INSERT INTO search_namespace (index_id, name) SELECT $1, unnest($2::text[])');

/** Searches and the background removal use separate connections, so that they do not block other work. */
const DEFAULT_CONNECTIONS = 4;

export interface SearchDocumentsOptions {
  /** URL of the store's database. The store must be open, so that the tables exist. Never logged. */
  readonly url: string;
  readonly log: Log;
  /** Maximum number of connections (default 4). */
  readonly maxConnections?: number;
  /** Called when the background removal fails. The removal is retried at the next start. */
  readonly onFailure?: (error: Error) => void;
}

/** Writes documents. The namespace must be locked. */
export async function writeDocuments(
  session: TransactionSession,
  { table, namespace }: StoredNamespace,
  documents: readonly SearchDocument[],
) {
  // If several documents have the same id, the last one counts.
  const uniqueDocuments = [...new Map(documents.map((document) => [document.id, document])).values()];
  // The namespace is locked, so these documents still exist when they are replaced.
  const replacedBytes = session
    .query(
      unpreparedStatement(
        `SELECT coalesce(sum(${DOCUMENT_BYTES}), 0)::bigint AS bytes FROM ${table} WHERE namespace = $1 AND id = ANY ($2::text[])`,
      ),
      [namespace, uniqueDocuments.map(({ id }) => id)],
    )
    .then(([row]) => (row ? integer(row, 'bytes') : 0));
  const texts = uniqueDocuments.map((document) => documentText(namespace, document));
  const rows = await session.query(
    unpreparedStatement(`
      INSERT INTO ${table} (namespace, id, length, repeats, terms, tags, content, metadata, fields)
      SELECT $1, w.id, w.length, w.repeats::jsonb, w.terms::tsvector, w.tags::tsvector, w.content, w.metadata, w.fields::jsonb
      FROM unnest($2::text[], $3::integer[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
        AS w (id, length, repeats, terms, tags, content, metadata, fields)
      ON CONFLICT (namespace, id) DO UPDATE SET length = excluded.length, repeats = excluded.repeats, terms = excluded.terms,
        tags = excluded.tags, content = excluded.content, metadata = excluded.metadata, fields = excluded.fields
      RETURNING xmax = 0 AS inserted`),
    [
      namespace,
      uniqueDocuments.map(({ id }) => id),
      texts.map(({ length }) => length),
      texts.map(({ repeats }) => repeats),
      texts.map(({ terms }) => terms),
      texts.map(({ tags }) => tags),
      uniqueDocuments.map(({ content }) => content),
      uniqueDocuments.map(({ metadata }) => metadata),
      texts.map(({ fields }) => fields),
    ],
  );
  const bytes = uniqueDocuments.reduce((sum, { content, metadata }) => sum + RECORD_BYTES + contentBytes(content, metadata), 0);
  session.send(ADD_COUNTS, [namespace, rows.filter(({ inserted }) => inserted === true).length, bytes - (await replacedBytes)]);
}

class PostgresSearchDocuments implements SearchDocuments {
  private readonly database: Database;
  private readonly cleaner: Cleaner;
  private pendingClose: Promise<void> | null = null;

  constructor(database: Database, onFailure: (error: Error) => void) {
    this.database = database;
    this.cleaner = new Cleaner(database, onFailure);
  }

  async upsert(query: Namespace & { readonly documents: readonly SearchDocument[] }): Promise<UpsertResult> {
    const { indexId, namespace, documents } = query;
    const outcome = await this.database.transaction(async (session): Promise<StoredNamespace | Exclude<UpsertResult, 'done'>> => {
      const storedNamespace = await createNamespace(session, indexId, namespace, LIMITS.maxSearchNamespaces);
      if (typeof storedNamespace !== 'string') await writeDocuments(session, storedNamespace, documents);
      return storedNamespace;
    });
    if (typeof outcome === 'string') return outcome;
    this.cleaner.recordWritten(outcome, documents.length);
    return 'done';
  }

  async fetch(
    query: Namespace & DocumentBound & { readonly ids: readonly string[] },
  ): Promise<readonly (SearchDocument | null)[]> {
    const rows = await withNamespace(this.database, query, ({ table, namespace }) =>
      this.database.query(
        unpreparedStatement(
          limitBytes(
            `SELECT d.id, d.content, d.metadata, w.n
             FROM (SELECT id, min(n) AS n FROM unnest($2::text[]) WITH ORDINALITY AS u (id, n) GROUP BY id) w
             JOIN ${table} d ON d.namespace = $1 AND d.id = w.id`,
            '$3',
          ),
        ),
        [namespace, query.ids, query.maxBytes],
      ),
    );
    const documentsById = new Map((rows ?? []).map((row) => [text(row, 'id'), documentOf(row)]));
    return query.ids.map((id) => documentsById.get(id) ?? null);
  }

  async range(
    query: Namespace & DocumentBound & { readonly prefix: string; readonly after: string | null; readonly limit: number },
  ): Promise<readonly SearchDocument[]> {
    const { prefix, after, limit, maxBytes } = query;
    const rows = await withNamespace(this.database, query, ({ table, namespace }) =>
      this.database.query(
        unpreparedStatement(
          limitBytes(
            `SELECT r.*, row_number() OVER (ORDER BY r.id) AS n FROM (
               SELECT id, content, metadata FROM ${table}
               WHERE namespace = $1 AND id >= $2 AND id > $3 AND ($4::text IS NULL OR id < $4) ORDER BY id LIMIT $5) r`,
            '$6',
          ),
        ),
        // No id is empty, so every id sorts after the empty text.
        [namespace, prefix, after ?? '', endOfPrefix(prefix), limit, maxBytes],
      ),
    );
    return (rows ?? []).map(documentOf);
  }

  async search(
    query: Namespace & DocumentBound & { readonly text: string; readonly limit: number; readonly filter: Filter | null },
  ): Promise<readonly FoundDocument[]> {
    return (
      (await withNamespace(this.database, query, (storedNamespace) => rankedSearch(this.database, storedNamespace, query))) ?? []
    );
  }

  async remove(query: Namespace & { readonly choice: DocumentSelector }): Promise<number> {
    const { choice } = query;
    switch (choice.kind) {
      case 'ids':
        return this.removeWhere(query, 'id = ANY ($2::text[])', [choice.ids]);
      case 'prefix':
        return this.removePrefix(query, choice.prefix);
      case 'filter':
        return this.removeMatching(query, choice.filter);
    }
  }

  async reset({ indexId, namespace }: { readonly indexId: string; readonly namespace: string | null }): Promise<void> {
    await this.database.transaction(async (session) => {
      if ((await lockCollection(session, indexId)) === null) return;
      const rows = await session.query(MARK_GONE, [indexId, namespace]);
      session.send(INSERT_NAMESPACES, [indexId, rows.map((row) => text(row, 'name'))]);
    });
    void this.cleaner.clean(indexId);
  }

  async removeNamespace({ indexId, namespace }: Namespace): Promise<boolean> {
    const markedRows = await this.database.transaction(async (session) => {
      if ((await lockCollection(session, indexId)) === null) return [];
      return session.query(MARK_GONE, [indexId, namespace]);
    });
    void this.cleaner.clean(indexId);
    return markedRows.length > 0;
  }

  async storedBytes({ indexIds }: { readonly indexIds: readonly string[] }): Promise<number> {
    const [row] = await this.database.query(SELECT_STORED_BYTES, [indexIds]);
    return row ? integer(row, 'bytes') : 0;
  }

  async info({ indexId }: { readonly indexId: string }): Promise<SearchIndexInfo> {
    const table = await findTable(this.database, indexId);
    if (table === null) return { namespaces: [], diskBytes: 0 };
    return { namespaces: await listNamespaces(this.database, indexId), diskBytes: await readDiskBytes(this.database, table) };
  }

  drop({ indexId }: { readonly indexId: string }): Promise<void> {
    return this.cleaner.drop(indexId);
  }

  resume({ indexId }: { readonly indexId: string }): Promise<void> {
    return this.cleaner.clean(indexId);
  }

  close(): Promise<void> {
    this.pendingClose ??= this.cleaner.close().then(() => this.database.close());
    return this.pendingClose;
  }

  /** Removes documents. `condition` tests their ids, with values from $2 on; `TABLE` in it is replaced by the name of the table. */
  private async removeWhere({ indexId, namespace }: Namespace, condition: string, values: readonly SqlValue[]): Promise<number> {
    return this.database.transaction(async (session) => {
      const storedNamespace = await lockNamespace(session, indexId, namespace);
      if (!storedNamespace) return 0;
      const sql = `WITH removed AS (
        DELETE FROM ${storedNamespace.table} WHERE namespace = $1 AND ${condition.replaceAll('TABLE', storedNamespace.table)}
        RETURNING ${DOCUMENT_BYTES} AS bytes)
        SELECT count(*) AS documents, coalesce(sum(bytes), 0)::bigint AS bytes FROM removed`;
      const [row] = await session.query(unpreparedStatement(sql), [storedNamespace.namespace, ...values]);
      if (!row) return 0;
      const removedCount = integer(row, 'documents');
      session.send(ADD_COUNTS, [storedNamespace.namespace, -removedCount, -integer(row, 'bytes')]);
      return removedCount;
    });
  }

  private async removePrefix(query: Namespace, prefix: string): Promise<number> {
    const idsSql = `id IN (SELECT id FROM TABLE
      WHERE namespace = $1 AND id >= $2 AND ($3::text IS NULL OR id < $3) ORDER BY id LIMIT ${MAX_REMOVED_AT_ONCE})`;
    for (let removedCount = 0; ; ) {
      const count = await this.removeWhere(query, idsSql, [prefix, endOfPrefix(prefix)]);
      removedCount += count;
      if (count < MAX_REMOVED_AT_ONCE) return removedCount;
    }
  }

  private async removeMatching(query: Namespace, filter: Filter): Promise<number> {
    for (let [removedCount, after] = [0, '']; ; ) {
      const matches = await this.findMatching(query, filter, after);
      removedCount += await this.removeWhere(query, 'id = ANY ($2::text[])', [matches.ids]);
      if (matches.next === null) return removedCount;
      after = matches.next;
    }
  }

  /** Returns the matching ids among the next documents after `after`. `next` is null when no documents are left. */
  private async findMatching(query: Namespace, filter: Filter, after: string) {
    const matches = await withNamespace(this.database, query, async ({ table, namespace }) => {
      const idsSql = `SELECT id FROM ${table} WHERE namespace = $1 AND id > $2 ORDER BY id LIMIT ${MAX_FILTERED_AT_ONCE}`;
      const [lastRow] = await this.database.query(unpreparedStatement(`SELECT max(id) AS id FROM (${idsSql}) d`), [
        namespace,
        after,
      ]);
      const next = lastRow ? textOrNull(lastRow, 'id') : null;
      if (next === null) return null;
      const values = new Values();
      const range = [values.add(namespace, 'bigint'), values.add(after, 'text'), values.add(next, 'text')] as const;
      const sql = `SELECT id FROM ${table} d WHERE namespace = ${range[0]} AND id > ${range[1]} AND id <= ${range[2]}
        AND ${filterCondition(filter, values)}`;
      const rows = await this.database.query(unpreparedStatement(sql), values.list);
      return { ids: rows.map((row) => text(row, 'id')), next };
    });
    return matches ?? { ids: [], next: null };
  }
}

export function openPostgresSearchDocuments(options: SearchDocumentsOptions): SearchDocuments {
  const { maxConnections = DEFAULT_CONNECTIONS, onFailure = () => {} } = options;
  return new PostgresSearchDocuments(new Database({ ...options, maxConnections }), onFailure);
}
