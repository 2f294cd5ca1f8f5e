/** Checks that the files of a backup are complete, sound, and match the manifest. */
import { join } from 'node:path';
import { inspectDocuments, inspectStore, type StoreCounts } from '../stores/sqlite/connection/store-at-rest.js';
import { BackupError, type Manifest, readManifest, STORE_FILE, sealedText } from './contents.js';
import { assertMatches } from './encryption/backed-up-files.js';
import { type BackupCipher, type BackupSecret, cipherFor, isSameSeal } from './encryption/backup-cipher.js';
import { assertNotInterrupted } from './interruption.js';

/** Result of an inspection of the files: the schema of the store, and the number of its records. */
export interface InspectedFiles {
  /** Version of the store's tables. */
  readonly schema: number;
  readonly counts: StoreCounts & { readonly documents: number };
}

const filePath = (directory: string, path: string): string => join(directory, ...path.split('/'));
const isDatabase = (path: string): boolean => path.endsWith('.db');

export function assertSound(path: string, problems: readonly string[]): void {
  if (problems.length > 0) throw new BackupError(`${path} is damaged: ${problems.join('; ')}`);
}

/**
 * Reads every database completely. Rejects with BackupError or StoreOpenError if one is damaged, or if the signal is aborted.
 * Blocks the process while it reads a database.
 */
export async function inspectFiles(directory: string, paths: readonly string[], signal?: AbortSignal): Promise<InspectedFiles> {
  await assertNotInterrupted(signal);
  const storeInspection = inspectStore(filePath(directory, STORE_FILE));
  assertSound(STORE_FILE, storeInspection.problems);
  let documentCount = 0;
  for (const path of paths) {
    if (!isDatabase(path) || path === STORE_FILE) continue;
    await assertNotInterrupted(signal);
    const indexInspection = inspectDocuments(filePath(directory, path));
    assertSound(path, indexInspection.problems);
    documentCount += indexInspection.documents;
  }
  return { schema: storeInspection.schema, counts: { ...storeInspection.counts, documents: documentCount } };
}

export interface VerifiedBackup {
  readonly manifest: Manifest;
  /** Cipher of the backup; null if it is not encrypted. */
  readonly cipher: BackupCipher | null;
}

function authenticateManifest(manifest: Manifest, secret: BackupSecret | null): BackupCipher | null {
  if (!manifest.encryption) return null;
  const cipher = cipherFor(manifest.encryption, secret);
  if (!isSameSeal(manifest.seal ?? '', cipher.sealOf(sealedText(manifest))))
    throw new BackupError('The passphrase is wrong, or the manifest has changed since the backup was made.');
  return cipher;
}

/**
 * Verifies a backup against its manifest. Rejects with BackupError or StoreOpenError if anything does not match, or if the signal
 * is aborted.
 */
export async function verifyBackup(
  directory: string,
  secret: BackupSecret | null = null,
  signal?: AbortSignal,
): Promise<VerifiedBackup> {
  const manifest = await readManifest(directory);
  const cipher = authenticateManifest(manifest, secret);
  for (const file of manifest.files) await assertMatches({ directory, cipher, signal }, file);
  // The databases were inspected before encryption, and the checksums show that they are unchanged.
  if (cipher) return { manifest, cipher };
  const paths = manifest.files.map(({ path }) => path);
  const { schema, counts } = await inspectFiles(directory, paths, signal);
  const manifestCounts = new Map<string, number>(Object.entries(manifest.counts));
  for (const [countName, count] of Object.entries({ ...counts }))
    if (manifestCounts.get(countName) !== count)
      throw new BackupError(`The backup has ${count} ${countName}, but its manifest states ${manifestCounts.get(countName)}.`);
  if (schema !== manifest.schema)
    throw new BackupError(`The store has schema ${schema}, but the manifest states ${manifest.schema}.`);
  return { manifest, cipher };
}
