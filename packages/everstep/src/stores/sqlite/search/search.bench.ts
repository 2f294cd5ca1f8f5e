/**
 * Measures searches among very many documents. Fills an index and queries it:
 *
 *   node search.bench.js [documents = 1000000] [directory]
 *
 * Prints a line per kind of query, in ms, and the times of deletion. A filled directory is used as it is.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fill, measureSearches, target } from '../../shared/search/search-load.fixture.js';
import { openSearchDocuments } from './index.js';

const count = Number(process.argv[2] ?? 1_000_000);
const directory = process.argv[3] ?? (await mkdtemp(join(tmpdir(), 'everstep-search-')));
const isFilled = existsSync(join(directory, `${target.indexId}.db`));
const documents = openSearchDocuments({ directory, onFailure: (error) => console.error(error.message) });

if (!isFilled) await fill(documents, count);
await measureSearches(documents);

const freeBytes = async () => {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
};
const freeBytesBefore = await freeBytes();
let longestBlockMs = 0;
let lastTickAt = performance.now();
const watch = setInterval(() => {
  longestBlockMs = Math.max(longestBlockMs, performance.now() - lastTickAt);
  lastTickAt = performance.now();
}, 1);
const started = performance.now();
await documents.reset({ indexId: target.indexId, namespace: target.namespace });
console.log(`emptied in ${(performance.now() - started).toFixed(1)} ms`);
await documents.resume(target);
const { diskBytes } = await documents.info(target);
const seconds = ((performance.now() - started) / 1000).toFixed(1);
console.log(`its space was released after ${seconds} s: ${Math.round(diskBytes / 2 ** 20)} MiB are left`);
await documents.drop(target);
console.log(`free disk space grew by ${Math.round(((await freeBytes()) - freeBytesBefore) / 2 ** 20)} MiB`);
clearInterval(watch);
console.log(`the thread of the server was blocked for at most ${longestBlockMs.toFixed(1)} ms`);
await documents.close();
if (process.argv[3] === undefined) await rm(directory, { recursive: true });
