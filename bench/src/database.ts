/** The PostgreSQL server of a measurement: one started for it, which syncs commits, or an existing one. */
import { startTestServer } from 'everstep/dist/stores/postgres/testing/server.js';
import { ownChildren } from './meter.js';

export interface BenchDatabase {
  readonly url: string;
  /** Process ids of a server started for the measurement; empty for an existing one. */
  readonly pids: readonly number[];
  stop(): Promise<void>;
}

/** The default settings of PostgreSQL. Tests disable syncing, but in a benchmark, acknowledged changes must be on the disk. */
const OPTIONS = '-c fsync=on -c full_page_writes=on -c shared_buffers=128MB';

/** Opens the database at `existingUrl`, or starts a server if it is null. Rejects if no server can be started. */
export async function openDatabase(existingUrl: string | null): Promise<BenchDatabase> {
  if (existingUrl !== null) return { url: existingUrl, pids: [], stop: async () => {} };
  const earlierPids = new Set(ownChildren());
  // Additional settings override the earlier ones.
  process.env.EVERSTEP_TEST_POSTGRES_OPTIONS = `${OPTIONS} ${process.env.EVERSTEP_BENCH_POSTGRES_OPTIONS ?? ''}`;
  const server = await startTestServer();
  if (server.kind === 'missing') throw new Error(`no PostgreSQL server is available: ${server.why}`);
  const [serverPid] = ownChildren().filter((pid) => !earlierPids.has(pid));
  return { url: server.url, pids: serverPid === undefined ? [] : [serverPid], stop: () => server.stop() };
}
