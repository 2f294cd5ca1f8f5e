#!/usr/bin/env node
// Not in dist, so that it exists when npm links it before the first build.
import { existsSync } from 'node:fs';
import { isSupported, oldestNode } from './node-version.js';

/** Exists only in a clone of the repository. */
const clone = new URL('../../../scripts/command.mjs', import.meta.url);

if (isSupported(process.versions.node, oldestNode())) {
  await import('../dist/cli/bin.js');
} else if (existsSync(clone)) {
  await import(clone.href);
} else {
  process.stderr.write(`Everstep requires Node ${oldestNode()} or later. The current version is ${process.version}.\n`);
  process.exitCode = 1;
}
