/** Files with secrets: private to their owner, and replaced atomically. */
import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';

const OWNER_ONLY = 0o600;

/** Replaces the file atomically, with mode 0600. Rejects with the error of the file system. */
export async function writePrivately(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomUUID()}.tmp`;
  const file = await open(draft, 'wx', OWNER_ONLY);
  try {
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
