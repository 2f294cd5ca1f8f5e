/** The PostgreSQL server of a measurement: one of its own, which syncs what it acknowledges, or one that is there already. */
import { startTestServer } from 'everstep/dist/stores/postgres/testing/server.js';
import { ownChildren } from './meter.js';

export interface BenchDatabase {
  readonly url: string;
  /** Of a server that was started for this. */
  readonly pids: readonly number[];
  stop(): Promise<void>;
}

/** As it comes, but for what the tests switch off: what is acknowledged is on the disk. Memory as its makers ship it. */
const OPTIONS = '-c fsync=on -c full_page_writes=on -c shared_buffers=128MB';

/** `given`: the URL of a database that is there, used as it is. Rejects when no server can be started. */
export async function openDatabase(given: string | null): Promise<BenchDatabase> {
  if (given !== null) return { url: given, pids: [], stop: async () => {} };
  const before = new Set(ownChildren());
  // Further ones may be given, and have the last word.
  process.env.EVERSTEP_TEST_POSTGRES_OPTIONS = `${OPTIONS} ${process.env.EVERSTEP_BENCH_POSTGRES_OPTIONS ?? ''}`;
  const server = await startTestServer();
  if (server.kind === 'missing') throw new Error(`there is no PostgreSQL server to measure on: ${server.why}`);
  const [keeper] = ownChildren().filter((pid) => !before.has(pid));
  return { url: server.url, pids: keeper === undefined ? [] : [keeper], stop: () => server.stop() };
}
