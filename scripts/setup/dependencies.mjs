/** Installs the dependencies in package-lock.json if they are not up to date. Does not run install scripts. */
import { createHash } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { npmCommand, runToEnd } from './child.mjs';
import { Interrupted, SetupError, tail, timed } from './report.mjs';

const modifiedMs = (path) =>
  stat(path).then(
    (entry) => entry.mtimeMs,
    () => 0,
  );

/**
 * @param {string} root of the repository
 * @param {NodeJS.ProcessEnv} env
 */
export async function installDependencies(root, env) {
  const lock = join(root, 'package-lock.json');
  const stamp = join(root, 'node_modules', '.everstep-installed');
  const wanted = createHash('sha256')
    .update(await readFile(lock))
    .digest('hex');
  if ((await readFile(stamp, 'utf8').catch(() => null)) === wanted) return;
  // npm writes its own copy of the lock file last, so it shows that a manual npm run is complete.
  const byHandMs = await modifiedMs(join(root, 'node_modules', '.package-lock.json'));
  if (byHandMs === 0 || byHandMs < (await modifiedMs(lock))) {
    await timed('Installing dependencies', async () => {
      const npm = npmCommand();
      const { code, output, interrupted } = await runToEnd(
        npm.command,
        [...npm.args, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
        { cwd: root, env, output: 'kept' },
      );
      if (interrupted) throw new Interrupted();
      if (code !== 0) throw new SetupError(`npm ci failed (exit code ${code}):\n${tail(output)}`);
    });
  }
  await writeFile(stamp, wanted);
}
