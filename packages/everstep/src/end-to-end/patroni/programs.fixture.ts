/** Finds the programs that the tests of failovers start. Packages of the operating system install them. */
import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { findBinaries } from '../../stores/postgres/testing/binaries.js';

const PROGRAM_NAMES = ['patroni', 'patronictl', 'etcd', 'pgbouncer', 'psql'] as const;
type Name = (typeof PROGRAM_NAMES)[number];

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

/** Returns the absolute path, or null. Debian installs some programs in directories that only root searches. */
function find(name: string, path = process.env.PATH ?? ''): string | null {
  const directories = [...path.split(delimiter), '/usr/bin', '/usr/sbin'].filter((directory) => directory !== '');
  return directories.map((directory) => join(directory, name)).find(isProgram) ?? null;
}

/** Returns the paths of all programs, or the reason why the tests must be skipped. */
export function findPrograms(): Programs | string {
  if (process.platform !== 'linux') return 'these tests need Linux';
  const pathsByName = PROGRAM_NAMES.map((name) => [name, find(name)] as const);
  const missingNames = pathsByName.flatMap(([name, path]) => (path === null ? [name] : []));
  if (missingNames.length > 0)
    return `not installed: ${missingNames.join(', ')} (Debian: apt-get install patroni etcd-server pgbouncer postgresql)`;
  const postgres = findBinaries()?.directory;
  if (postgres === undefined || !isProgram(join(postgres, 'pg_rewind')))
    return 'not installed: a PostgreSQL server with pg_rewind (Debian: apt-get install postgresql)';
  const programs = Object.fromEntries(pathsByName) as Record<Name, string>;
  const output = execFileSync(programs.patroni, ['--version'], { encoding: 'utf8' });
  return { ...programs, postgres, version: /\d+(\.\d+)+/.exec(output)?.[0] ?? '' };
}

/** Returns whether a version is older than another. */
export function isOlder(version: string, than: string): boolean {
  return version.localeCompare(than, 'en', { numeric: true }) < 0;
}

/** Returns why the network of a server cannot be cut off here; null if it can. */
export function cannotCutNetworks(): string | null {
  if (process.getuid?.() !== 0) return 'only root can create network namespaces';
  const missingNames = ['ip', 'nsenter'].filter((name) => find(name) === null);
  return missingNames.length === 0 ? null : `not installed: ${missingNames.join(', ')}`;
}
