/** The data directory, which contains the credentials and, by default, the store. */
import { access, constants, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileError } from './start-error.js';

/** Mode of directories with secrets or payloads. */
const OWNER_ONLY = 0o700;

/** Creates the directory, private to its owner. An existing directory keeps its mode. Missing parents get the default mode. */
export async function makePrivateDirectory(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await mkdir(path, { mode: OWNER_ONLY }).catch((error) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

/** Creates the data directory if it does not exist. Rejects with StartError if it is not writable. */
export async function openDataDir(dataDir: string): Promise<void> {
  try {
    await makePrivateDirectory(dataDir);
    await access(dataDir, constants.W_OK);
    // The directory contains secrets and is often inside a Git repository.
    await writeFile(join(dataDir, '.gitignore'), '*\n', { flag: 'wx' }).catch((error) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } catch (error) {
    throw fileError(`The data directory ${dataDir} is not usable`, error);
  }
}
