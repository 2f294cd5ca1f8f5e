// npm test: prepares the clone, then runs the style check and all tests. The last line has the counts. Arguments are those of
// tests/run.mjs: --quick, --changed [--since <revision>], or parts of paths.
import { join } from 'node:path';
import { runToEnd } from './setup/child.mjs';
import { main, prepare, ROOT } from './setup/index.mjs';
import { runStep } from './setup/report.mjs';

await main(async () => {
  const args = process.argv.slice(2);
  let preparation;
  try {
    preparation = await prepare();
  } catch (error) {
    console.error(error.message);
    console.log('0 passed, 1 failed');
    return 1;
  }
  const { node, env } = preparation;
  const biome = join(ROOT, 'node_modules', '@biomejs', 'biome', 'bin', 'biome');
  const styleCheck = await runStep('Checking style', () =>
    runToEnd(node, [biome, 'check', '--colors=off'], { cwd: ROOT, env, output: 'kept' }),
  );
  let failedBefore = styleCheck.code === 0 ? 0 : 1;
  if (styleCheck.code !== 0) console.error(styleCheck.output);
  if (args.includes('--quick')) {
    const languageCheck = await runStep('Checking the language', () =>
      runToEnd(node, [join(ROOT, 'scripts', 'language.mjs')], { cwd: ROOT, env, output: 'kept' }),
    );
    if (languageCheck.code !== 0) console.error(languageCheck.output);
    failedBefore += languageCheck.code === 0 ? 0 : 1;
  }
  const runner = join(ROOT, 'scripts', 'tests', 'run.mjs');
  return (await runToEnd(node, [runner, ROOT, String(failedBefore), ...args], { cwd: ROOT, env })).code;
});
