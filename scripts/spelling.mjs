// npm run lint: the spelling of the tracked files. The spell checker has a lockfile of its own, which neither npm start nor
// npm test installs; the first call installs it.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { npmCommand, runToEnd } from './setup/child.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const HERE = fileURLToPath(new URL('spelling', import.meta.url));
const CHECKER = `${HERE}/node_modules/cspell/bin.mjs`;
const CHECKED = /\.(md|tsx?|mjs|js|css|ya?ml|html)$/;

async function install() {
  if (existsSync(CHECKER)) return 0;
  const npm = npmCommand();
  const options = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  return (await runToEnd(npm.command, [...npm.args, ...options], { cwd: HERE })).code;
}

const installed = await install();
const listed = spawnSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
if (installed === 0 && listed.status === 0) {
  const files = listed.stdout.split('\n').filter((path) => CHECKED.test(path));
  const options = ['lint', '--config', `${HERE}/cspell.yaml`, '--root', ROOT, '--file-list', 'stdin', '--no-progress'];
  const { status } = spawnSync(process.execPath, [CHECKER, ...options, ...process.argv.slice(2)], {
    cwd: ROOT,
    input: files.join('\n'),
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  process.exitCode = status ?? 1;
} else {
  console.error(installed === 0 ? 'git ls-files failed: run this in a clone' : 'the spell checker could not be installed');
  process.exitCode = 1;
}
