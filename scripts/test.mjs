// npm test: prepares the clone, then runs the style check and all tests. The last line has the counts. Arguments are those of
// tests/run.mjs: --quick, --changed [--since <revision>], or parts of paths.
import { join } from 'node:path';
import { runToEnd } from './setup/child.mjs';
import { main, prepare, ROOT } from './setup/index.mjs';
import { runStep } from './setup/report.mjs';

await main(async () => {
  const args = process.argv.slice(2);
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
  const style = await runStep('Checking style', () =>
    runToEnd(node, [biome, 'check', '--colors=off'], { cwd: ROOT, env, output: 'kept' }),
  );
  let failedBefore = style.code === 0 ? 0 : 1;
  if (style.code !== 0) console.error(style.output);
  if (args.includes('--quick')) {
    const language = await runStep('Checking the language', () =>
      runToEnd(node, [join(ROOT, 'scripts', 'language.mjs')], { cwd: ROOT, env, output: 'kept' }),
    );
    if (language.code !== 0) console.error(language.output);
    failedBefore += language.code === 0 ? 0 : 1;
  }
  const runner = join(ROOT, 'scripts', 'tests', 'run.mjs');
  return (await runToEnd(node, [runner, ROOT, String(failedBefore), ...args], { cwd: ROOT, env })).code;
});
