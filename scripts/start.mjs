// npm start: prepares the clone, then runs `everstep dev` with the given arguments. The types are checked by `npm test`.
import { join } from 'node:path';
import { runToEnd } from './setup/child.mjs';
import { main, prepare, ROOT } from './setup/index.mjs';

await main(async () => {
  const { node, env } = await prepare({ checksTypes: false });
  const cli = join(ROOT, 'packages', 'everstep', 'dist', 'cli', 'bin.js');
  return (await runToEnd(node, [cli, 'dev', ...process.argv.slice(2)], { env })).code;
});
