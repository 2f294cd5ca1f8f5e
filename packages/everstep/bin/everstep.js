#!/usr/bin/env node
// Here and not in dist, so that it exists when npm links it, before anything is built.
import { existsSync } from 'node:fs';
import { isSupported, oldestNode } from './node-version.js';

/** There in a clone of the repository, not in the published package. */
const clone = new URL('../../../scripts/command.mjs', import.meta.url);

if (isSupported(process.versions.node, oldestNode())) {
  await import('../dist/cli/bin.js');
} else if (existsSync(clone)) {
  await import(clone.href);
} else {
  process.stderr.write(`Everstep needs Node ${oldestNode()} or newer; this is ${process.version}.\n`);
  process.exitCode = 1;
}
