/**
 * The servers of a cluster that have the rows of queue instances. If a server cannot be reached or refuses writes, only its
 * instances stop: statements that name one of them are rejected without being sent, and reads over all servers omit them. A
 * periodic write detects whether the server is back. A watch detects a server that does not respond.
 */

import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import type { Log } from '../../../ports/log.js';
import type { StoreServers } from '../../../ports/stores/commit-store.js';
import { PROBE_BYTES } from '../../../ports/stores/commit-store.js';
import { ServerUnavailableError } from '../../../ports/stores/store-unavailable.js';
import { isOutage, isWriteRefusal } from '../connection/errors.js';
import type { CallsInProgress } from './calls-in-progress.js';
import { ServerWatch, SILENCE_MS } from './server-watch.js';

const FIRST_PROBE_DELAY_MS = 100;
const MAX_PROBE_DELAY_MS = 2_000;
const PROBE_TIMEOUT_MS = 5_000;
/** Number of ids among which one is found on each server. */
const CANDIDATE_PROBE_IDS = 4_096;

const SERVER = `n.nodename || ':' || n.nodeport`;
const JOIN_SERVER = `JOIN pg_dist_placement p ON p.shardid = i.shard
  JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'`;
const SELECT_SERVERS = `SELECT DISTINCT ${SERVER} AS server FROM pg_dist_node n WHERE n.noderole = 'primary' AND n.shouldhaveshards`;
const SELECT_INSTANCES = 'SELECT instance_id AS id FROM queue_instance UNION SELECT instance_id FROM deleted_instance';
const SELECT_SERVERS_OF_INSTANCES = `
  SELECT i.id, ${SERVER} AS server
  FROM (SELECT id, get_shard_id_for_distribution_column('run', id) AS shard FROM unnest($1::text[]) AS g(id)) i ${JOIN_SERVER}`;
const SELECT_SERVER_OF_SHARD = `SELECT ${SERVER} AS server FROM (SELECT $1::bigint AS shard) i ${JOIN_SERVER}`;
const SELECT_PROBE_IDS = `
  SELECT min(i.id) AS id, ${SERVER} AS server
  FROM (SELECT id, get_shard_id_for_distribution_column('run', id) AS shard
    FROM (SELECT 'probe ' || n AS id FROM generate_series(1, ${CANDIDATE_PROBE_IDS}) n) g) i ${JOIN_SERVER} GROUP BY 2`;
const INSERT_PROBE = `INSERT INTO kept_event (instance_id, run_key, place, received_at, event_key, event_id, content)
  VALUES ($1, $2, 0, 0, '', '', $3)`;
const DELETE_PROBE = 'DELETE FROM kept_event WHERE instance_id = $1 AND run_key = $2';
/** Finishes transactions that were prepared on a server before it went down. Until they are finished, they hold their locks. */
const FINISH_PREPARED = 'SELECT recover_prepared_transactions()';

/** Reads no rows, on the server of one instance. */
const PING = { name: 'ask-server', text: `SELECT 1 FROM kept_event WHERE instance_id = $1 AND run_key = ''` };
/** Has no effect on a process that is itself waiting for the response to a cancel request. */
const END_PROCESSES = 'SELECT pg_terminate_backend(pid) FROM unnest($1::integer[]) AS p(pid)';

const SHARD_NUMBER = /\bshard (\d+)\b/;

interface Outage {
  readonly ended: Promise<void>;
  readonly end: () => void;
}

/** The part of `Database` that is needed. */
export interface ClusterConnection {
  /** Runs `work` on a connection outside the pool, on which statements are sent unchanged. */
  withSeparateConnection<Result>(work: (client: pg.ClientBase) => Promise<Result>): Promise<Result>;
  readonly endCalls: CallsInProgress['end'];
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
    const watch = new ServerWatch(
      {
        list: async () => [...(await database.withSeparateConnection(idsOnServers)).keys()],
        askOn: (server, work) =>
          database.withSeparateConnection(async (client) => {
            const id = (await idsOnServers(client)).get(server);
            if (id !== undefined) await work(() => client.query({ ...PING, values: [id] }));
            return id !== undefined;
          }),
        onSilent: (server) => this.onSilence(server),
        onFailed: (error) => this.failureOf(error, () => []),
        whenAvailable: (server) => this.whenAvailable(server),
      },
      this.closing.signal,
    );
    void watch.run();
  }

  get isAnyDown(): boolean {
    return this.outages.size > 0;
  }
  /** Ids of the instances on servers that do not count as down. */
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

  async whenAvailable(server: string): Promise<void> {
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
   * Returns an error that names the server that caused `error`; null if it was not one server. Marks the server as down unless it
   * accepts a write, because only a connection to it may have been lost.
   */
  async failureOf(error: unknown, instances: () => readonly string[]): Promise<ServerUnavailableError | null> {
    if (!(error instanceof Error) || !isOutage(error)) return null;
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
    const errorText = `${error.message} ${where}`;
    const findNamed = () =>
      this.servers.find((server) => new RegExp(`(?<![\\w.-])${escapeRegExp(server)}(?!\\d)`).test(errorText)) ?? null;
    const namedServer = findNamed();
    if (namedServer !== null) return namedServer;
    await this.database.withSeparateConnection(async (client) => {
      this.servers = (await client.query<{ server: string }>(SELECT_SERVERS)).rows.map(({ server }) => server);
    });
    const namedAfterRefresh = findNamed();
    if (namedAfterRefresh !== null) return namedAfterRefresh;
    const [, shard] = SHARD_NUMBER.exec(error.message) ?? [];
    if (shard !== undefined) {
      return this.database.withSeparateConnection(async (client) => {
        const { rows } = await client.query<{ server: string }>(SELECT_SERVER_OF_SHARD, [shard]);
        return rows[0]?.server ?? null;
      });
    }
    if (!isWriteRefusal(error)) return null;
    const [instanceId] = instances();
    if (instanceId === undefined) return null;
    return this.database.withSeparateConnection(
      async (client) => (await serversOfInstances(client, [instanceId])).get(instanceId) ?? null,
    );
  }

  /** Called when the server has not responded. Marks the server as down, and ends the calls that wait for it. */
  private async onSilence(server: string): Promise<void> {
    try {
      await this.markDown(server, `no response within ${SILENCE_MS / 1000} s`, async () => false);
    } catch {
      // The coordinator is unavailable as well.
      return;
    }
    const markedAt = performance.now();
    const isOnServer = (id: string): boolean => (this.instanceServers.get(id) ?? server) === server;
    // Calls that name no instance may need all servers, or only the coordinator. The latter end within SILENCE_MS.
    const endWaiting = async (startedBefore: number): Promise<void> => {
      if (!this.outages.has(server)) return;
      const processIds = this.database.endCalls(server, (instances, startedAt) =>
        instances.length === 0 ? startedAt < startedBefore : startedAt < markedAt && instances.some(isOnServer),
      );
      if (processIds.length === 0) return;
      await this.database.withSeparateConnection((client) => client.query(END_PROCESSES, [processIds])).catch(() => undefined);
    };
    await endWaiting(markedAt - SILENCE_MS);
    await pause(SILENCE_MS, undefined, { signal: this.closing.signal, ref: false }).catch(() => undefined);
    await endWaiting(markedAt);
  }

  private markDown(server: string, reason: string, isUp = () => this.acceptsWrites(server)): Promise<void> {
    if (this.outages.has(server)) return Promise.resolve();
    const pendingMark = this.pendingMarks.get(server);
    if (pendingMark) return pendingMark;
    const newMark = (async () => {
      if (await isUp()) return;
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
    this.pendingMarks.set(server, newMark);
    return newMark;
  }

  private setInstanceServers(instanceServers: ReadonlyMap<string, string>): void {
    this.instanceServers = instanceServers;
    this.reachableIds = [...instanceServers].filter(([, server]) => !this.outages.has(server)).map(([id]) => id);
  }

  private readInstanceServers(): Promise<ReadonlyMap<string, string>> {
    return this.database.withSeparateConnection(async (client) => {
      const { rows } = await client.query<{ id: string }>(SELECT_INSTANCES);
      return serversOfInstances(
        client,
        rows.map(({ id }) => id),
      );
    });
  }

  /** Probes the server until it is back, and then ends the outage. Never rejects. */
  private async probeUntilBack(server: string): Promise<void> {
    const { signal } = this.closing;
    for (let delayMs = FIRST_PROBE_DELAY_MS; !signal.aborted; delayMs = Math.min(MAX_PROBE_DELAY_MS, delayMs * 2)) {
      try {
        await pause(delayMs, undefined, { signal, ref: false });
        // Instances may have moved during the outage.
        this.setInstanceServers(await this.readInstanceServers());
        await this.probe(server);
        break;
      } catch {
        // The server is still down.
      }
    }
    const outage = this.outages.get(server);
    this.outages.delete(server);
    this.setInstanceServers(this.instanceServers);
    if (!signal.aborted) this.log.info({ server }, 'database server responded again');
    outage?.end();
  }

  private acceptsWrites(server: string): Promise<boolean> {
    return this.probe(server).then(
      () => true,
      () => false,
    );
  }

  /** Writes to the server. Rejects if it does not accept writes. A server that is no longer in the cluster counts as back. */
  private probe(server: string): Promise<void> {
    return this.database.withSeparateConnection(async (client) => {
      await client.query(`SET statement_timeout = ${PROBE_TIMEOUT_MS}`);
      const id = (await idsOnServers(client)).get(server);
      if (id === undefined) return;
      const key = `probe ${randomBytes(8).toString('hex')}`;
      await client.query('BEGIN');
      await client.query(INSERT_PROBE, [id, key, randomBytes(PROBE_BYTES / 2).toString('hex')]);
      await client.query(DELETE_PROBE, [id, key]);
      await client.query('COMMIT');
      // If the user has no privilege for this, the cluster finishes the transactions later.
      await client.query(FINISH_PREPARED).catch(() => undefined);
    });
  }
}

const outageError = (server: string): ServerUnavailableError => new ServerUnavailableError(server, 'it did not respond');

const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Returns an instance id on each server, by server. No queue instance has one of these ids. */
async function idsOnServers(client: pg.ClientBase): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ id: string; server: string }>(SELECT_PROBE_IDS);
  return new Map(rows.map(({ id, server }) => [server, id]));
}

async function serversOfInstances(client: pg.ClientBase, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ id: string; server: string }>(SELECT_SERVERS_OF_INSTANCES, [ids]);
  return new Map(rows.map(({ id, server }) => [id, server]));
}
