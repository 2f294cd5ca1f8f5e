/** Restores a backup into an empty data directory. */
import { mkdir, readdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncDirectory } from '../bootstrap/private-file.js';
import { codeOf, fileError } from '../bootstrap/start-error.js';
import { verifyBackup } from './checking.js';
import { BackupError, digestOf, type Manifest, STORE_FILE } from './contents.js';
import { removeCopy } from './copying.js';
import { copyOut } from './encryption/backed-up-files.js';
import type { BackupSecret } from './encryption/backup-cipher.js';
import { explainInterruption } from './interruption.js';

const DIRECTORY_MODE = 0o700;
/** Name of the store until all other files are restored, so that no server opens it. */
const UNFINISHED_STORE_FILE = `${STORE_FILE}.restoring`;

export interface RestoreOptions {
  /** Absolute path of the backup. */
  readonly from: string;
  /** Absolute path of the data directory, which is empty or does not exist. */
  readonly dataDir: string;
  /** Secret of an encrypted backup. */
  readonly secret: BackupSecret | null;
  /** Aborts the restore. */
  readonly signal?: AbortSignal;
}

/** Creates the data directory if it does not exist. Resolves with true if it was created. */
async function prepareDataDir(dataDir: string): Promise<boolean> {
  const entries = await readdir(dataDir).catch((error) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw fileError(`The directory ${dataDir} cannot be used`, error);
  });
  // A newly formatted disk contains this directory.
  if (entries.some((name) => name !== 'lost+found'))
    throw new BackupError(`${dataDir} is not empty. A backup can only be restored into an empty directory. Nothing was changed.`);
  const firstCreatedDirectory = await mkdir(dataDir, { recursive: true, mode: DIRECTORY_MODE }).catch((error) => {
    throw fileError(`The directory ${dataDir} cannot be created`, error);
  });
  return firstCreatedDirectory !== undefined;
}

async function restoreFiles({ from, dataDir, secret, signal }: RestoreOptions): Promise<Manifest> {
  const { manifest, cipher } = await verifyBackup(from, secret, signal);
  const isNew = await prepareDataDir(dataDir);
  const restoredFiles: string[] = [];
  try {
    for (const { path, sha256 } of manifest.files) {
      const file = join(dataDir, ...(path === STORE_FILE ? UNFINISHED_STORE_FILE : path).split('/'));
      restoredFiles.push(file);
      await mkdir(dirname(file), { recursive: true, mode: DIRECTORY_MODE });
      await copyOut({ directory: from, cipher, signal }, path, file);
      if ((await digestOf(file, signal)) !== sha256)
        throw new BackupError(
          `${path} does not match its checksum after it was restored: the disk may be failing. Restore to another disk.`,
        );
    }
    for (const directory of new Set(restoredFiles.map(dirname))) await syncDirectory(directory);
    const storeFile = join(dataDir, STORE_FILE);
    restoredFiles.push(storeFile);
    await rename(join(dataDir, UNFINISHED_STORE_FILE), storeFile);
    await syncDirectory(dataDir);
    return manifest;
  } catch (error) {
    await removeCopy(dataDir, restoredFiles, isNew);
    throw error;
  }
}

/**
 * Restores a backup. Verifies it first, and each file again after it was restored. Rejects with BackupError, StoreOpenError or
 * StartError. A failed or aborted restore leaves nothing behind.
 */
export const restoreBackup = (options: RestoreOptions): Promise<Manifest> =>
  explainInterruption(options.signal, 'Interrupted: nothing was restored.', () => restoreFiles(options));
