/** Records which shards of a Citus cluster the statements of this process use, from the notices of the coordinator. */
import pg from 'pg';
import { withClusterClient } from './citus.js';

export interface ShardRecorder {
  /** URL of the schema. Connections with it are recorded. */
  readonly url: string;
  /** Returns the shards used since the last call, without tables that are on all servers. */
  takeUsedShards(): ReadonlySet<string>;
}

const SHARD = /_(\d{6,})\b/g;
/** Id in the statement with which a store regularly checks that each server responds. It belongs to no operation. */
const CHECK_OF_SERVER = "'probe ";

/** Starts recording. The tables of the schema must be distributed. */
export async function recordShards(schemaUrl: string): Promise<ShardRecorder> {
  const shards = new Map<string, string>();
  await withClusterClient(schemaUrl, async (client) => {
    // Shards of different tables with the same range of values are on the same server and count as one.
    const { rows } = await client.query<{ id: string; range: string }>(`
      SELECT s.shardid::text AS id, s.shardminvalue AS range
      FROM pg_dist_shard s JOIN pg_class c ON c.oid = s.logicalrelid
      WHERE c.relnamespace = current_schema()::regnamespace AND s.shardminvalue IS NOT NULL`);
    for (const { id, range } of rows) shards.set(id, range);
  });
  let texts: string[] = [];
  const { emit } = pg.Client.prototype;
  const recordingEmit = function (this: pg.Client, event: string, ...args: unknown[]): boolean {
    const notice = args[0] as { readonly message?: unknown } | undefined;
    const message = String(notice?.message);
    if (event === 'notice' && !message.includes(CHECK_OF_SERVER)) texts.push(message);
    return Reflect.apply(emit, this, [event, ...args]) as boolean;
  };
  Object.assign(pg.Client.prototype, { emit: recordingEmit });
  const url = new URL(schemaUrl);
  url.searchParams.set('options', `${url.searchParams.get('options')} -c citus.log_remote_commands=on`);
  return {
    url: url.href,
    takeUsedShards() {
      const usedShards = new Set<string>();
      for (const [, id = ''] of texts.flatMap((text) => [...text.matchAll(SHARD)])) {
        const range = shards.get(id);
        if (range !== undefined) usedShards.add(range);
      }
      texts = [];
      return usedShards;
    },
  };
}
