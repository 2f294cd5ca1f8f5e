// npm run test:starters: copies each starter, installs it with a packed SDK as a user does, and runs its workflow on Everstep.
// Requires the npm registry and takes minutes. Arguments: names of starters (default: all).
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { main, prepare } from './setup/index.mjs';
import {
  checkWorkflow,
  cleanEnvironment,
  copyStarter,
  packSdk,
  run,
  STARTER_NAMES,
  startEverstep,
  writeEnvironment,
} from './starters/starter.mjs';

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(128 + constants.signals[signal]));

/** Makes the packed SDK the dependency of a copy, in place of the published one. */
function useArchive(directory, archive) {
  const file = join(directory, 'package.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8'));
  manifest.dependencies['@everstep/sdk'] = `file:${archive}`;
  writeFileSync(file, JSON.stringify(manifest));
  return manifest;
}

async function checkStarter(name, { directory, archive, server }) {
  copyStarter(name, directory);
  const { scripts } = useArchive(directory, archive);
  run('npm', ['install', '--no-audit', '--no-fund'], { cwd: directory });
  writeEnvironment(directory, server);
  for (const script of ['check', 'build'].filter((script) => scripts[script])) {
    run('npm', ['run', script], { cwd: directory, env: { ...cleanEnvironment(), NEXT_TELEMETRY_DISABLED: '1' } });
    console.log(`${name}: the script ${script} passed`);
  }
  for (const script of ['dev', 'start']) {
    const runId = await checkWorkflow(directory, ['npm', 'run', script], ['npm', 'run', '--silent', 'trigger']);
    console.log(`${name}: the app that the script ${script} starts completed run ${runId}`);
  }
}

await main(async () => {
  const { env } = await prepare();
  process.env.PATH = env.PATH;
  const names = process.argv.length > 2 ? process.argv.slice(2) : STARTER_NAMES;
  const root = mkdtempSync(join(tmpdir(), 'everstep-starters-'));
  let failureCount = 0;
  let server;
  try {
    const archive = packSdk(root);
    server = await startEverstep(root);
    for (const name of names) {
      try {
        await checkStarter(name, { directory: join(root, name), archive, server });
      } catch (error) {
        failureCount++;
        console.error(`${name} failed: ${error.message}`);
      }
    }
  } finally {
    await server?.stop();
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  }
  console.log(`${names.length - failureCount} passed, ${failureCount} failed`);
  return failureCount === 0 ? 0 : 1;
});
