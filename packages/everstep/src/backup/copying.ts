/**
 * Copies everything into a backup directory. The running server performs this part, because only the server has access to its
 * open files. The command does the slow work that does not need the server (checks, checksums).
 */
import { chmod, mkdir, readdir, readFile, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { credentialsFile } from '../bootstrap/credentials.js';
import { writePrivately } from '../bootstrap/private-file.js';
import { SECRETS_KEY_FILE, secretsKeyFile } from '../bootstrap/secrets-key.js';
import { codeOf, fileError } from '../bootstrap/start-error.js';
import { openDocumentsAtRest, openStoreAtRest } from '../stores/sqlite/connection/store-at-rest.js';
import type { CopyRequest } from '../stores/sqlite/index.js';
import { BackupError, type BackupParts, CREDENTIALS_FILE, SEARCH_DIRECTORY, STORE_FILE } from './contents.js';

const OWNER_ONLY = 0o700;

/** Source of the copies: a running server, or the files of a stopped one. */
export interface BackupSource {
  copyStore(request: CopyRequest): Promise<void>;
  /** Returns the ids of all search indexes. Called after the store was copied. */
  searchIndexIds(): Promise<readonly string[]>;
  /** Copies the documents of an index. Resolves with false if it has none. */
  copyDocuments(request: CopyRequest & { readonly indexId: string }): Promise<boolean>;
  readonly dataDir: string;
}

export interface CopyOptions extends BackupParts {
  /** Absolute path of the backup directory, which is empty or is created. */
  readonly to: string;
  readonly signal?: AbortSignal;
}

/** Creates the backup directory. Resolves with true if it did not exist. Rejects with BackupError if it is not empty. */
export async function claimDirectory(directory: string): Promise<boolean> {
  try {
    const firstCreatedDirectory = await mkdir(directory, { recursive: true, mode: OWNER_ONLY });
    if (firstCreatedDirectory !== undefined) return true;
    if ((await readdir(directory)).some((name) => name !== 'lost+found'))
      throw new BackupError(`${directory} is not empty. A backup requires an empty directory.`);
    return false;
  } catch (error) {
    if (error instanceof BackupError) throw error;
    throw fileError(`The directory ${directory} cannot be used`, error);
  }
}

/** Removes the files of a failed copy, and its directory if the copy created it. */
export async function removeCopy(directory: string, files: readonly string[], isNew: boolean): Promise<void> {
  for (const file of files) for (const suffix of ['', '-journal', '-wal']) await rm(file + suffix, { force: true });
  await rmdir(join(directory, SEARCH_DIRECTORY)).catch(() => {});
  if (isNew) await rmdir(directory).catch(() => {});
}

/** Copies a text file. Resolves with false if it does not exist. */
async function copyText(from: string, to: string): Promise<boolean> {
  const text = await readFile(from, 'utf8').catch((error) => {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return false;
  await writePrivately(to, text);
  return true;
}

/** Copies everything. Resolves with the paths written, relative to `to`. A failed or aborted copy leaves nothing behind. */
export async function copyEverything(source: BackupSource, options: CopyOptions): Promise<readonly string[]> {
  const { to, signal } = options;
  const isNew = await claimDirectory(to);
  const writtenPaths: string[] = [];
  const addFile = (path: string): string => {
    signal?.throwIfAborted();
    writtenPaths.push(path);
    return join(to, ...path.split('/'));
  };
  const signalOption = signal ? { signal } : {};
  try {
    await source.copyStore({ file: addFile(STORE_FILE), ...signalOption });
    // Indexes are copied after the store, so that every index in the copied store has its documents.
    for (const indexId of await source.searchIndexIds()) {
      await mkdir(join(to, SEARCH_DIRECTORY), { recursive: true, mode: OWNER_ONLY });
      const path = `${SEARCH_DIRECTORY}/${indexId}.db`;
      const file = addFile(path);
      if (await source.copyDocuments({ indexId, file, ...signalOption })) continue;
      await rm(file, { force: true });
      writtenPaths.pop();
    }
    const { dataDir } = source;
    for (const [path, from, isIncluded] of [
      [CREDENTIALS_FILE, credentialsFile(dataDir), options.credentials],
      [SECRETS_KEY_FILE, secretsKeyFile(dataDir), options.secretsKey],
    ] as const)
      if (isIncluded && !(await copyText(from, addFile(path)))) writtenPaths.pop();
    if (isNew) await chmod(to, OWNER_ONLY);
    signal?.throwIfAborted();
    return writtenPaths;
  } catch (error) {
    const files = writtenPaths.map((path) => join(to, ...path.split('/')));
    await removeCopy(to, files, isNew);
    throw error;
  }
}

/** Opens a stopped server's files. Throws BackupError if there is no store, and StoreOpenError if a server uses it. */
export function openSourceAtRest({ dataDir, storeFile }: { readonly dataDir: string; readonly storeFile: string }) {
  const store = openStoreAtRest(storeFile);
  if (!store) throw new BackupError(`There is no store at ${storeFile}. Set the data directory with --data-dir.`);
  const source: BackupSource = {
    dataDir,
    copyStore: (request) => store.copyTo(request),
    searchIndexIds: async () => store.searchIndexIds,
    async copyDocuments({ indexId, ...request }) {
      const documents = openDocumentsAtRest(join(dirname(storeFile), SEARCH_DIRECTORY, `${indexId}.db`));
      if (!documents) return false;
      try {
        await documents.copyTo(request);
        return true;
      } finally {
        documents.close();
      }
    },
  };
  return { source, close: () => store.close() };
}
