/** Checks whether a database server is a primary, over connections that stay open. */
import pg from 'pg';
import { SYNCHRONOUS_COMMIT } from './synchronous-commit.js';

/** A server that does not respond within this time counts as unreachable. */
const RESPONSE_TIMEOUT_MS = 1_500;
/** A commit that waits for longer than this is abandoned with its connection. */
const COMMIT_TIMEOUT_MS = 60_000;
const KEEP_ALIVE_AFTER_MS = 5_000;

/** The timeline of a primary, which increases with each promotion; `standby`; or `unknown` if the server did not respond. */
export type ServerState = number | 'standby' | 'unknown';

export interface ServerProbe {
  /** Whether `state` can send its request without connecting first. */
  readonly isConnected: boolean;
  /** Resolves with the current state of the server, or with `unknown` if it does not respond. Never rejects. */
  state(): Promise<ServerState>;
  /**
   * Tries a commit. Resolves with true once it is acknowledged, or with false if it fails. A commit that waits for the confirmation
   * of a standby can take until the timeout. Never rejects.
   */
  tryCommit(): Promise<boolean>;
  close(): void;
}

const SELECT_TIMELINE = `
  SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline`;
/** A statement that writes only to the write-ahead log. A transaction that wrote nothing would not wait for the standby. */
const WRITE_TO_LOG = `SELECT pg_logical_emit_message(true, 'everstep', ''::text)`;

/** A connection that is opened on demand, and reopened after it was lost. */
class ReconnectingClient {
  private readonly options: pg.ClientConfig;
  private readonly setupSql: string | null;
  private client: pg.Client | null = null;
  private pendingConnect: Promise<pg.Client | null> | null = null;
  private isClosed = false;

  constructor(options: pg.ClientConfig, setupSql: string | null = null) {
    this.options = options;
    this.setupSql = setupSql;
  }

  get isConnected(): boolean {
    return this.client !== null;
  }

  /** Resolves with the rows, or with null if the server did not respond. */
  async query<Row extends pg.QueryResultRow>(text: string): Promise<readonly Row[] | null> {
    const client = this.client ?? (await this.connect());
    if (!client) return null;
    try {
      return (await client.query<Row>(text)).rows;
    } catch {
      this.drop(client);
      return null;
    }
  }

  close(): void {
    this.isClosed = true;
    if (this.client) this.drop(this.client);
  }

  private connect(): Promise<pg.Client | null> {
    this.pendingConnect ??= this.open().finally(() => {
      this.pendingConnect = null;
    });
    return this.pendingConnect;
  }

  private async open(): Promise<pg.Client | null> {
    if (this.isClosed) return null;
    const client = new pg.Client({
      connectionTimeoutMillis: RESPONSE_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
      ...this.options,
    });
    client.on('error', () => this.drop(client));
    client.on('end', () => this.drop(client));
    try {
      await client.connect();
      if (this.setupSql !== null) await client.query(this.setupSql);
    } catch {
      this.drop(client);
      return null;
    }
    if (this.isClosed) {
      this.drop(client);
      return null;
    }
    this.client = client;
    return client;
  }

  private drop(client: pg.Client): void {
    if (this.client === client) this.client = null;
    // A server that no longer responds would not respond to a termination message either.
    client.connection.stream.destroy();
  }
}

export function probeServer(url: string): ServerProbe {
  const stateClient = new ReconnectingClient({
    connectionString: url,
    application_name: 'everstep (looks for the primary)',
    query_timeout: RESPONSE_TIMEOUT_MS,
  });
  const commitClient = new ReconnectingClient(
    { connectionString: url, application_name: 'everstep (confirms the primary)', query_timeout: COMMIT_TIMEOUT_MS },
    SYNCHRONOUS_COMMIT,
  );
  return {
    get isConnected() {
      return stateClient.isConnected;
    },
    async state() {
      const rows = await stateClient.query<{ timeline: string | null }>(SELECT_TIMELINE);
      if (!rows?.[0]) return 'unknown';
      const { timeline } = rows[0];
      return timeline === null ? 'standby' : Number.parseInt(timeline, 16);
    },
    tryCommit: async () => (await commitClient.query(WRITE_TO_LOG)) !== null,
    close() {
      stateClient.close();
      commitClient.close();
    },
  };
}
