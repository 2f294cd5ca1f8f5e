/** The files of a back-up as they were before it, whether they are encrypted there or not. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { codeOf } from '../../bootstrap/start-error.js';
import { type BackedUpFile, BackupError } from '../contents.js';
import type { BackupCipher } from './backup-cipher.js';
import { decrypted, encrypted } from './encrypted-stream.js';

/** Of an encrypted file. */
const SUFFIX = '.enc';
const OWNER_ONLY = 0o600;

/** Where a file of a back-up is. */
export const placeOf = (directory: string, path: string, cipher: BackupCipher | null): string =>
  join(directory, ...path.split('/')) + (cipher ? SUFFIX : '');

async function writeDurably(source: AsyncIterable<Uint8Array>, to: string): Promise<void> {
  await pipeline(source, createWriteStream(to, { flags: 'wx', mode: OWNER_ONLY }));
  const file = await open(to, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Encrypts `from` into a back-up. */
export const encryptInto = (directory: string, path: string, from: string, cipher: BackupCipher): Promise<void> =>
  writeDurably(encrypted(createReadStream(from), cipher.keyOf(path)), placeOf(directory, path, cipher));

/** Copies a file out of a back-up. Rejects when it is not what was backed up. */
export function copyOut(directory: string, path: string, to: string, cipher: BackupCipher | null): Promise<void> {
  const source = createReadStream(placeOf(directory, path, cipher));
  return writeDurably(cipher ? decrypted(source, cipher.keyOf(path)) : source, to);
}

/** Rejects with BackupError when the file is not what the manifest says. */
export async function assertSame(directory: string, file: BackedUpFile, cipher: BackupCipher | null): Promise<void> {
  const { path, bytes, sha256 } = file;
  const place = placeOf(directory, path, cipher);
  const found = await stat(place).catch((error) => {
    if (codeOf(error) === 'ENOENT') throw new BackupError(`${path} is missing from the back-up.`);
    throw error;
  });
  if (!cipher && found.size !== bytes)
    throw new BackupError(`${path} has ${found.size} bytes, but had ${bytes} when the back-up was made.`);
  const source = createReadStream(place);
  const hash = createHash('sha256');
  try {
    for await (const chunk of cipher ? decrypted(source, cipher.keyOf(path)) : source) hash.update(chunk);
  } catch (error) {
    if (!cipher || codeOf(error) === 'EIO') throw error;
    throw new BackupError(`${path} has changed since the back-up was made.`, { cause: error });
  }
  if (hash.digest('hex') !== sha256) throw new BackupError(`${path} has changed since the back-up was made.`);
}
