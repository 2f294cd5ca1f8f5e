/**
 * Puts copies of everything into the directory of a back-up. This is the part that the running service does itself, as
 * it alone has its files open; what takes long and needs no service (checks, sums) is left to the command.
 */
import { chmod, mkdir, readdir, readFile, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { credentialsFile } from '../bootstrap/credentials.js';
import { writePrivately } from '../bootstrap/private-file.js';
import { SECRETS_KEY_FILE, secretsKeyFile } from '../bootstrap/secrets-key.js';
import { codeOf, fileError } from '../bootstrap/start-error.js';
import type { CopyRequest } from '../stores/sqlite/index.js';
import { openDocumentsAtRest, openStoreAtRest } from '../stores/sqlite/store-at-rest.js';
import { BackupError, type BackupParts, CREDENTIALS_FILE, SEARCH_DIRECTORY, STORE_FILE } from './contents.js';

const OWNER_ONLY = 0o700;

/** Where the copies come from: a running service, or the files of one that is stopped. */
export interface BackupSource {
  copyStore(request: CopyRequest): Promise<void>;
  /** Asked when the store is copied. */
  searchIndexIds(): Promise<readonly string[]>;
  /** False when the index has no documents. */
  copyDocuments(request: CopyRequest & { readonly indexId: string }): Promise<boolean>;
  readonly dataDir: string;
}

export interface CopyingOptions extends BackupParts {
  /** Absolute; empty, or made. */
  readonly to: string;
  readonly signal?: AbortSignal;
}

/** Makes the directory of a back-up. Resolves with whether it did not exist. Rejects with BackupError when something lies in it. */
export async function claimDirectory(directory: string): Promise<boolean> {
  try {
    const first = await mkdir(directory, { recursive: true, mode: OWNER_ONLY });
    if (first !== undefined) return true;
    if ((await readdir(directory)).some((name) => name !== 'lost+found'))
      throw new BackupError(`${directory} is not empty: a back-up is written into a directory of its own.`);
    return false;
  } catch (error) {
    if (error instanceof BackupError) throw error;
    throw fileError(`The directory ${directory} cannot be used`, error);
  }
}

/** False when there is no such file. */
async function copyText(from: string, to: string): Promise<boolean> {
  const text = await readFile(from, 'utf8').catch((error) => {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return false;
  await writePrivately(to, text);
  return true;
}

/** Resolves with what was written, below `to`. What fails, or is ended, leaves nothing behind. */
export async function copyEverything(source: BackupSource, options: CopyingOptions): Promise<readonly string[]> {
  const { to, signal } = options;
  const made = await claimDirectory(to);
  const written: string[] = [];
  const begin = (path: string): string => {
    signal?.throwIfAborted();
    written.push(path);
    return join(to, ...path.split('/'));
  };
  const ending = signal ? { signal } : {};
  try {
    await source.copyStore({ file: begin(STORE_FILE), ...ending });
    // Indexes after the store, so that one whose record is in the copy has the documents that it had then.
    for (const indexId of await source.searchIndexIds()) {
      await mkdir(join(to, SEARCH_DIRECTORY), { recursive: true, mode: OWNER_ONLY });
      const path = `${SEARCH_DIRECTORY}/${indexId}.db`;
      const file = begin(path);
      if (await source.copyDocuments({ indexId, file, ...ending })) continue;
      await rm(file, { force: true });
      written.pop();
    }
    const { dataDir } = source;
    for (const [path, from, isWanted] of [
      [CREDENTIALS_FILE, credentialsFile(dataDir), options.credentials],
      [SECRETS_KEY_FILE, secretsKeyFile(dataDir), options.secretsKey],
    ] as const)
      if (isWanted && !(await copyText(from, begin(path)))) written.pop();
    if (made) await chmod(to, OWNER_ONLY);
    return written;
  } catch (error) {
    for (const path of written) for (const suffix of ['', '-journal', '-wal']) await rm(join(to, path) + suffix, { force: true });
    await rmdir(join(to, SEARCH_DIRECTORY)).catch(() => {});
    if (made) await rmdir(to).catch(() => {});
    throw error;
  }
}

/** Of a stopped service. Throws BackupError when there is no store, StoreOpenError when a service uses it. */
export function openSourceAtRest({ dataDir, storeFile }: { readonly dataDir: string; readonly storeFile: string }) {
  const store = openStoreAtRest(storeFile);
  if (!store) throw new BackupError(`There is no store at ${storeFile}: name the data directory with --data-dir.`);
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
