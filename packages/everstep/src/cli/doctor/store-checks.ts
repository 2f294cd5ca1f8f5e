/** Examines the store and its backups without changing them. */
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readManifest } from '../../backup/contents.js';
import { credentialsFile } from '../../bootstrap/credentials.js';
import { type DatabaseExamination, examineDatabase } from '../../stores/postgres/storage/diagnosis.js';
import { StoreOpenError } from '../../stores/sqlite/connection/connection.js';
import { inspectQuickly } from '../../stores/sqlite/connection/store-at-rest.js';
import { type Finding, findingsOf } from './findings.js';
import type { BackupFacts } from './machine-checks.js';
import { assessClock } from './server-checks.js';

const { ok, skipped, warning, problem } = findingsOf('store');
const SLOW_DATABASE_MS = 100;
const MAX_BACKUPS = 1_000;
const SILENT_LOG = { debug() {}, info() {}, warn() {}, error() {} };

function assessSchema(schema: number, currentSchema: number): Finding | null {
  if (schema > currentSchema)
    return problem(
      `the store has schema ${schema}, newer than ${currentSchema}, the latest that this version supports`,
      'Install the version of Everstep that last used this store.',
    );
  if (schema < currentSchema)
    return warning(
      `the store has schema ${schema}; the next start of this version migrates it to ${currentSchema}`,
      'Make a backup before the upgrade: an earlier version cannot open the store afterwards.',
    );
  return null;
}

/** Checks an embedded store. A store that a running server has open is not examined. */
export function checkFile(storeFile: string, dataDir: string, isRunning: boolean): readonly Finding[] {
  if (isRunning) return [ok('the server has the store open; everstep verify checks all of it')];
  try {
    const companionFiles = dirname(storeFile) === dataDir ? [credentialsFile(dataDir)] : [];
    const inspection = inspectQuickly(storeFile, companionFiles);
    if (!inspection) return [skipped(`there is no store at ${storeFile} yet`)];
    const doubtFindings = inspection.doubts.map(({ event }) =>
      warning(event, 'See "Damaged files" in docs/operations/durability.md.'),
    );
    const schemaFinding = assessSchema(inspection.schema, inspection.currentSchema);
    const findings = schemaFinding ? [...doubtFindings, schemaFinding] : doubtFindings;
    return findings.length > 0 ? findings : [ok(`the store ${storeFile} opens; everstep verify checks all of it`)];
  } catch (error) {
    if (error instanceof StoreOpenError && error.code === 'in-use')
      return [
        problem(
          `${error.message} No server responds at its address`,
          'Find the process that uses the store, and check its address and log.',
        ),
      ];
    return [
      problem(error instanceof Error ? error.message : String(error), 'See "Damaged files" in docs/operations/durability.md.'),
    ];
  }
}

/** Assesses a PostgreSQL store. `now` is the time of this machine when the database was examined, Unix ms. */
export function assessDatabase(examination: DatabaseExamination, now: number): readonly Finding[] {
  const { version, hasFsync, roundTripMs, schema, currentSchema } = examination;
  const possibleFindings: (Finding | null)[] = [
    schema === 0
      ? skipped('the database has no Everstep schema yet; the first start creates it')
      : assessSchema(schema, currentSchema),
    hasFsync
      ? null
      : problem('fsync is off in PostgreSQL: a crash of its machine can lose acknowledged changes', 'Set fsync = on.'),
    roundTripMs <= SLOW_DATABASE_MS
      ? null
      : warning(
          `a statement takes ${Math.round(roundTripMs)} ms`,
          'Run the server in the region of its database: each step waits for several round trips.',
        ),
  ];
  const findings = possibleFindings.filter((finding) => finding !== null);
  const clockFinding = assessClock('the database', examination.now - (now - roundTripMs / 2), roundTripMs / 2);
  return [
    ...(findings.length > 0 ? findings : [ok(`PostgreSQL ${version} responds within ${Math.ceil(roundTripMs)} ms`)]),
    clockFinding,
  ];
}

export async function checkDatabase(url: string): Promise<readonly Finding[]> {
  try {
    return assessDatabase(await examineDatabase(url, SILENT_LOG), Date.now());
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [problem(`the database cannot be used: ${reason}`, 'Check EVERSTEP_STORE, the network, and the log of PostgreSQL.')];
  }
}

/** Finds the newest complete backup in a directory: the directory itself, or those in it. */
export async function findBackups(directory: string): Promise<BackupFacts> {
  const entryNames = await readdir(directory).catch(() => []);
  const candidates = [directory, ...entryNames.slice(-MAX_BACKUPS).map((name) => join(directory, name))];
  let newestBackup: BackupFacts['newest'] = null;
  for (const candidate of candidates) {
    const manifest = await readManifest(candidate).catch(() => null);
    const startedAt = manifest === null ? Number.NaN : Date.parse(manifest.beganAt);
    if (!Number.isNaN(startedAt) && (newestBackup === null || startedAt > newestBackup.startedAt))
      newestBackup = { directory: candidate, startedAt };
  }
  return { directory, newest: newestBackup };
}
