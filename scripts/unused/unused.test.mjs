/** Unused files, exports and dependencies. The entry points and the exceptions are in knip.jsonc. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { runToEnd } from '../setup/child.mjs';
import { ROOT } from '../setup/index.mjs';

test('every file, export and dependency is used', async () => {
  const knip = join(ROOT, 'node_modules', 'knip', 'bin', 'knip.js');
  const { code, output } = await runToEnd(process.execPath, [knip, '--no-progress'], { cwd: ROOT, output: 'kept' });
  assert.equal(code, 0, output);
});
