/** Writes the generated files. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../setup/index.mjs';
import { sdkTypes } from './sdk-types.mjs';

const files = sdkTypes();
const folders = new Set([...files.keys()].map((path) => join(ROOT, dirname(path))));
for (const folder of folders) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
}
for (const [path, text] of files) writeFileSync(join(ROOT, path), text);
