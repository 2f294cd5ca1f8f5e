/** Verifies the store of a server, running or stopped. */
import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { credentialsFile } from '../bootstrap/credentials.js';
import { codeOf } from '../bootstrap/start-error.js';
import type { CheckResult } from '../stores/shared/consistency/checks.js';
import { checkStore, inspectDocuments, inspectStoppedStore } from '../stores/sqlite/connection/store-at-rest.js';
import { assertSound, type InspectedFiles, inspectFiles } from './checking.js';
import { BackupError, SEARCH_DIRECTORY, STORE_FILE } from './contents.js';
import { requestBackup } from './control-channel.js';
import { assertNotInterrupted, explainInterruption } from './interruption.js';

export interface VerifyOptions {
  /** Absolute path of the data directory. */
  readonly dataDir: string;
  readonly storeFile: string;
  /** Aborts the verification. */
  readonly signal?: AbortSignal;
}

export interface StoreVerification extends InspectedFiles {
  /** Whether a running server made a copy for the check. Otherwise, the files themselves were checked. */
  readonly online: boolean;
  /** Results of the consistency checks; null if the store has the schema of an older version. */
  readonly checks: readonly CheckResult[] | null;
  /** Findings that are unusual but do not prove damage. */
  readonly doubts: readonly string[];
}

/** Verifies the store of a running server. The server locks its files, so it makes a copy, which is checked and removed. */
async function verifyRunning({ dataDir, signal }: VerifyOptions): Promise<StoreVerification | null> {
  const to = join(dataDir, `verify.${randomUUID()}.tmp`);
  try {
    const writtenPaths = await requestBackup(dataDir, { to, credentials: false, secretsKey: false }, signal);
    if (!writtenPaths) return null;
    const contents = await inspectFiles(to, writtenPaths, signal);
    await assertNotInterrupted(signal);
    return { ...contents, checks: checkStore(join(to, STORE_FILE)), online: true, doubts: [] };
  } finally {
    await rm(to, { recursive: true, force: true });
  }
}

async function fileNamesIn(directory: string): Promise<readonly string[]> {
  return readdir(directory).catch((error) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  });
}

async function verifyAtRest({ dataDir, storeFile, signal }: VerifyOptions): Promise<StoreVerification> {
  const companionFiles = dirname(storeFile) === dataDir ? [credentialsFile(dataDir)] : [];
  const inspection = inspectStoppedStore(storeFile, companionFiles);
  if (!inspection)
    throw new BackupError(
      `There is no store at ${storeFile}. Set the data directory with --data-dir, or the store with --store.`,
    );
  const { schema, problems, doubts } = inspection;
  assertSound(STORE_FILE, problems);
  const directory = join(dirname(storeFile), SEARCH_DIRECTORY);
  let documentCount = 0;
  for (const name of await fileNamesIn(directory)) {
    if (!name.endsWith('.db')) continue;
    await assertNotInterrupted(signal);
    const indexInspection = inspectDocuments(join(directory, name));
    assertSound(`${SEARCH_DIRECTORY}/${name}`, indexInspection.problems);
    documentCount += indexInspection.documents;
  }
  const counts = { ...inspection.counts, documents: documentCount };
  const checks = checkStore(storeFile);
  return { schema, counts, checks, online: false, doubts: doubts.map(({ event }) => event) };
}

/**
 * Verifies the store by reading every database completely. Rejects with BackupError or StoreOpenError, which report damaged
 * or lost data.
 */
export function verifyStore(options: VerifyOptions): Promise<StoreVerification> {
  return explainInterruption(
    options.signal,
    'Interrupted: the store was not checked completely.',
    async () => (await verifyRunning(options)) ?? verifyAtRest(options),
  );
}
