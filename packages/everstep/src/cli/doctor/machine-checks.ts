/** Assesses what `everstep doctor` finds on the machine: disk, files, backups and limits. These functions are pure. */
import { connectionLimitsFor } from '../../config/connection-limits.js';
import { LIMITS } from '../../config/limits.js';
import { duration } from '../output.js';
import { type Finding, findingsOf } from './findings.js';

const MIB = 2 ** 20;
const MIN_FREE_BYTES = 256 * MIB;
const MIN_FREE_SHARE = 0.05;
const LOW_FREE_SHARE = 0.15;
/** Minimum number of file descriptors. With fewer, a few hundred clients and apps would use them up. */
const MIN_DESCRIPTORS = 4_096;
const MIN_MEMORY_BYTES = 512 * MIB;
/** Memory for code, stack, connections and the page cache of the store. */
const BASE_BYTES = 160 * MIB;
const HEAP_SHARE = 0.6;

/** Returns a human-readable size: `1.5 GiB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

export interface DiskFacts {
  readonly path: string;
  readonly freeBytes: number;
  readonly totalBytes: number;
  /** Size of the embedded store; 0 if it is elsewhere. */
  readonly storeBytes: number;
}

export function assessDisk({ path, freeBytes, totalBytes, storeBytes }: DiskFacts): Finding {
  const { ok, warning, problem } = findingsOf('disk');
  const freeText = `${formatBytes(freeBytes)} of ${formatBytes(totalBytes)} are free on the disk of ${path}`;
  const fix = 'Free space, enlarge the disk, or shorten the retention of runs. A full disk stops all deliveries.';
  if (freeBytes < MIN_FREE_BYTES || freeBytes < totalBytes * MIN_FREE_SHARE) return problem(freeText, fix);
  if (freeBytes < totalBytes * LOW_FREE_SHARE) return warning(freeText, fix);
  if (freeBytes < storeBytes)
    return warning(
      `${freeText}, less than the store (${formatBytes(storeBytes)})`,
      'Free space, or enlarge the disk: everstep verify copies the store.',
    );
  return ok(freeText);
}

export interface FileFacts {
  readonly path: string;
  /** Permission bits; null if the file does not exist. */
  readonly mode: number | null;
  readonly isDirectory: boolean;
  /** Whether the current user can read and write it. */
  readonly isUsable: boolean;
}

const GROUP_AND_OTHERS_MODE = 0o077;

/** Assesses the permissions of files with secrets or payloads, which only their owner may use. */
export function assessFiles(files: readonly FileFacts[]): readonly Finding[] {
  const { ok, problem } = findingsOf('files');
  const problems = files.flatMap(({ path, mode, isDirectory, isUsable }): readonly Finding[] => {
    if (mode === null) return [];
    if (!isUsable)
      return [
        problem(
          `this user cannot use ${path}`,
          `Run this command as the user that runs the server, or change the owner of ${path}.`,
        ),
      ];
    if ((mode & GROUP_AND_OTHERS_MODE) === 0) return [];
    const modeText = (mode & 0o777).toString(8).padStart(3, '0');
    return [problem(`other users can access ${path} (mode ${modeText})`, `chmod ${isDirectory ? '700' : '600'} ${path}`)];
  });
  const existingCount = files.filter(({ mode }) => mode !== null).length;
  return problems.length > 0 ? problems : [ok(`${existingCount} files and directories are private`)];
}

export interface BackupFacts {
  readonly directory: string;
  /** Newest complete backup; null if there is none. */
  readonly newest: { readonly directory: string; readonly startedAt: number } | null;
}

export function assessBackups(
  backups: BackupFacts | null,
  { now, maxAgeMs, isPostgres }: { readonly now: number; readonly maxAgeMs: number; readonly isPostgres: boolean },
): Finding {
  const { ok, skipped, problem } = findingsOf('backups');
  if (isPostgres) return skipped('the store is a PostgreSQL database: check its backups with the tools of the database');
  if (!backups) return skipped('pass --backups <directory> to check the age of the latest backup');
  if (!backups.newest)
    return problem(
      `${backups.directory} contains no complete backup`,
      'Make one with everstep backup --to <directory>, and schedule it.',
    );
  const ageMs = Math.max(0, now - backups.newest.startedAt);
  const text = `the latest backup, ${backups.newest.directory}, is ${duration(ageMs)} old`;
  if (ageMs <= maxAgeMs) return ok(text);
  return problem(`${text} (allowed: ${duration(maxAgeMs)})`, 'Make a backup now, and find out why the scheduled ones fail.');
}

/** Assesses the maximum number of open files of a process. `openFileLimit` is null if it is unknown or unlimited. */
export function assessDescriptors(openFileLimit: number | null): Finding {
  const { ok, skipped, warning } = findingsOf('descriptors');
  if (openFileLimit === null) return skipped('the limit of open files is unknown here, or there is none');
  const text = `a process started here may open ${openFileLimit} files, enough for ${connectionLimitsFor(openFileLimit).served} client connections`;
  if (openFileLimit >= MIN_DESCRIPTORS) return ok(text);
  return warning(text, 'Raise the limit for the server: ulimit -n 65536, or LimitNOFILE=65536 in a systemd unit.');
}

export interface MemoryFacts {
  /** Memory of the container, or of the machine. */
  readonly limitBytes: number;
  /** Maximum heap of a Node process started with the same environment. */
  readonly heapBytes: number;
}

export function assessMemory({ limitBytes, heapBytes }: MemoryFacts): Finding {
  const { ok, warning, problem } = findingsOf('memory');
  const text = `memory ${formatBytes(limitBytes)}, maximum heap ${formatBytes(heapBytes)}`;
  if (limitBytes < MIN_MEMORY_BYTES)
    return problem(text, `Give the server at least ${formatBytes(MIN_MEMORY_BYTES)}; see docs/operations/scaling.md.`);
  const bufferBytes = LIMITS.maxReplyBytesInMemory;
  if (heapBytes + bufferBytes + BASE_BYTES <= limitBytes) return ok(text);
  const heapMib = Math.floor((limitBytes * HEAP_SHARE) / MIB);
  return warning(
    `${text}, and up to ${formatBytes(bufferBytes)} for responses of apps: together more than the memory`,
    `Set NODE_OPTIONS=--max-old-space-size=${heapMib} for the server, or give it more memory. Otherwise the system may kill it under load.`,
  );
}
