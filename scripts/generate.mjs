// npm run generate: writes the generated source files. It needs no build, because a build may need its result.
import { join } from 'node:path';
import { runToEnd } from './setup/child.mjs';
import { installDependencies } from './setup/dependencies.mjs';
import { main, ROOT } from './setup/index.mjs';
import { findRuntime } from './setup/runtime.mjs';

await main(async () => {
  const { node } = await findRuntime(ROOT);
  await installDependencies(ROOT, process.env);
  const writer = join(ROOT, 'scripts', 'generate', 'write.mjs');
  return (await runToEnd(node, ['--disable-warning=ExperimentalWarning', writer])).code;
});
