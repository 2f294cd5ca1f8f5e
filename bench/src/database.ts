/** The PostgreSQL server of a measurement: one started for it, which syncs commits, or an existing one. */
import { startTestServer } from 'everstep/dist/stores/postgres/testing/server.js';
import { ownChildren } from './meter.js';

export interface BenchDatabase {
  readonly url: string;
  /** Process id of a server started for the measurement. */
  readonly pids: readonly number[];
  stop(): Promise<void>;
}

/** Default settings with sync, which the tests turn off: acknowledged changes are on the disk. */
const OPTIONS = '-c fsync=on -c full_page_writes=on -c shared_buffers=128MB';

/** `given`: the URL of an existing database. Rejects when no server can be started. */
export async function openDatabase(given: string | null): Promise<BenchDatabase> {
  if (given !== null) return { url: given, pids: [], stop: async () => {} };
  const before = new Set(ownChildren());
  // Additional settings override the earlier ones.
  process.env.EVERSTEP_TEST_POSTGRES_OPTIONS = `${OPTIONS} ${process.env.EVERSTEP_BENCH_POSTGRES_OPTIONS ?? ''}`;
  const server = await startTestServer();
  if (server.kind === 'missing') throw new Error(`no PostgreSQL server is available: ${server.why}`);
  const [keeper] = ownChildren().filter((pid) => !before.has(pid));
  return { url: server.url, pids: keeper === undefined ? [] : [keeper], stop: () => server.stop() };
}
