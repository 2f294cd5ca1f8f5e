// Runs the `everstep` command of a clone whose Node is too old, with the Node that npm start installs.
import { join } from 'node:path';
import { runToEnd } from './setup/child.mjs';
import { main, ROOT } from './setup/index.mjs';
import { runExclusively } from './setup/lock.mjs';
import { findRuntime } from './setup/runtime.mjs';

await main(async () => {
  const { node } = await runExclusively(ROOT, () => findRuntime(ROOT));
  const command = join(ROOT, 'packages', 'everstep', 'bin', 'everstep.js');
  return (await runToEnd(node, [command, ...process.argv.slice(2)])).code;
});
