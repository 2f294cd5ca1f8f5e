/** Restores a backup into an empty data directory. */
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, fileError } from '../bootstrap/start-error.js';
import { verifyBackup } from './checking.js';
import { BackupError, digestOf, type Manifest, STORE_FILE } from './contents.js';
import { copyOut } from './encryption/backed-up-files.js';
import type { BackupSecret } from './encryption/backup-cipher.js';

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
}

async function prepareDataDir(dataDir: string): Promise<void> {
  const entries = await readdir(dataDir).catch((error) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw fileError(`The directory ${dataDir} cannot be used`, error);
  });
  // A newly formatted disk contains this directory.
  if (entries.some((name) => name !== 'lost+found'))
    throw new BackupError(`${dataDir} is not empty. A backup can only be restored into an empty directory. Nothing was changed.`);
  await mkdir(dataDir, { recursive: true, mode: DIRECTORY_MODE }).catch((error) => {
    throw fileError(`The directory ${dataDir} cannot be created`, error);
  });
}

/**
 * Restores a backup. Verifies it first, and each file again after it was restored. Rejects with BackupError, StoreOpenError or
 * StartError.
 */
export async function restoreBackup({ from, dataDir, secret }: RestoreOptions): Promise<Manifest> {
  const { manifest, cipher } = await verifyBackup(from, secret);
  await prepareDataDir(dataDir);
  const restoredFiles: string[] = [];
  try {
    for (const { path, sha256 } of manifest.files) {
      const file = join(dataDir, ...(path === STORE_FILE ? UNFINISHED_STORE_FILE : path).split('/'));
      restoredFiles.push(file);
      await mkdir(dirname(file), { recursive: true, mode: DIRECTORY_MODE });
      await copyOut(from, path, file, cipher);
      if ((await digestOf(file)) !== sha256)
        throw new BackupError(
          `${path} does not match its checksum after it was restored: the disk may be failing. Restore to another disk.`,
        );
    }
    await rename(join(dataDir, UNFINISHED_STORE_FILE), join(dataDir, STORE_FILE));
    return manifest;
  } catch (error) {
    for (const file of restoredFiles) await rm(file, { force: true });
    throw error;
  }
}
