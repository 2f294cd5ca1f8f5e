/**
 * Connects to the database, and executes statements and transactions over a bounded pool.
 *
 * Statements are pipelined: a connection sends them without waiting for the responses to earlier ones, so several statements that
 * are sent together take one round trip. If one of them fails, the server rejects the others, including the COMMIT.
 *
 * Every call to an unavailable database rejects with StoreUnavailableError.
 */
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { Log } from '../../../ports/log.js';
import { ServerUnavailableError, StoreUnavailableError } from '../../../ports/stores/store-unavailable.js';
import { CallEndedError, CallsInProgress } from '../sharding/calls-in-progress.js';
import { type Engine, POSTGRESQL } from '../sharding/engine.js';
import {
  ClientSession,
  instancesOf,
  isRead,
  refusalOf,
  runStatement,
  type Session,
  type Statement,
  type TransactionSession,
} from './client-session.js';
import type { Row } from './columns.js';
import { isPlanOutdated, isShardReplaced, sqlStateOf, storeErrorOf, violatedConstraintOf } from './errors.js';
import { Primary } from './primary.js';
import { type SqlValue, TYPES } from './sql-values.js';
import { SYNCHRONOUS_COMMIT } from './synchronous-commit.js';

export {
  distributableStatement,
  runStatement,
  type Session,
  type Statement,
  statement,
  type TransactionSession,
  tableWrite,
  unpreparedStatement,
} from './client-session.js';
export type { SqlValue } from './sql-values.js';

const CONNECT_TIMEOUT_MS = 10_000;
const STATEMENT_TIMEOUT_MS = 30_000;
const LOCK_TIMEOUT_MS = 15_000;
const IDLE_TRANSACTION_TIMEOUT_MS = 60_000;
/** Maximum wait for a response. It is longer than STATEMENT_TIMEOUT_MS, so only a dead connection reaches it. */
const RESPONSE_TIMEOUT_MS = 45_000;
const IDLE_CONNECTION_MS = 60_000;
const KEEP_ALIVE_AFTER_MS = 10_000;
const DEFAULT_CONNECTIONS = 10;

const MAX_ATTEMPTS = 8;
const RETRY_DELAY_MS = 5;

const SERIALIZATION_FAILURE = '40001';
const DEADLOCK = '40P01';

export interface PlanOptions {
  /**
   * Whether to use generic plans, which PostgreSQL creates once for each prepared statement instead of for each set of values. A
   * statement takes a fraction of a millisecond, so planning it for each call would cost more.
   */
  readonly genericPlans?: boolean;
}

/** Returns SQL that starts a transaction with generic plans, in one round trip. */
const withGenericPlans = (begin: string): string => `${begin}; SET LOCAL plan_cache_mode = force_generic_plan`;

export interface TransactionOptions extends PlanOptions {
  /** Constraints whose violation means that another transaction committed first. The work is then repeated. */
  readonly retryOn?: readonly string[];
}

/** The number of the shard, which Citus appends to the names of constraints. */
const SHARD_SUFFIX = /_\d+$/;

/** Thrown if a run does not have the version that the transaction expected. The transaction is repeated immediately. */
export class VersionConflictError extends Error {
  override readonly name = 'VersionConflictError';
}

const isRetryable = (error: unknown, constraints: readonly string[]): boolean => {
  const sqlState = sqlStateOf(error);
  if (error instanceof VersionConflictError || sqlState === SERIALIZATION_FAILURE || sqlState === DEADLOCK) return true;
  if (isShardReplaced(error) || isPlanOutdated(error)) return true;
  const constraint = violatedConstraintOf(error);
  return constraint !== null && constraints.includes(constraint.replace(SHARD_SUFFIX, ''));
};

/**
 * Returns the settings that each connection sends first. Acknowledged commits must be durable, whatever the defaults of the server
 * are. Sequential scans are disabled: every statement can use an index, and the statistics of the planner can be stale. Timeouts
 * are not sent as startup parameters: PgBouncer rejects a connection with them, or ignores them.
 */
const sessionSettings = (idleTransactionMs: number): string => `${SYNCHRONOUS_COMMIT};
  SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off;
  SET statement_timeout = ${STATEMENT_TIMEOUT_MS}; SET lock_timeout = ${LOCK_TIMEOUT_MS};
  SET idle_in_transaction_session_timeout = ${idleTransactionMs}`;

/**
 * Settings for statements that read whole tables, however long that takes. The server must notice the end of the client, or a
 * statement would keep its snapshot and locks for hours. Some operating systems of servers do not support this check.
 */
const WHOLE_TABLE_SETTINGS = `SET statement_timeout = 0; SET lock_timeout = 0;
  DO $$ BEGIN PERFORM set_config('client_connection_check_interval', '10s', false); EXCEPTION WHEN OTHERS THEN NULL; END $$`;

/** Returns a class of clients that connect to the server that is the primary when they are created. */
const clientClassFor = (primary: Primary) =>
  class extends pg.Client {
    readonly serverUrl: string;
    constructor(options: pg.ClientConfig = {}) {
      const { url } = primary;
      super({ ...options, connectionString: url });
      this.serverUrl = url;
    }
  };

export interface DatabaseOptions {
  readonly url: string;
  readonly log: Log;
  /** Finds the primary among the servers in `url`. Databases can share it; closing one of them closes it. Created by default. */
  readonly primary?: Primary;
  /** Maximum number of connections (default 10). */
  readonly maxConnections?: number;
  /** Maximum wait for a connection or a response. The defaults are 10 s for a connection and 45 s for a response. */
  readonly timeoutMs?: number;
  /**
   * Time after which an idle transaction counts as abandoned and is rolled back, so that its locks do not block others (default
   * 60,000).
   */
  readonly idleTransactionMs?: number;
  /**
   * Whether responses are used without a confirmation that the server is still the primary (default false). This is for the lease
   * and the time, which are not about runs and are needed immediately.
   */
  readonly skipsConfirmation?: boolean;
  /** Whether statements read whole tables (default false): they have no time limit on the server, and may scan and join tables. */
  readonly readsWholeTables?: boolean;
  /** Called after each successful COMMIT with the time since it was sent. */
  readonly onCommit?: (durationMs: number) => void;
}

export class Database implements Session {
  /** The features of the database, which are detected when the store is opened. */
  engine: Engine = POSTGRESQL;
  readonly log: Log;
  private readonly pool: pg.Pool;
  private readonly primary: Primary;
  private readonly connectTimeoutMs: number;
  private readonly needsConfirmation: boolean;
  private readonly onCommit: DatabaseOptions['onCommit'];
  private readonly Client: ReturnType<typeof clientClassFor>;
  private readonly clients = new Set<InstanceType<ReturnType<typeof clientClassFor>>>();
  private readonly calls = new CallsInProgress();

  constructor(options: DatabaseOptions) {
    const { url, log, maxConnections = DEFAULT_CONNECTIONS, timeoutMs, idleTransactionMs } = options;
    this.log = log;
    this.connectTimeoutMs = Math.min(timeoutMs ?? CONNECT_TIMEOUT_MS, CONNECT_TIMEOUT_MS);
    this.onCommit = options.onCommit;
    this.primary = options.primary ?? new Primary({ url, log });
    this.needsConfirmation = this.primary.hasSeveralServers && options.skipsConfirmation !== true;
    const Client = clientClassFor(this.primary);
    this.Client = Client;
    this.pool = new pg.Pool({
      Client,
      pipeline: true,
      max: maxConnections,
      types: TYPES,
      application_name: 'everstep',
      connectionTimeoutMillis: this.connectTimeoutMs,
      idleTimeoutMillis: IDLE_CONNECTION_MS,
      query_timeout: timeoutMs ?? RESPONSE_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    });
    // A connection that breaks is replaced, and its pending calls reject. Without listeners, here for an
    // idle connection and below for one in use, the process would end.
    const logLostConnection = (error: Error) => log.warn({ error: error.message }, 'database connection lost');
    this.pool.on('error', logLostConnection);
    this.pool.on('remove', (client) => {
      if (client instanceof Client) this.clients.delete(client);
    });
    // Pending statements on another server will never get a correct response.
    const closeOtherServers = () => {
      for (const client of [...this.clients]) {
        if (client.serverUrl === this.primary.url) continue;
        client.connection.stream.destroy();
        // The pool removes an idle client at this event, before the stream closes, so no caller gets it in between.
        client.emit('error', new Error('its server is no longer the primary'));
      }
    };
    this.primary.onChange(closeOtherServers);
    this.pool.on('connect', (client) => {
      client.on('error', logLostConnection);
      if (client instanceof Client) this.clients.add(client);
      // The primary may have changed while this connection was opened.
      closeOtherServers();
      client
        .query(
          options.readsWholeTables ? WHOLE_TABLE_SETTINGS : sessionSettings(idleTransactionMs ?? IDLE_TRANSACTION_TIMEOUT_MS),
        )
        .catch((error: Error) => log.warn({ error: error.message }, 'could not prepare a database connection'));
    });
  }

  async query(statement: Statement, values: readonly SqlValue[] = []): Promise<readonly Row[]> {
    const { rows } = await this.executeAlone(statement, values);
    return rows;
  }

  async execute(statement: Statement, values: readonly SqlValue[] = []): Promise<number> {
    const { rowCount } = await this.executeAlone(statement, values);
    return rowCount ?? 0;
  }

  /**
   * Runs `work` in one transaction (READ COMMITTED). The transaction is durable when this resolves. If `work` throws, it is rolled
   * back. `work` may run several times: if the server broke a deadlock, if it throws a VersionConflictError, or as `retryOn`
   * specifies. If the connection is lost, this rejects, and it is unknown whether the transaction took effect. The last statements
   * of `work` are sent together with the COMMIT.
   */
  async transaction<Result>(
    work: (session: TransactionSession) => Promise<Result>,
    { retryOn = [], ...planOptions }: TransactionOptions = {},
  ): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      const sessions: ClientSession[] = [];
      const runWork = (session: ClientSession) => {
        sessions.push(session);
        return work(session);
      };
      try {
        return await this.attemptTransaction(runWork, planOptions);
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || !isRetryable(error, retryOn)) {
          const [session] = sessions;
          const failure = await this.convertError(error, () => session?.instances ?? []);
          // If the connection was lost at COMMIT, it is unknown whether the transaction took effect.
          if (failure === error || session?.isOutcomeUnknown || !this.mayRepeat(failure, attempt)) throw failure;
        }
        if (!(error instanceof VersionConflictError)) await pause(RETRY_DELAY_MS * attempt * Math.random());
      }
    }
  }

  /**
   * Reads from a consistent snapshot in one round trip: `work` must send all statements before it awaits the first response.
   */
  snapshot<Result>(work: (session: Session) => Promise<Result>, { genericPlans = false }: PlanOptions = {}): Promise<Result> {
    let session: ClientSession | null = null;
    const instances = () => session?.instances ?? [];
    const read = () =>
      this.runOnConfirmedPrimary(instances, async (client) => {
        const snapshotSession = new ClientSession(client, this.engine);
        session = snapshotSession;
        let isUsable = false;
        try {
          const begin = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';
          snapshotSession.control(genericPlans && !this.engine.isDistributed ? withGenericPlans(begin) : begin);
          const pendingResult = work(snapshotSession);
          const pendingCommit = snapshotSession.control('COMMIT');
          const [result] = await Promise.allSettled([pendingResult, pendingCommit]);
          await pendingCommit;
          isUsable = true;
          if (result.status === 'rejected') throw result.reason;
          return result.value;
        } finally {
          client.release(!isUsable);
        }
      });
    return this.repeatRead(read, instances);
  }

  /** Runs `work` on one connection, outside any transaction. The connection is closed afterward. */
  async withConnection<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.connect();
    try {
      return await work(client);
    } catch (error) {
      throw storeErrorOf(error);
    } finally {
      client.release(true);
    }
  }

  /** Runs `work` on a new connection outside the pool, so it never waits for a pooled one. Its errors are not converted. */
  async withSeparateConnection<Result>(work: (client: pg.ClientBase) => Promise<Result>): Promise<Result> {
    const client = new this.Client({
      application_name: 'everstep (looks for servers)',
      connectionTimeoutMillis: this.connectTimeoutMs,
      query_timeout: RESPONSE_TIMEOUT_MS,
    });
    // The pending call reports the error.
    client.on('error', () => {});
    try {
      await client.connect();
      return await work(client);
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  endCalls: CallsInProgress['end'] = (server, isWaiting) => this.calls.end(server, isWaiting);

  async close(): Promise<void> {
    this.engine.servers?.close();
    this.primary.close();
    await this.pool.end();
  }

  private async connect(): Promise<pg.PoolClient> {
    await this.primary.ready();
    const { url } = this.primary;
    try {
      return await this.pool.connect();
    } catch (error) {
      await this.primary.find();
      if (this.primary.url !== url) return this.connect();
      if (!(error instanceof Error) || !error.message.includes('timeout')) throw storeErrorOf(error);
      const seconds = this.connectTimeoutMs / 1000;
      throw new StoreUnavailableError(
        `no connection to the database was available within ${seconds} s: all are in use, or it does not respond`,
        { cause: error },
      );
    }
  }

  /** Executes a statement as a separate transaction. */
  private executeAlone(statement: Statement, values: readonly SqlValue[]) {
    const attemptOnce = () => this.executeOnce(statement, values);
    return this.repeatRead(attemptOnce, () => instancesOf(statement, values), isRead(statement));
  }

  /** Repeats a statement that must be prepared again, and a read after a server of the cluster failed. */
  private async repeatRead<Result>(
    read: () => Promise<Result>,
    instances: () => readonly string[],
    isRepeatable = true,
  ): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await read();
      } catch (error) {
        if (isPlanOutdated(error) && attempt < MAX_ATTEMPTS) continue;
        const failure = await this.convertError(error, instances);
        if (failure === error || !isRepeatable || !this.mayRepeat(failure, attempt)) throw failure;
      }
    }
  }

  /** Returns whether a call may be repeated: only after one server of the cluster failed, which the repeated call avoids. */
  private mayRepeat(failure: unknown, attempt: number): boolean {
    if (!(failure instanceof ServerUnavailableError) || attempt === MAX_ATTEMPTS) return false;
    return attempt === 1 || this.engine.servers?.isDown(failure.server) === false;
  }

  /** Executes a statement once. A connection is not used again after an error that the server did not report. */
  private async executeOnce(statement: Statement, values: readonly SqlValue[]) {
    const refusal = refusalOf(this.engine, statement, values);
    if (refusal) throw refusal;
    const instances = () => instancesOf(statement, values);
    return this.runOnConfirmedPrimary(instances, async (client) => {
      let isUsable = true;
      try {
        return await runStatement(client, this.engine, statement, values);
      } catch (error) {
        isUsable = sqlStateOf(error) !== null;
        throw error;
      } finally {
        client.release(!isUsable);
      }
    });
  }

  /**
   * Runs `work`, which releases the connection, and resolves with its result once the connection's server is confirmed as the
   * primary. Rejects with StoreUnavailableError otherwise: no client may see the response of that server.
   */
  private async runOnConfirmedPrimary<Result>(
    instances: () => readonly string[],
    work: (client: pg.PoolClient) => Promise<Result>,
  ): Promise<Result> {
    const client = await this.connect();
    const call = () => (this.engine.servers ? this.calls.track(client, instances, work) : work(client));
    if (!this.needsConfirmation) return call();
    const confirmation = this.primary.confirm();
    const result = await call();
    const url = await confirmation;
    if (url !== null && client instanceof this.Client && client.serverUrl === url) return result;
    const reason =
      url === null
        ? 'its server cannot be confirmed as the primary: another server in the URL does not respond and may be the new primary'
        : 'another server is the primary now';
    throw new StoreUnavailableError(`the response of the database was discarded: ${reason}`);
  }

  /** Converts an error. If it means that the server is unavailable or not the primary, searches for the primary. */
  private async convertError(error: unknown, instances: () => readonly string[]): Promise<unknown> {
    if (error instanceof CallEndedError) return error.failure;
    const { servers } = this.engine;
    const serverFailure = servers && !(error instanceof StoreUnavailableError) ? await servers.failureOf(error, instances) : null;
    if (serverFailure) return serverFailure;
    const storeError = storeErrorOf(error);
    if (storeError instanceof StoreUnavailableError && !(storeError instanceof ServerUnavailableError)) void this.primary.find();
    return storeError;
  }

  private attemptTransaction<Result>(
    work: (session: ClientSession) => Promise<Result>,
    { genericPlans = false }: PlanOptions,
  ): Promise<Result> {
    let instances = (): readonly string[] => [];
    const namedInstances = () => instances();
    return this.runOnConfirmedPrimary(namedInstances, async (client) => {
      const session = new ClientSession(client, this.engine);
      instances = () => session.instances;
      let isUsable = false;
      try {
        session.control(genericPlans && !this.engine.isDistributed ? withGenericPlans('BEGIN') : 'BEGIN');
        let result: Result;
        try {
          result = await work(session);
          if (session.refusal) throw session.refusal;
        } catch (error) {
          isUsable = await session.control('ROLLBACK').then(
            () => true,
            () => false,
          );
          // If `work` failed because of a statement, the error of the first failed statement is the reason.
          await session.checkResponses();
          throw error;
        }
        const sentAt = performance.now();
        session.isOutcomeUnknown = true;
        const command = await session.control('COMMIT');
        session.isOutcomeUnknown = false;
        isUsable = true;
        await session.checkResponses();
        if (command !== 'COMMIT') throw new Error(`the database responded to COMMIT with ${command}`);
        this.onCommit?.(performance.now() - sentAt);
        return result;
      } finally {
        client.release(!isUsable);
      }
    });
  }
}
