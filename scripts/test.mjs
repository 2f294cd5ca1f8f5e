// npm test: prepares the clone, then runs the style check and all tests. The last line has the counts.
import { join } from 'node:path';
import { runToEnd } from './setup/child.mjs';
import { main, prepare, ROOT } from './setup/index.mjs';
import { timed } from './setup/report.mjs';

await main(async () => {
  let prepared;
  try {
    prepared = await prepare();
  } catch (error) {
    console.error(error.message);
    console.log('0 passed, 1 failed');
    return 1;
  }
  const { node, env } = prepared;
  const biome = join(ROOT, 'node_modules', '@biomejs', 'biome', 'bin', 'biome');
  const style = await timed('Checking style', () =>
    runToEnd(node, [biome, 'check', '--colors=off'], { cwd: ROOT, env, output: 'kept' }),
  );
  if (style.code !== 0) console.error(style.output);
  const runner = join(ROOT, 'scripts', 'tests', 'run.mjs');
  const failedBefore = style.code === 0 ? 0 : 1;
  return (await runToEnd(node, [runner, ROOT, String(failedBefore), ...process.argv.slice(2)], { cwd: ROOT, env })).code;
});
