// Runs test files in one process, each as a separate suite. Arguments: the files, absolute.
import { createRequire } from 'node:module';
import { describe } from 'node:test';

const require = createRequire(import.meta.url);
// Loaded synchronously, so that the hooks and tests of a file belong to its suite.
for (const file of process.argv.slice(2)) describe(file, () => require(file));
