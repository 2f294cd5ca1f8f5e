/** Installs the dependencies in package-lock.json if they are outdated, without running install scripts. */
import { createHash } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { npmCommand, runToEnd } from './child.mjs';
import { Interrupted, runStep, SetupError, tail } from './report.mjs';

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
  const lockFile = join(root, 'package-lock.json');
  const stamp = join(root, 'node_modules', '.everstep-installed');
  const lockHash = createHash('sha256')
    .update(await readFile(lockFile))
    .digest('hex');
  if ((await readFile(stamp, 'utf8').catch(() => null)) === lockHash) return;
  // npm writes its own copy of the lock file last, so a recent copy shows that a manual installation is complete.
  const manualInstallMs = await modifiedMs(join(root, 'node_modules', '.package-lock.json'));
  if (manualInstallMs === 0 || manualInstallMs < (await modifiedMs(lockFile))) {
    await runStep('Installing dependencies', async () => {
      const npm = npmCommand();
      const { code, output, wasInterrupted } = await runToEnd(
        npm.command,
        [...npm.args, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
        { cwd: root, env, output: 'kept' },
      );
      if (wasInterrupted) throw new Interrupted();
      if (code !== 0) throw new SetupError(`npm ci failed (exit code ${code}):\n${tail(output)}`);
    });
  }
  await writeFile(stamp, lockHash);
}
