/** Makes a backup: copies everything, checks the copies, and writes the manifest. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncDirectory, syncFile, writePrivately } from '../bootstrap/private-file.js';
import { inspectFiles } from './checking.js';
import {
  type BackedUpFile,
  type BackupParts,
  digestOf,
  MANIFEST_FILE,
  type Manifest,
  manifestText,
  readManifest,
} from './contents.js';
import { requestBackup } from './control-channel.js';
import { claimDirectory, copyEverything, openSourceAtRest, removeCopy } from './copying.js';
import { encryptInto, pathInBackup } from './encryption/backed-up-files.js';
import { type BackupSecret, newCipher } from './encryption/backup-cipher.js';
import { explainInterruption } from './interruption.js';

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
  /** Aborts the backup. */
  readonly signal?: AbortSignal;
}

export interface BackupResult {
  readonly manifest: Manifest;
  /** Whether a running server made the copies. Otherwise, they were made from the files of a stopped server. */
  readonly isOnline: boolean;
}

/** Writes the manifest durably. It is written last, and a failure leaves none. */
async function writeManifest(directory: string, text: string): Promise<void> {
  const file = join(directory, MANIFEST_FILE);
  await writePrivately(file, text);
  await syncDirectory(directory).catch(async (error) => {
    await rm(file, { force: true });
    throw error;
  });
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
  /** Removes the copies, and the directory if it was created for them. */
  readonly remove: () => Promise<void>;
  readonly files: Manifest['files'];
  readonly isOnline: boolean;
  readonly manifestFields: Pick<Manifest, 'version' | 'beganAt' | 'endedAt' | 'schema' | 'counts'>;
}

/** Copies and checks everything. A failure leaves nothing behind. */
async function copyAndCheck(options: BackupOptions): Promise<CopiedFiles> {
  const { dataDir, to, credentials, secretsKey, version, signal } = options;
  const isNew = !existsSync(to);
  const beganAt = new Date().toISOString();
  const serverCopy = await requestBackup(dataDir, { to, credentials, secretsKey }, signal);
  const writtenPaths = serverCopy ?? (await copyAtRest(options));
  const endedAt = new Date().toISOString();
  const filePath = (path: string) => join(to, ...path.split('/'));
  const remove = () => removeCopy(to, writtenPaths.map(filePath), isNew);
  try {
    const { schema, counts } = await inspectFiles(to, writtenPaths, signal);
    const files: BackedUpFile[] = [];
    for (const path of writtenPaths) {
      await syncFile(filePath(path));
      files.push({ path, bytes: (await stat(filePath(path))).size, sha256: await digestOf(filePath(path), signal) });
    }
    return { remove, files, isOnline: serverCopy !== null, manifestFields: { version, beganAt, endedAt, schema, counts } };
  } catch (error) {
    // A damaged copy is removed, so that it is not mistaken for a backup and the next attempt finds an empty directory.
    await remove();
    throw error;
  }
}

/** Copies everything within the data directory, where it is stored as plain text anyway, and encrypts it from there. */
async function takeEncrypted(options: BackupOptions, secret: BackupSecret): Promise<CopiedFiles> {
  const { dataDir, to, signal } = options;
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
      await encryptInto({ directory: to, cipher, signal }, path, join(workDirectory, ...path.split('/')));
    }
    await writeManifest(to, manifestText({ ...manifestFields, encryption: cipher.encryption, files }, cipher.sealOf));
    return copy;
  } catch (error) {
    await removeCopy(to, writtenPaths, isNew);
    throw error;
  } finally {
    await rm(workDirectory, { recursive: true, force: true });
  }
}

async function takePlain(options: BackupOptions): Promise<CopiedFiles> {
  const copy = await copyAndCheck(options);
  const { files, manifestFields } = copy;
  try {
    await writeManifest(options.to, manifestText({ ...manifestFields, files }));
    return copy;
  } catch (error) {
    await copy.remove();
    throw error;
  }
}

/**
 * Makes a backup. Rejects with BackupError, StoreOpenError or StartError, whose messages are for the operator. In that case, no
 * backup exists.
 */
export function takeBackup(options: BackupOptions): Promise<BackupResult> {
  const { to, secret, signal } = options;
  return explainInterruption(signal, 'Interrupted: no backup was made.', async () => {
    const { isOnline } = secret ? await takeEncrypted(options, secret) : await takePlain(options);
    return { manifest: await readManifest(to), isOnline };
  });
}
