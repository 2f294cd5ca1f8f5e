/** Reads and writes the files of a backup, whether they are encrypted or not. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { syncFile } from '../../bootstrap/private-file.js';
import { codeOf } from '../../bootstrap/start-error.js';
import { type BackedUpFile, BackupError } from '../contents.js';
import type { BackupCipher } from './backup-cipher.js';
import { decryptStream, encryptStream } from './encrypted-stream.js';

/** Suffix of an encrypted file. */
const SUFFIX = '.enc';
const OWNER_ONLY = 0o600;

/** Returns the path of a file in the backup. */
export const pathInBackup = (directory: string, path: string, cipher: BackupCipher | null): string =>
  join(directory, ...path.split('/')) + (cipher ? SUFFIX : '');

async function writeDurably(source: AsyncIterable<Uint8Array>, to: string, signal?: AbortSignal): Promise<void> {
  await pipeline(source, createWriteStream(to, { flags: 'wx', mode: OWNER_ONLY }), signal ? { signal } : {});
  await syncFile(to);
}

/** A backup directory with the cipher of its files, and a signal that ends their reads and writes. */
export interface BackupAccess {
  readonly directory: string;
  /** Null if the files are not encrypted. */
  readonly cipher: BackupCipher | null;
  readonly signal?: AbortSignal | undefined;
}

/** Encrypts the file `from` and writes it to the backup as `path`. */
export const encryptInto = (
  { directory, cipher, signal }: BackupAccess & { readonly cipher: BackupCipher },
  path: string,
  from: string,
): Promise<void> =>
  writeDurably(encryptStream(createReadStream(from), cipher.keyOf(path)), pathInBackup(directory, path, cipher), signal);

/** Copies a file out of a backup. Rejects if an encrypted file was altered; other files are not checked. */
export function copyOut({ directory, cipher, signal }: BackupAccess, path: string, to: string): Promise<void> {
  const source = createReadStream(pathInBackup(directory, path, cipher));
  return writeDurably(cipher ? decryptStream(source, cipher.keyOf(path)) : source, to, signal);
}

/** Compares a file with the manifest. Rejects with BackupError if it does not match. */
export async function assertMatches({ directory, cipher, signal }: BackupAccess, file: BackedUpFile): Promise<void> {
  const { path, bytes, sha256 } = file;
  const target = pathInBackup(directory, path, cipher);
  const fileStat = await stat(target).catch((error) => {
    if (codeOf(error) === 'ENOENT') throw new BackupError(`${path} is missing from the backup.`);
    throw error;
  });
  if (!cipher && fileStat.size !== bytes)
    throw new BackupError(`${path} has ${fileStat.size} bytes, but had ${bytes} when the backup was made.`);
  const source = createReadStream(target);
  const hash = createHash('sha256');
  try {
    for await (const chunk of cipher ? decryptStream(source, cipher.keyOf(path)) : source) {
      signal?.throwIfAborted();
      hash.update(chunk);
    }
  } catch (error) {
    if (!cipher || signal?.aborted || codeOf(error) === 'EIO') throw error;
    throw new BackupError(`${path} has changed since the backup was made.`, { cause: error });
  }
  if (hash.digest('hex') !== sha256) throw new BackupError(`${path} has changed since the backup was made.`);
}
