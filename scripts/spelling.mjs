// npm run lint: checks the spelling of the tracked files. The spell checker has a separate lockfile, which neither npm start nor
// npm test installs; the first call installs it.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { npmCommand, runToEnd } from './setup/child.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SPELLING_DIRECTORY = fileURLToPath(new URL('spelling', import.meta.url));
const CHECKER = `${SPELLING_DIRECTORY}/node_modules/cspell/bin.mjs`;
const CHECKED_FILE = /\.(md|tsx?|mjs|js|css|ya?ml|html)$/;

async function install() {
  if (existsSync(CHECKER)) return 0;
  const npm = npmCommand();
  const options = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  return (await runToEnd(npm.command, [...npm.args, ...options], { cwd: SPELLING_DIRECTORY })).code;
}

const installCode = await install();
const gitResult = spawnSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
if (installCode === 0 && gitResult.status === 0) {
  const files = gitResult.stdout.split('\n').filter((path) => CHECKED_FILE.test(path));
  const options = [
    'lint',
    '--config',
    `${SPELLING_DIRECTORY}/cspell.yaml`,
    '--root',
    ROOT,
    '--file-list',
    'stdin',
    '--no-progress',
  ];
  const { status } = spawnSync(process.execPath, [CHECKER, ...options, ...process.argv.slice(2)], {
    cwd: ROOT,
    input: files.join('\n'),
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  process.exitCode = status ?? 1;
} else {
  console.error(installCode === 0 ? 'git ls-files failed: run this in a clone' : 'the spell checker could not be installed');
  process.exitCode = 1;
}
