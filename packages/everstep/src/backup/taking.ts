/** Makes a back-up: has the copies made, then checks them, and says in the manifest what they are. */
import { open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { writePrivately } from '../bootstrap/private-file.js';
import { inspectFiles } from './checking.js';
import { type BackupParts, digestOf, MANIFEST_FILE, type Manifest, manifestText, readManifest } from './contents.js';
import { askForBackup } from './control-channel.js';
import { copyEverything, openSourceAtRest } from './copying.js';

export interface TakingOptions extends BackupParts {
  /** Absolute, as the next two. */
  readonly dataDir: string;
  readonly storeFile: string;
  readonly to: string;
  /** Of this program. */
  readonly version: string;
}

export interface Taken {
  readonly manifest: Manifest;
  /** Whether a running service made the copies; otherwise they were made of files that nobody used. */
  readonly online: boolean;
}

/** Nothing of a back-up is believed before it is on the disk. */
async function sync(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

async function copyAtRest({ dataDir, storeFile, ...options }: TakingOptions): Promise<readonly string[]> {
  const { source, close } = openSourceAtRest({ dataDir, storeFile });
  try {
    return await copyEverything(source, options);
  } finally {
    close();
  }
}

/** Rejects with BackupError, StoreOpenError or StartError, whose messages are for the operator; then there is no back-up. */
export async function takeBackup(options: TakingOptions): Promise<Taken> {
  const { dataDir, to, credentials, secretsKey, version } = options;
  const beganAt = new Date().toISOString();
  const copied = await askForBackup(dataDir, { to, credentials, secretsKey });
  const written = copied ?? (await copyAtRest(options));
  const endedAt = new Date().toISOString();
  const located = (path: string) => join(to, ...path.split('/'));
  try {
    const { schema, counts } = await inspectFiles(to, written);
    const files: Manifest['files'][number][] = [];
    for (const path of written) {
      await sync(located(path));
      files.push({ path, bytes: (await stat(located(path))).size, sha256: await digestOf(located(path)) });
    }
    await writePrivately(join(to, MANIFEST_FILE), manifestText({ version, beganAt, endedAt, schema, counts, files }));
    if (process.platform !== 'win32') await sync(to);
    return { manifest: await readManifest(to), online: copied !== null };
  } catch (error) {
    // Not found sound: nobody should take it for a back-up, nor find the directory taken at the next try.
    for (const path of written) await rm(located(path), { force: true });
    throw error;
  }
}
