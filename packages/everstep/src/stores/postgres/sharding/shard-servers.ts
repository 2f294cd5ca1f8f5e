/**
 * Tracks which servers of a cluster are down. A server that cannot be reached or refuses writes affects only its own instances:
 * statements that name one of them are refused without being sent, and reads over all servers omit them. A periodic write detects
 * when the server is back.
 */

import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import type { Log } from '../../../ports/log.js';
import type { StoreServers } from '../../../ports/stores/commit-store.js';
import { PROBE_BYTES } from '../../../ports/stores/commit-store.js';
import { ServerUnavailableError } from '../../../ports/stores/store-unavailable.js';
import { isOutage, isResponseTimeout, isWriteRefusal } from '../connection/errors.js';

const FIRST_PROBE_MS = 100;
const MAX_PROBE_DELAY_MS = 2_000;
const PROBE_TIMEOUT_MS = 5_000;
/** Number of ids that are tried to find one on each server. */
const CANDIDATE_PROBE_IDS = 4_096;

const SERVER = `n.nodename || ':' || n.nodeport`;
const JOIN_SERVER = `JOIN pg_dist_placement p ON p.shardid = i.shard
  JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'`;
const SERVERS = `SELECT DISTINCT ${SERVER} AS server FROM pg_dist_node n WHERE n.noderole = 'primary' AND n.shouldhaveshards`;
const INSTANCES = 'SELECT instance_id AS id FROM queue_instance UNION SELECT instance_id FROM deleted_instance';
const SERVERS_OF_INSTANCES = `
  SELECT i.id, ${SERVER} AS server
  FROM (SELECT id, get_shard_id_for_distribution_column('run', id) AS shard FROM unnest($1::text[]) AS g(id)) i ${JOIN_SERVER}`;
const SERVER_OF_SHARD = `SELECT ${SERVER} AS server FROM (SELECT $1::bigint AS shard) i ${JOIN_SERVER}`;
/** Selects an id on each server. No queue instance has such an id. */
const PROBE_IDS = `
  SELECT min(i.id) AS id, ${SERVER} AS server
  FROM (SELECT id, get_shard_id_for_distribution_column('run', id) AS shard
    FROM (SELECT 'probe ' || n AS id FROM generate_series(1, ${CANDIDATE_PROBE_IDS}) n) g) i ${JOIN_SERVER} GROUP BY 2`;
const PUT = `INSERT INTO kept_event (instance_id, run_key, place, received_at, event_key, event_id, content)
  VALUES ($1, $2, 0, 0, '', '', $3)`;
const REMOVE = 'DELETE FROM kept_event WHERE instance_id = $1 AND run_key = $2';
/** Finishes transactions that were prepared on a server before it went down. They hold their locks until then. */
const FINISH_PREPARED = 'SELECT recover_prepared_transactions()';

const SHARD_NUMBER = /\bshard (\d+)\b/;

interface Outage {
  readonly ended: Promise<void>;
  readonly end: () => void;
}

/** The part of the database that this module uses: a connection outside the pool, on which statements are sent unchanged. */
export interface ClusterConnection {
  withSeparateConnection<Result>(work: (client: pg.ClientBase) => Promise<Result>): Promise<Result>;
}

export class ShardServers implements StoreServers {
  private readonly database: ClusterConnection;
  private readonly log: Log;
  private readonly outages = new Map<string, Outage>();
  private readonly pendingMarks = new Map<string, Promise<void>>();
  private servers: readonly string[] = [];
  private instanceServers: ReadonlyMap<string, string> = new Map();
  private reachableIds: readonly string[] = [];
  private readonly closing = new AbortController();

  constructor(database: ClusterConnection, log: Log) {
    this.database = database;
    this.log = log;
  }

  get isAnyDown(): boolean {
    return this.outages.size > 0;
  }
  /** Instances on servers that are not known to be down. */
  get reachableInstanceIds(): readonly string[] {
    return this.reachableIds;
  }
  /** The error for rows that may be on any server; null if no server is down. */
  get anyOutageError(): ServerUnavailableError | null {
    const [server] = this.outages.keys();
    return server === undefined ? null : outageError(server);
  }

  serverOf(instanceId: string): string | null {
    return this.instanceServers.get(instanceId) ?? null;
  }

  isDown(server: string): boolean {
    return this.outages.has(server);
  }

  async whenBack(server: string): Promise<void> {
    await this.pendingMarks.get(server);
    await this.outages.get(server)?.ended;
  }

  /** Returns an error if the server of one of the instances is down; null if none is down. */
  refusalOf(instances: readonly string[]): ServerUnavailableError | null {
    for (const id of instances) {
      const server = this.instanceServers.get(id);
      if (server !== undefined && this.outages.has(server)) return outageError(server);
    }
    return null;
  }

  /**
   * Returns an error that names the server that caused the failure; null if no single server caused it. A server that does not
   * respond is found through the instances of the statement. It counts as down from now on, unless it accepts a write: then only a
   * connection was lost.
   */
  async failureOf(error: unknown, instances: () => readonly string[]): Promise<ServerUnavailableError | null> {
    if (!(error instanceof Error) || !(isOutage(error) || isResponseTimeout(error))) return null;
    try {
      const server = await this.findFailedServer(error, instances);
      if (server === null) return null;
      await this.markDown(server, error.message);
      return new ServerUnavailableError(server, error.message, { cause: error });
    } catch {
      // The coordinator is unavailable as well.
      return null;
    }
  }

  close(): void {
    this.closing.abort();
    for (const { end } of this.outages.values()) end();
    this.outages.clear();
  }

  private async findFailedServer(error: Error, instances: () => readonly string[]): Promise<string | null> {
    const where = 'where' in error && typeof error.where === 'string' ? error.where : '';
    const text = `${error.message} ${where}`;
    const findNamed = () =>
      this.servers.find((server) => new RegExp(`(?<![\\w.-])${escapeRegExp(server)}(?!\\d)`).test(text)) ?? null;
    const namedServer = findNamed();
    if (namedServer !== null) return namedServer;
    await this.database.withSeparateConnection(async (client) => {
      this.servers = (await client.query<{ server: string }>(SERVERS)).rows.map(({ server }) => server);
    });
    const namedAfterRefresh = findNamed();
    if (namedAfterRefresh !== null) return namedAfterRefresh;
    const [, shard] = SHARD_NUMBER.exec(error.message) ?? [];
    if (shard !== undefined) {
      return this.database.withSeparateConnection(async (client) => {
        const { rows } = await client.query<{ server: string }>(SERVER_OF_SHARD, [shard]);
        return rows[0]?.server ?? null;
      });
    }
    if (isResponseTimeout(error)) return this.findSilentServer();
    if (!isWriteRefusal(error)) return null;
    const [instanceId] = instances();
    if (instanceId === undefined) return this.findSilentServer();
    return this.database.withSeparateConnection(
      async (client) => (await serversOfInstances(client, [instanceId])).get(instanceId) ?? null,
    );
  }

  /** Returns a server that refuses writes. A statement for all servers does not report which one it waited for. */
  private async findSilentServer(): Promise<string | null> {
    const candidates = this.servers.filter((server) => !this.outages.has(server));
    const acceptsWrites = await Promise.all(
      candidates.map((server) =>
        this.probe(server).then(
          () => true,
          () => false,
        ),
      ),
    );
    return candidates.find((_, index) => !acceptsWrites[index]) ?? null;
  }

  private markDown(server: string, reason: string): Promise<void> {
    if (this.outages.has(server)) return Promise.resolve();
    const inProgress = this.pendingMarks.get(server);
    if (inProgress) return inProgress;
    const marking = (async () => {
      const isUp = await this.probe(server).then(
        () => true,
        () => false,
      );
      if (isUp) return;
      const instanceServers = await this.readInstanceServers();
      if (this.closing.signal.aborted) return;
      let end = (): void => {};
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      this.outages.set(server, { ended, end });
      this.setInstanceServers(instanceServers);
      this.log.warn({ server, error: reason }, 'database server is down, reads across all servers omit it');
      void this.probeUntilBack(server);
    })().finally(() => this.pendingMarks.delete(server));
    this.pendingMarks.set(server, marking);
    return marking;
  }

  private setInstanceServers(instanceServers: ReadonlyMap<string, string>): void {
    this.instanceServers = instanceServers;
    this.reachableIds = [...instanceServers].filter(([, server]) => !this.outages.has(server)).map(([id]) => id);
  }

  private readInstanceServers(): Promise<ReadonlyMap<string, string>> {
    return this.database.withSeparateConnection(async (client) => {
      const { rows } = await client.query<{ id: string }>(INSTANCES);
      return serversOfInstances(
        client,
        rows.map(({ id }) => id),
      );
    });
  }

  /** Probes the server until it is back, and then ends the outage. Never rejects. */
  private async probeUntilBack(server: string): Promise<void> {
    const { signal } = this.closing;
    for (let delayMs = FIRST_PROBE_MS; !signal.aborted; delayMs = Math.min(MAX_PROBE_DELAY_MS, delayMs * 2)) {
      try {
        await pause(delayMs, undefined, { signal, ref: false });
        // Instances may have moved during the outage.
        this.setInstanceServers(await this.readInstanceServers());
        await this.probe(server);
        break;
      } catch {
        // It is still down.
      }
    }
    const outage = this.outages.get(server);
    this.outages.delete(server);
    this.setInstanceServers(this.instanceServers);
    if (!signal.aborted) this.log.info({ server }, 'database server answered again');
    outage?.end();
  }

  /** Writes to the server. Rejects if it does not accept writes. A server that is no longer in the cluster counts as back. */
  private probe(server: string): Promise<void> {
    return this.database.withSeparateConnection(async (client) => {
      await client.query(`SET statement_timeout = ${PROBE_TIMEOUT_MS}`);
      const { rows } = await client.query<{ id: string; server: string }>(PROBE_IDS);
      const id = rows.find((row) => row.server === server)?.id;
      if (id === undefined) return;
      const key = `probe ${randomBytes(8).toString('hex')}`;
      await client.query('BEGIN');
      await client.query(PUT, [id, key, randomBytes(PROBE_BYTES / 2).toString('hex')]);
      await client.query(REMOVE, [id, key]);
      await client.query('COMMIT');
      // Without the privilege for this, the cluster does it later.
      await client.query(FINISH_PREPARED).catch(() => undefined);
    });
  }
}

const outageError = (server: string): ServerUnavailableError => new ServerUnavailableError(server, 'it did not respond');

const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

async function serversOfInstances(client: pg.ClientBase, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ id: string; server: string }>(SERVERS_OF_INSTANCES, [ids]);
  return new Map(rows.map(({ id, server }) => [id, server]));
}
