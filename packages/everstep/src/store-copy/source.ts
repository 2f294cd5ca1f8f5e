/** The embedded store that is copied: that of a stopped service, or a back-up. */
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { verifyBackup } from '../backup/checking.js';
import { MANIFEST_FILE, SEARCH_DIRECTORY, STORE_FILE } from '../backup/contents.js';
import { openWholeIndex, openWholeStore, type WholeFile, type WholeIndex } from '../stores/sqlite/whole-store.js';
import { CopyError } from './copy-error.js';

export interface CopySource {
  readonly store: WholeFile;
  /** Null when the index has no documents. */
  openIndex(indexId: string): WholeIndex | null;
  readonly kind: 'stopped-service' | 'back-up';
  close(): void;
}

/**
 * `from`: a data directory, the directory of a back-up (which is verified first), or the file of a store. Rejects with
 * CopyError, BackupError or StoreOpenError, whose messages are for the operator; a service that uses it is such a reason.
 */
export async function openCopySource(from: string): Promise<CopySource> {
  const isDirectory = existsSync(from) && statSync(from).isDirectory();
  const unwritten = isDirectory && existsSync(join(from, MANIFEST_FILE));
  if (unwritten) await verifyBackup(from);
  const file = isDirectory ? join(from, STORE_FILE) : from;
  const store = openWholeStore({ file, unwritten });
  if (!store)
    throw new CopyError(`There is no store at ${file}: name a data directory, a back-up or the file of a store with --from.`);
  const search = join(dirname(file), SEARCH_DIRECTORY);
  return {
    store,
    openIndex: (indexId) => openWholeIndex({ file: join(search, `${indexId}.db`), unwritten }),
    kind: unwritten ? 'back-up' : 'stopped-service',
    close: () => store.close(),
  };
}
