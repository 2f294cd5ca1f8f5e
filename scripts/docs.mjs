// npm run docs [-- --serve]: builds the documentation site into site/dist. Its dependencies have a separate lockfile, which no
// other command installs.
import { join } from 'node:path';
import { npmCommand, runToEnd } from './setup/child.mjs';
import { main, prepare, ROOT } from './setup/index.mjs';

const SITE = join(ROOT, 'site');

await main(async () => {
  const { node, env } = await prepare();
  const npm = npmCommand();
  // `npm ci` would reject a lockfile that lacks optional packages of other platforms.
  const install = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const run = async (command, args) => (await runToEnd(command, args, { cwd: SITE, env })).code;
  const installCode = await run(npm.command, [...npm.args, ...install]);
  if (installCode !== 0) return installCode;
  const buildCode = await run(node, ['build.mjs']);
  if (buildCode !== 0 || !process.argv.includes('--serve')) return buildCode;
  return run(node, [join('node_modules', 'astro', 'bin', 'astro.mjs'), 'preview']);
});
