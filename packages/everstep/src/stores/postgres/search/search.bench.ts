/**
 * Measures searches in a large index. Fills an index and queries it:
 *
 *   node search.bench.js [documents = 1000000] [URL of a PostgreSQL database]
 *
 * Prints the times of each kind of query and of deletions, in ms. Starts a PostgreSQL server if no URL is given.
 */
import { performance } from 'node:perf_hooks';
import { fill, measureSearches, target } from '../../shared/search/search-load.fixture.js';
import { Database } from '../connection/connection.js';
import { migrate } from '../connection/migrate.js';
import { startTestServer } from '../testing/server.js';
import { openPostgresSearchDocuments } from './index.js';

const documentCount = Number(process.argv[2] ?? 1_000_000);
const log = { debug() {}, info() {}, warn() {}, error() {} };
const server = process.argv[3] === undefined ? await startTestServer() : null;
if (server?.kind === 'missing') throw new Error(server.why);
const url = server?.url ?? process.argv[3] ?? '';
const database = new Database({ url, log });
await migrate(database, url);
await database.close();
const documents = openPostgresSearchDocuments({ url, log, onFailure: (error) => console.error(error.message) });

await fill(documents, documentCount);
await measureSearches(documents);

const startedAt = performance.now();
await documents.upsert({ ...target, namespace: 'other', documents: [{ id: 'a', content: '{"title":"w0x"}', metadata: null }] });
await documents.removeNamespace(target);
console.log(`a namespace was hidden in ${(performance.now() - startedAt).toFixed(1)} ms`);
await documents.resume(target);
const { diskBytes } = await documents.info(target);
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
console.log(`its space was released after ${seconds} s: ${Math.round(diskBytes / 2 ** 20)} MiB are left`);
const dropStartedAt = performance.now();
await documents.drop(target);
console.log(`the index was dropped in ${(performance.now() - dropStartedAt).toFixed(1)} ms`);
await documents.close();
await server?.stop();
