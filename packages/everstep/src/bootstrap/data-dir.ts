/** The data directory: where credentials and, by default, the store are. */
import { access, constants, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileError } from './start-error.js';

/** Directories with secrets, payloads or both. */
const OWNER_ONLY = 0o700;

/** Creates the directory if need be, for its owner alone; one that is there keeps its mode. Directories above it are public. */
export async function makePrivateDirectory(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await mkdir(path, { mode: OWNER_ONLY }).catch((error) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

/** Creates it if need be. Rejects with StartError when it cannot be written. */
export async function openDataDir(dataDir: string): Promise<void> {
  try {
    await makePrivateDirectory(dataDir);
    await access(dataDir, constants.W_OK);
    // The directory holds secrets; it often lies in somebody's repository.
    await writeFile(join(dataDir, '.gitignore'), '*\n', { flag: 'wx' }).catch((error) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } catch (error) {
    throw fileError(`The data directory ${dataDir} cannot be used`, error);
  }
}
