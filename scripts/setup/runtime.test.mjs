import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from './index.mjs';
import { isAtLeast } from './runtime.mjs';

const VERSIONS = [
  ['v22.13.0', '>=22.13.0', true],
  ['v22.12.9', '>=22.13.0', false],
  ['v20.20.2', '>=22.13.0', false],
  ['v24.0.0', '>=22.13.0', true],
  ['v22.13.0', '22.13', true],
  ['v9.9.9', '22.13.0', false],
];
for (const [version, minimum, expected] of VERSIONS) {
  test(`${version} ${expected ? 'is' : 'is not'} at least ${minimum}`, () => {
    assert.equal(isAtLeast(version, minimum), expected);
  });
}

for (const lock of ['package-lock.json', 'scripts/runtime/package-lock.json', 'scripts/tests/postgres/package-lock.json']) {
  test(`${lock} uses the public registry and has an integrity hash for every package`, async () => {
    const { packages } = JSON.parse(await readFile(join(ROOT, lock), 'utf8'));
    const installed = Object.entries(packages).filter(([path, entry]) => path.includes('node_modules/') && !entry.link);
    assert.ok(installed.length > 0);
    for (const [path, { resolved, integrity }] of installed) {
      assert.match(integrity ?? '', /^sha512-/, path);
      if (resolved !== undefined) assert.match(resolved, /^https:\/\/registry\.npmjs\.org\//, path);
    }
  });
}
