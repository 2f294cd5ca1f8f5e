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
import { askForBackup } from './control-channel.js';
import { claimDirectory, copyEverything, openSourceAtRest } from './copying.js';
import { encryptInto, pathInBackup } from './encryption/backed-up-files.js';
import { type BackupSecret, newCipher } from './encryption/backup-cipher.js';

const OWNER_ONLY = 0o700;

export interface TakingOptions extends BackupParts {
  /** Absolute path of the data directory. The next two paths are absolute, too. */
  readonly dataDir: string;
  readonly storeFile: string;
  readonly to: string;
  /** Version of this program. */
  readonly version: string;
  /** Secret for encrypting the files; null: they are not encrypted. */
  readonly secret: BackupSecret | null;
}

export interface TakenBackup {
  readonly manifest: Manifest;
  /** Whether a running server made the copies; otherwise they were made from files not in use. */
  readonly online: boolean;
}

/** Ensures that the file is on disk before the backup is reported as made. */
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

interface CopiedFiles {
  readonly files: Manifest['files'];
  readonly online: boolean;
  readonly facts: Pick<Manifest, 'version' | 'beganAt' | 'endedAt' | 'schema' | 'counts'>;
}

/** Copies and checks everything. A failure leaves nothing behind. */
async function copyChecked(options: TakingOptions): Promise<CopiedFiles> {
  const { dataDir, to, credentials, secretsKey, version } = options;
  const beganAt = new Date().toISOString();
  const serviceCopy = await askForBackup(dataDir, { to, credentials, secretsKey });
  const written = serviceCopy ?? (await copyAtRest(options));
  const endedAt = new Date().toISOString();
  const locate = (path: string) => join(to, ...path.split('/'));
  try {
    const { schema, counts } = await inspectFiles(to, written);
    const files: BackedUpFile[] = [];
    for (const path of written) {
      await sync(locate(path));
      files.push({ path, bytes: (await stat(locate(path))).size, sha256: await digestOf(locate(path)) });
    }
    return { files, online: serviceCopy !== null, facts: { version, beganAt, endedAt, schema, counts } };
  } catch (error) {
    // Removes an unsound copy, so that no one mistakes it for a backup, and the next attempt finds an empty
    // directory.
    for (const path of written) await rm(locate(path), { force: true });
    throw error;
  }
}

/** Copies everything within the data directory, where it is stored as plain text anyway, and encrypts it from there. */
async function takeEncrypted(options: TakingOptions, secret: BackupSecret): Promise<CopiedFiles> {
  const { dataDir, to } = options;
  const isNew = await claimDirectory(to);
  const workDirectory = join(dataDir, `backup.${randomUUID()}.tmp`);
  const cipher = newCipher(secret);
  const written: string[] = [];
  try {
    const serviceCopy = await copyChecked({ ...options, to: workDirectory });
    const { files, facts: manifestFields } = serviceCopy;
    for (const { path } of files) {
      const target = pathInBackup(to, path, cipher);
      await mkdir(dirname(target), { recursive: true, mode: OWNER_ONLY });
      written.push(target);
      await encryptInto(to, path, join(workDirectory, ...path.split('/')), cipher);
    }
    const text = manifestText({ ...manifestFields, encryption: cipher.encryption, files }, cipher.sealOf);
    await writePrivately(join(to, MANIFEST_FILE), text);
    return serviceCopy;
  } catch (error) {
    for (const target of written) await rm(target, { force: true });
    await rmdir(join(to, SEARCH_DIRECTORY)).catch(() => {});
    if (isNew) await rmdir(to).catch(() => {});
    throw error;
  } finally {
    await rm(workDirectory, { recursive: true, force: true });
  }
}

async function takePlain(options: TakingOptions): Promise<CopiedFiles> {
  const serviceCopy = await copyChecked(options);
  await writePrivately(join(options.to, MANIFEST_FILE), manifestText({ ...serviceCopy.facts, files: serviceCopy.files }));
  return serviceCopy;
}

/**
 * Makes a backup. Rejects with BackupError, StoreOpenError or StartError, whose messages are for the operator. No backup exists
 * then.
 */
export async function takeBackup(options: TakingOptions): Promise<TakenBackup> {
  const { to, secret } = options;
  const { online } = secret ? await takeEncrypted(options, secret) : await takePlain(options);
  if (process.platform !== 'win32') await sync(to);
  return { manifest: await readManifest(to), online };
}
