/** The data directory: where credentials and, by default, the store are. */
import { access, constants, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileError } from './start-error.js';

/** Creates it if need be. Rejects with StartError when it cannot be written. */
export async function openDataDir(dataDir: string): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true });
    await access(dataDir, constants.W_OK);
    // The directory holds secrets; it often lies in somebody's repository.
    await writeFile(join(dataDir, '.gitignore'), '*\n', { flag: 'wx' }).catch((error) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } catch (error) {
    throw fileError(`The data directory ${dataDir} cannot be used`, error);
  }
}
