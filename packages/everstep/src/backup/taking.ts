/** Makes a backup: copies everything, checks the copies, and writes the manifest. */
import { randomUUID } from 'node:crypto';
import { mkdir, open, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { writePrivately } from '../bootstrap/private-file.js';
import { inspectFiles } from './checking.js';
import {
  type BackedUpFile,
  type BackupParts,
  digestOf,
  MANIFEST_FILE,
  type Manifest,
  manifestText,
  readManifest,
  SEARCH_DIRECTORY,
} from './contents.js';
import { requestBackup } from './control-channel.js';
import { claimDirectory, copyEverything, openSourceAtRest } from './copying.js';
import { encryptInto, pathInBackup } from './encryption/backed-up-files.js';
import { type BackupSecret, newCipher } from './encryption/backup-cipher.js';

const OWNER_ONLY = 0o700;

export interface BackupOptions extends BackupParts {
  /** Absolute path of the data directory. */
  readonly dataDir: string;
  /** Absolute path of the store. */
  readonly storeFile: string;
  /** Absolute path of the backup directory, which is empty or is created. */
  readonly to: string;
  /** Version of this program. */
  readonly version: string;
  /** Secret that encrypts the files; null if they are not encrypted. */
  readonly secret: BackupSecret | null;
}

export interface BackupResult {
  readonly manifest: Manifest;
  /** Whether a running server made the copies. Otherwise, they were made from the files of a stopped server. */
  readonly isOnline: boolean;
}

/** Syncs a file or directory to disk. */
async function sync(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

async function copyAtRest({ dataDir, storeFile, ...options }: BackupOptions): Promise<readonly string[]> {
  const { source, close } = openSourceAtRest({ dataDir, storeFile });
  try {
    return await copyEverything(source, options);
  } finally {
    close();
  }
}

interface CopiedFiles {
  readonly files: Manifest['files'];
  readonly isOnline: boolean;
  readonly manifestFields: Pick<Manifest, 'version' | 'beganAt' | 'endedAt' | 'schema' | 'counts'>;
}

/** Copies and checks everything. A failure leaves nothing behind. */
async function copyAndCheck(options: BackupOptions): Promise<CopiedFiles> {
  const { dataDir, to, credentials, secretsKey, version } = options;
  const beganAt = new Date().toISOString();
  const serverCopy = await requestBackup(dataDir, { to, credentials, secretsKey });
  const writtenPaths = serverCopy ?? (await copyAtRest(options));
  const endedAt = new Date().toISOString();
  const filePath = (path: string) => join(to, ...path.split('/'));
  try {
    const { schema, counts } = await inspectFiles(to, writtenPaths);
    const files: BackedUpFile[] = [];
    for (const path of writtenPaths) {
      await sync(filePath(path));
      files.push({ path, bytes: (await stat(filePath(path))).size, sha256: await digestOf(filePath(path)) });
    }
    return { files, isOnline: serverCopy !== null, manifestFields: { version, beganAt, endedAt, schema, counts } };
  } catch (error) {
    // A damaged copy is removed, so that it is not mistaken for a backup and the next attempt finds an empty directory.
    for (const path of writtenPaths) await rm(filePath(path), { force: true });
    throw error;
  }
}

/** Copies everything within the data directory, where it is stored as plain text anyway, and encrypts it from there. */
async function takeEncrypted(options: BackupOptions, secret: BackupSecret): Promise<CopiedFiles> {
  const { dataDir, to } = options;
  const isNew = await claimDirectory(to);
  const workDirectory = join(dataDir, `backup.${randomUUID()}.tmp`);
  const cipher = newCipher(secret);
  const writtenPaths: string[] = [];
  try {
    const copy = await copyAndCheck({ ...options, to: workDirectory });
    const { files, manifestFields } = copy;
    for (const { path } of files) {
      const target = pathInBackup(to, path, cipher);
      await mkdir(dirname(target), { recursive: true, mode: OWNER_ONLY });
      writtenPaths.push(target);
      await encryptInto(to, path, join(workDirectory, ...path.split('/')), cipher);
    }
    const text = manifestText({ ...manifestFields, encryption: cipher.encryption, files }, cipher.sealOf);
    await writePrivately(join(to, MANIFEST_FILE), text);
    return copy;
  } catch (error) {
    for (const target of writtenPaths) await rm(target, { force: true });
    await rmdir(join(to, SEARCH_DIRECTORY)).catch(() => {});
    if (isNew) await rmdir(to).catch(() => {});
    throw error;
  } finally {
    await rm(workDirectory, { recursive: true, force: true });
  }
}

async function takePlain(options: BackupOptions): Promise<CopiedFiles> {
  const copy = await copyAndCheck(options);
  const { files, manifestFields } = copy;
  await writePrivately(join(options.to, MANIFEST_FILE), manifestText({ ...manifestFields, files }));
  return copy;
}

/**
 * Makes a backup. Rejects with BackupError, StoreOpenError or StartError, whose messages are for the operator. In that case, no
 * backup exists.
 */
export async function takeBackup(options: BackupOptions): Promise<BackupResult> {
  const { to, secret } = options;
  const { isOnline } = secret ? await takeEncrypted(options, secret) : await takePlain(options);
  if (process.platform !== 'win32') await sync(to);
  return { manifest: await readManifest(to), isOnline };
}
