/** Whether the files of a back-up are whole, sound, and those that its manifest tells of. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../bootstrap/start-error.js';
import { inspectDocuments, inspectStore, type StoreCounts } from '../stores/sqlite/store-at-rest.js';
import { type BackedUpFile, BackupError, digestOf, type Manifest, readManifest, STORE_FILE } from './contents.js';

export interface FoundInFiles {
  readonly schema: number;
  readonly counts: StoreCounts & { readonly documents: number };
}

const locate = (directory: string, path: string): string => join(directory, ...path.split('/'));
const isDatabase = (path: string): boolean => path.endsWith('.db');

export function assertSound(path: string, problems: readonly string[]): void {
  if (problems.length > 0) throw new BackupError(`${path} is damaged: ${problems.join('; ')}`);
}

/** Reads every database whole. Rejects with BackupError or StoreOpenError when one is not sound. */
export async function inspectFiles(directory: string, paths: readonly string[]): Promise<FoundInFiles> {
  const store = inspectStore(locate(directory, STORE_FILE));
  assertSound(STORE_FILE, store.problems);
  let documents = 0;
  for (const path of paths) {
    if (!isDatabase(path) || path === STORE_FILE) continue;
    const found = inspectDocuments(locate(directory, path));
    assertSound(path, found.problems);
    documents += found.documents;
  }
  return { schema: store.schema, counts: { ...store.counts, documents } };
}

async function assertSame(directory: string, { path, bytes, sha256 }: BackedUpFile): Promise<void> {
  const file = locate(directory, path);
  const found = await stat(file).catch((error) => {
    if (codeOf(error) === 'ENOENT') throw new BackupError(`${path} is missing from the back-up.`);
    throw error;
  });
  if (found.size !== bytes) throw new BackupError(`${path} has ${found.size} bytes, but had ${bytes} when the back-up was made.`);
  if ((await digestOf(file)) !== sha256) throw new BackupError(`${path} has changed since the back-up was made.`);
}

/** Resolves with the manifest when all is as it says. Rejects with BackupError or StoreOpenError, which say what is not. */
export async function verifyBackup(directory: string): Promise<Manifest> {
  const manifest = await readManifest(directory);
  for (const file of manifest.files) await assertSame(directory, file);
  const paths = manifest.files.map(({ path }) => path);
  const { schema, counts } = await inspectFiles(directory, paths);
  const told = new Map<string, number>(Object.entries(manifest.counts));
  for (const [what, count] of Object.entries({ ...counts }))
    if (told.get(what) !== count)
      throw new BackupError(`The back-up has ${count} ${what}, and its manifest says ${told.get(what)}.`);
  if (schema !== manifest.schema)
    throw new BackupError(`The store has schema ${schema}, and the manifest says ${manifest.schema}.`);
  return manifest;
}
