/** Puts a back-up into an empty data directory, for a service to be started on. */
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, fileError } from '../bootstrap/start-error.js';
import { verifyBackup } from './checking.js';
import { BackupError, digestOf, type Manifest, STORE_FILE } from './contents.js';
import { copyOut } from './encryption/backed-up-files.js';
import type { BackupSecret } from './encryption/backup-cipher.js';

const DIRECTORY_MODE = 0o700;
/** Until all else is there, the store has a name that no service opens. */
const UNFINISHED = `${STORE_FILE}.restoring`;

export interface RestoringOptions {
  /** Absolute, as the next one. */
  readonly from: string;
  /** Does not exist, or is empty. */
  readonly dataDir: string;
  /** Of an encrypted back-up. */
  readonly secret: BackupSecret | null;
}

async function claimEmpty(dataDir: string): Promise<void> {
  const present = await readdir(dataDir).catch((error) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw fileError(`The directory ${dataDir} cannot be used`, error);
  });
  // A disk that was just formatted has this one.
  if (present.some((name) => name !== 'lost+found'))
    throw new BackupError(`${dataDir} is not empty: a back-up is restored into an empty directory only. Nothing was changed.`);
  await mkdir(dataDir, { recursive: true, mode: DIRECTORY_MODE }).catch((error) => {
    throw fileError(`The directory ${dataDir} cannot be made`, error);
  });
}

/** Verifies the back-up, and each file once more where it was put. Rejects with BackupError, StoreOpenError or StartError. */
export async function restoreBackup({ from, dataDir, secret }: RestoringOptions): Promise<Manifest> {
  const { manifest, cipher } = await verifyBackup(from, secret);
  await claimEmpty(dataDir);
  const put: string[] = [];
  try {
    for (const { path, sha256 } of manifest.files) {
      const file = join(dataDir, ...(path === STORE_FILE ? UNFINISHED : path).split('/'));
      put.push(file);
      await mkdir(dirname(file), { recursive: true, mode: DIRECTORY_MODE });
      await copyOut(from, path, file, cipher);
      if ((await digestOf(file)) !== sha256)
        throw new BackupError(`${path} was not written as it was read: the disk may be failing.`);
    }
    await rename(join(dataDir, UNFINISHED), join(dataDir, STORE_FILE));
    return manifest;
  } catch (error) {
    for (const file of put) await rm(file, { force: true });
    throw error;
  }
}
