/** Files with secrets: private to their owner, and replaced atomically. */
import { randomUUID } from 'node:crypto';
import { open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';

const OWNER_ONLY = 0o600;
const PERMISSIONS = 0o777;

/**
 * Replaces the file atomically, with mode 0600. Follows symbolic links. Rejects with the error of the file system. Also
 * rejects for a device, a pipe or a socket, because replacing `/dev/null` with a file would break every program on the machine.
 */
export async function writePrivately(file: string, text: string): Promise<void> {
  const path = await realpath(file).catch(() => file);
  const existingStat = await stat(path).catch(() => null);
  if (existingStat && !existingStat.isFile() && !existingStat.isDirectory()) throw new Error('it is not a regular file');
  const draft = `${path}.${randomUUID()}.tmp`;
  const draftFile = await open(draft, 'wx', OWNER_ONLY);
  try {
    try {
      await draftFile.writeFile(text);
      await draftFile.sync();
    } finally {
      await draftFile.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Makes the content of a file durable. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r');
  await file.sync().finally(() => file.close());
}

/** Makes the names of the files in a directory durable. Windows cannot sync directories and does not need it. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform !== 'win32') await syncFile(path);
}

/** Like `writePrivately`, but leaves a private file with this content unchanged, so that no disk space is required. */
export async function updatePrivately(file: string, text: string): Promise<void> {
  if (!(await hasPrivateContent(file, text))) await writePrivately(file, text);
}

async function hasPrivateContent(file: string, text: string): Promise<boolean> {
  try {
    const fileStat = await stat(file);
    // On Windows, the mode says nothing about who can read the file.
    const isPrivate = process.platform === 'win32' || (fileStat.mode & PERMISSIONS) === OWNER_ONLY;
    return fileStat.isFile() && isPrivate && (await readFile(file, 'utf8')) === text;
  } catch {
    return false;
  }
}
