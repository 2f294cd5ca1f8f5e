/** Finds the programs that the tests of failovers start. They are installed by packages of the system, for example those of Debian. */
import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { findBinaries } from '../../stores/postgres/testing/binaries.js';

const WANTED = ['patroni', 'patronictl', 'etcd', 'pgbouncer', 'psql'] as const;
type Name = (typeof WANTED)[number];

export type Programs = Readonly<Record<Name, string>> & {
  /** Directory with the programs of the PostgreSQL server. */
  readonly postgres: string;
  /** Version of Patroni, for example 3.0.2. */
  readonly version: string;
};

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Absolute path, or null. Debian installs some of them where only root searches. */
function find(name: string, path = process.env.PATH ?? ''): string | null {
  const directories = [...path.split(delimiter), '/usr/bin', '/usr/sbin'].filter((directory) => directory !== '');
  return directories.map((directory) => join(directory, name)).find(isProgram) ?? null;
}

/** The paths of all programs, or the reason why the tests must be skipped. */
export function findPrograms(): Programs | string {
  if (process.platform !== 'linux') return 'these tests need Linux';
  const found = WANTED.map((name) => [name, find(name)] as const);
  const missing = found.flatMap(([name, path]) => (path === null ? [name] : []));
  if (missing.length > 0)
    return `not installed: ${missing.join(', ')} (Debian: apt-get install patroni etcd-server pgbouncer postgresql)`;
  const postgres = findBinaries()?.directory;
  if (postgres === undefined || !isProgram(join(postgres, 'pg_rewind')))
    return 'not installed: a PostgreSQL server with pg_rewind (Debian: apt-get install postgresql)';
  const programs = Object.fromEntries(found) as Record<Name, string>;
  const printed = execFileSync(programs.patroni, ['--version'], { encoding: 'utf8' });
  return { ...programs, postgres, version: /\d+(\.\d+)+/.exec(printed)?.[0] ?? '' };
}

/** Whether a version is older than another. */
export function isOlder(version: string, than: string): boolean {
  return version.localeCompare(than, 'en', { numeric: true }) < 0;
}

/** Why no network of a server can be cut off here; null if it can. */
export function cannotCutNetworks(): string | null {
  if (process.getuid?.() !== 0) return 'only root can create network namespaces';
  const missing = ['ip', 'nsenter'].filter((name) => find(name) === null);
  return missing.length === 0 ? null : `not installed: ${missing.join(', ')}`;
}
