// npm run bench:neighbors -- --only due-tasks ...: prepares the clone, then runs the benchmark.
import { join } from 'node:path';
import { runToEnd } from './setup/child.mjs';
import { main, prepare, ROOT } from './setup/index.mjs';

await main(async () => {
  const { node, env } = await prepare();
  const bench = join(ROOT, 'bench', 'dist', 'neighbors', 'main.js');
  return (await runToEnd(node, ['--disable-warning=ExperimentalWarning', bench, ...process.argv.slice(2)], { env })).code;
});
