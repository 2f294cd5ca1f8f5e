#!/usr/bin/env node
// Here and not in dist, so that it exists when npm links it, before anything is built.
import { existsSync } from 'node:fs';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
/** There in a clone of the repository, not in the published package. */
const clone = new URL('../../../scripts/command.mjs', import.meta.url);

if (major > 22 || (major === 22 && minor >= 13)) {
  await import('../dist/cli/bin.js');
} else if (existsSync(clone)) {
  await import(clone.href);
} else {
  process.stderr.write(`Everstep needs Node 22.13 or newer; this is ${process.version}.\n`);
  process.exitCode = 1;
}
