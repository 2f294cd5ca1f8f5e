// Prepares the clone, then runs one of its programs on the same Node as `npm start`: node scripts/prepared.mjs <program> [arguments].
import { join } from 'node:path';
import { runToEnd } from './setup/child.mjs';
import { main, prepare, ROOT } from './setup/index.mjs';

await main(async () => {
  const [program = '', ...args] = process.argv.slice(2);
  const { node, env } = await prepare();
  return (await runToEnd(node, ['--disable-warning=ExperimentalWarning', join(ROOT, program), ...args], { env })).code;
});
