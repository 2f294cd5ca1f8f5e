/** Opens the embedded store to copy: the store of a stopped server, or a backup. */
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { verifyBackup } from '../backup/checking.js';
import { MANIFEST_FILE, SEARCH_DIRECTORY, STORE_FILE } from '../backup/contents.js';
import {
  type DatabaseReader,
  type IndexReader,
  openIndexReader,
  openStoreReader,
} from '../stores/sqlite/connection/store-reader.js';
import { CopyError } from './copy-error.js';

export interface CopySource {
  readonly store: DatabaseReader;
  /** Opens a search index. Returns null if it has no documents. */
  openIndex(indexId: string): IndexReader | null;
  readonly kind: 'stopped-service' | 'back-up';
  close(): void;
}

/**
 * Opens a data directory, a backup directory (which is verified first) or a store file. Rejects with CopyError,
 * BackupError or StoreOpenError, whose messages are for the operator, for example if a server uses the store.
 */
export async function openCopySource(from: string): Promise<CopySource> {
  const isDirectory = existsSync(from) && statSync(from).isDirectory();
  const isBackup = isDirectory && existsSync(join(from, MANIFEST_FILE));
  if (isBackup) await verifyBackup(from);
  const file = isDirectory ? join(from, STORE_FILE) : from;
  const store = openStoreReader({ file, isImmutable: isBackup });
  if (!store) throw new CopyError(`There is no store at ${file}. Set --from to a data directory, a backup or a store file.`);
  const searchDirectory = join(dirname(file), SEARCH_DIRECTORY);
  return {
    store,
    openIndex: (indexId) => openIndexReader({ file: join(searchDirectory, `${indexId}.db`), isImmutable: isBackup }),
    kind: isBackup ? 'back-up' : 'stopped-service',
    close: () => store.close(),
  };
}
