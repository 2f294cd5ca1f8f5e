/** The documents of all indexes, in a file for each index. A limited number of files is open. Long work yields to other work. */
import { existsSync, mkdirSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LIMITS } from '../../../config/limits.js';
import type {
  DocumentSelector,
  Filter,
  FoundDocument,
  Namespace,
  SearchDocument,
  SearchIndexInfo,
  UpsertResult,
} from '../../../ports/stores/search-store.js';
import type { EmbeddedDocuments, QueryOf } from './document-requests.js';
import { IndexFile } from './index-file.js';

const OWNER_ONLY = 0o700;
const MAX_OPEN_FILES = 64;
const REMOVED_AT_ONCE = 500;
/** Maximum number of documents that a filter examines before it yields to other work; fewer if they are long. */
const FILTERED_AT_ONCE = 2000;
/** Bytes by which a file is truncated at a time, because the system may take long to free a huge one. */
const BYTES_CUT_AT_ONCE = 64 * 1024 * 1024;
const SAFE_ID = /^[\w-]+$/;
const EMPTY_INFO: SearchIndexInfo = Object.freeze({ namespaces: [], diskBytes: 0 });

export interface DocumentHostOptions {
  /** Directory of the files, which is created if it does not exist. Null if everything is kept in memory. */
  readonly directory: string | null;
  /** Called when the background removal fails, which is retried at the next start. */
  readonly onFailure?: (error: Error) => void;
}

export class DocumentHost implements EmbeddedDocuments {
  private readonly directory: string | null;
  private readonly onFailure: (error: Error) => void;
  /** Open files by index id; the most recently used one is last. */
  private readonly files = new Map<string, IndexFile>();
  private readonly cleanups = new Map<string, Promise<void>>();
  /** Copies in progress, by destination. */
  private readonly copies = new Map<string, AbortController>();
  private readonly droppedIds = new Set<string>();
  /** Bytes of the documents of an index, until its file is used again, because that may change them. */
  private readonly storedBytesById = new Map<string, number>();
  private isClosed = false;

  constructor({ directory, onFailure = () => {} }: DocumentHostOptions) {
    this.directory = directory;
    this.onFailure = onFailure;
    if (directory !== null) mkdirSync(directory, { recursive: true, mode: OWNER_ONLY });
  }

  async upsert(query: Namespace & { readonly documents: readonly SearchDocument[] }): Promise<UpsertResult> {
    // A request that was queued when the index was deleted must not create its file again.
    if (this.droppedIds.has(query.indexId)) return 'gone';
    return this.openFile(query.indexId).upsert(query.namespace, query.documents, LIMITS.maxSearchNamespaces);
  }

  async fetch(query: QueryOf<'fetch'>): Promise<(SearchDocument | null)[]> {
    return this.findFile(query.indexId)?.fetch(query) ?? query.ids.map(() => null);
  }

  async range(query: QueryOf<'range'>): Promise<SearchDocument[]> {
    return this.findFile(query.indexId)?.range(query) ?? [];
  }

  async search(query: QueryOf<'search'>): Promise<FoundDocument[]> {
    return this.findFile(query.indexId)?.search(query, nextTurn) ?? [];
  }

  async remove({ indexId, namespace, choice }: Namespace & { readonly choice: DocumentSelector }): Promise<number> {
    switch (choice.kind) {
      case 'ids':
        return this.findFile(indexId)?.remove(namespace, choice.ids) ?? 0;
      case 'prefix':
        return this.removePrefix({ indexId, namespace }, choice.prefix);
      case 'filter':
        return this.removeMatching({ indexId, namespace }, choice.filter);
    }
  }

  async reset({ indexId, namespace }: { readonly indexId: string; readonly namespace: string | null }): Promise<void> {
    this.findFile(indexId)?.empty(namespace);
    this.clean(indexId);
  }

  async removeNamespace({ indexId, namespace }: Namespace): Promise<boolean> {
    const hiddenCount = this.findFile(indexId)?.hide(namespace) ?? 0;
    this.clean(indexId);
    return hiddenCount > 0;
  }

  async storedBytes({ indexIds }: QueryOf<'storedBytes'>): Promise<number> {
    let sum = 0;
    for (const indexId of indexIds) {
      const storedBytes = this.storedBytesById.get(indexId) ?? this.findFile(indexId)?.storedBytes() ?? 0;
      this.storedBytesById.set(indexId, storedBytes);
      sum += storedBytes;
    }
    return sum;
  }

  async info({ indexId }: { readonly indexId: string }): Promise<SearchIndexInfo> {
    return this.findFile(indexId)?.info() ?? EMPTY_INFO;
  }

  async drop({ indexId }: { readonly indexId: string }): Promise<void> {
    const path = this.pathOf(indexId);
    this.droppedIds.add(indexId);
    this.storedBytesById.delete(indexId);
    // A cleanup that is in progress uses the file.
    await this.cleanups.get(indexId);
    const file = this.files.get(indexId);
    await file?.endCopies();
    if (this.files.delete(indexId)) file?.close();
    if (path === null) return;
    await truncateInSteps(path);
    for (const suffix of ['', '-wal', '-shm', '-journal']) await rm(path + suffix, { force: true });
  }

  async resume({ indexId }: { readonly indexId: string }): Promise<void> {
    this.clean(indexId);
    await this.cleanups.get(indexId);
  }

  async copyTo({ indexId, file }: { readonly indexId: string; readonly file: string }): Promise<boolean> {
    const indexFile = this.findFile(indexId);
    if (!indexFile) return false;
    const controller = new AbortController();
    this.copies.set(file, controller);
    try {
      await indexFile.copyTo({ file, signal: controller.signal });
      return true;
    } catch (error) {
      // The copy fails if its index is dropped.
      if (this.droppedIds.has(indexId)) return false;
      throw error;
    } finally {
      this.copies.delete(file);
    }
  }

  async endCopy({ file }: { readonly file: string }): Promise<void> {
    this.copies.get(file)?.abort(new Error('the copy was aborted'));
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all([...this.files.values()].map((file) => file.endCopies()));
    await Promise.all(this.cleanups.values());
    for (const file of this.files.values()) file.close();
    this.files.clear();
  }

  /** Removes hidden rows in the background. */
  private clean(indexId: string): void {
    if (this.cleanups.has(indexId)) return;
    const work = async (): Promise<void> => {
      try {
        // The file is looked up each time, because it may have been closed, or its index dropped.
        while (!this.isClosed && this.findFile(indexId)?.removeSome()) await nextTurn();
      } catch (error) {
        this.onFailure(error instanceof Error ? error : new Error(String(error)));
      } finally {
        this.cleanups.delete(indexId);
      }
    };
    // The work starts in the next turn, so that it is registered before it ends.
    this.cleanups.set(indexId, nextTurn().then(work));
  }

  private async removePrefix({ indexId, namespace }: Namespace, prefix: string): Promise<number> {
    for (let removedCount = 0; ; await nextTurn()) {
      const file = this.findFile(indexId);
      const ids = file?.ids(namespace, prefix, REMOVED_AT_ONCE) ?? [];
      if (!file || ids.length === 0) return removedCount;
      removedCount += file.remove(namespace, ids);
    }
  }

  private async removeMatching({ indexId, namespace }: Namespace, filter: Filter): Promise<number> {
    let from: number | null = 0;
    let removedCount = 0;
    while (from !== null) {
      const file = this.findFile(indexId);
      if (!file) break;
      const { ids, next } = file.matchingIds(namespace, filter, from, FILTERED_AT_ONCE);
      removedCount += file.remove(namespace, ids);
      from = next;
      await nextTurn();
    }
    return removedCount;
  }

  private pathOf(indexId: string): string | null {
    if (!SAFE_ID.test(indexId)) throw new Error('the id of a search index cannot be used as a file name');
    return this.directory === null ? null : join(this.directory, `${indexId}.db`);
  }

  /** Returns the file of the index; null if it has no documents yet, or if it was dropped. */
  private findFile(indexId: string): IndexFile | null {
    const path = this.pathOf(indexId);
    // Until a dropped file is removed, it must not be opened again.
    if (this.droppedIds.has(indexId)) return null;
    if (!this.files.has(indexId) && (path === null || !existsSync(path))) return null;
    return this.openFile(indexId);
  }

  private openFile(indexId: string): IndexFile {
    if (this.isClosed) throw new Error('the document store is closed');
    const path = this.pathOf(indexId);
    const file = this.files.get(indexId) ?? new IndexFile(path ?? ':memory:');
    this.storedBytesById.delete(indexId);
    this.files.delete(indexId);
    this.files.set(indexId, file);
    if (path !== null) this.closeOldest(file);
    return file;
  }

  /** Closes the oldest files above the limit, except for `newestFile`. If all of them are in use, more files stay open. */
  private closeOldest(newestFile: IndexFile): void {
    for (const [indexId, file] of this.files) {
      if (this.files.size <= MAX_OPEN_FILES) return;
      // A file that is being copied or searched stays open until that is done.
      if (file === newestFile || file.isInUse) continue;
      file.close();
      this.files.delete(indexId);
    }
  }
}

async function truncateInSteps(path: string): Promise<void> {
  const file = await open(path, 'r+').catch((error) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (!file) return;
  try {
    let { size } = await file.stat();
    while (size > 0) {
      size = Math.max(0, size - BYTES_CUT_AT_ONCE);
      await file.truncate(size);
    }
  } finally {
    await file.close();
  }
}
