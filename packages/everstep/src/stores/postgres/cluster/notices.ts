/**
 * Sends notices between nodes with NOTIFY, and receives them with LISTEN on a separate connection. If that connection is lost,
 * notices may be lost too; `onMissed` is called when the connection is open again.
 * Keeps invariant 26.
 */
import { createHash } from 'node:crypto';
import pg from 'pg';
import type { SharedChange } from '../../../ports/cluster.js';
import type { Log } from '../../../ports/log.js';
import { type Session, statement } from '../connection/connection.js';
import type { Primary } from '../connection/primary.js';

const FIRST_RETRY_DELAY_MS = 100;
const MAX_RETRY_DELAY_MS = 5_000;
const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_AFTER_MS = 5_000;
/** Maximum length of a payload: the limit of PostgreSQL minus a margin. */
const MAX_PAYLOAD_BYTES = 7_900;

const NOTIFY = statement('SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload');
const SELECT_SCHEMA = statement('SELECT current_schema() AS schema');

/** A notice from one node to others, which is sent as JSON. */
export interface Notice {
  /** Id of the node that must scan for due tasks; `*` for all nodes. */
  readonly work?: string;
  /** Id of the node that sent the notice. */
  readonly from?: string;
  readonly change?: SharedChange;
  /** Number that recipients include in their confirmation. */
  readonly ask?: number;
  /** The node whose `ask` this notice confirms. */
  readonly to?: string;
  /** The confirmed `ask`. Nodes of earlier versions use this name. */
  readonly heard?: number;
}

/** Parses a notice, without validation: only clients that can write to the database can send one. */
export function readNotice(payload: string): Notice {
  try {
    const value: unknown = JSON.parse(payload);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

export interface NoticesOptions {
  readonly primary: Primary;
  readonly log: Log;
  readonly onReceived: (payload: string) => void;
  /** Called when notices may have been lost before this moment. */
  readonly onMissed: () => void;
}

export class Notices {
  private readonly options: NoticesOptions;
  private readonly session: Session;
  private channel = '';
  private client: pg.Client | null = null;
  private retryTimer: NodeJS.Timeout | undefined;
  private retryDelayMs = FIRST_RETRY_DELAY_MS;
  private isClosed = false;

  constructor(session: Session, options: NoticesOptions) {
    this.session = session;
    this.options = options;
    options.primary.onChange(() => this.client?.connection.stream.destroy());
  }

  /** Starts listening. Rejects if that fails. A connection that is lost later is reopened. */
  async listen(): Promise<void> {
    const [row] = await this.session.query(SELECT_SCHEMA);
    // Channels belong to the whole database, in which other installations can have their own schemas.
    const schema = typeof row?.schema === 'string' ? row.schema : '';
    this.channel = `everstep_${createHash('sha256').update(schema).digest('hex').slice(0, 16)}`;
    await this.connect();
  }

  /** Sends notices in one transaction. Rejects if they could not be sent. */
  async notify(...payloads: readonly string[]): Promise<void> {
    for (const payload of payloads) {
      const bytes = Buffer.byteLength(payload);
      if (bytes > MAX_PAYLOAD_BYTES)
        throw new RangeError(`a notice must have at most ${MAX_PAYLOAD_BYTES} bytes; this one has ${bytes}`);
    }
    await this.session.query(NOTIFY, [this.channel, payloads]);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.retryTimer);
    await this.client?.end().catch(() => undefined);
  }

  private async connect(): Promise<void> {
    const { primary } = this.options;
    const { url } = primary;
    const client = new pg.Client({
      connectionString: url,
      application_name: 'everstep (listens)',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    });
    client.on('notification', ({ payload }) => this.options.onReceived(payload ?? ''));
    client.on('error', () => this.onConnectionLost(client));
    client.on('end', () => this.onConnectionLost(client));
    try {
      await client.connect();
      await client.query(`LISTEN ${this.channel}`);
      if (primary.url !== url) throw new Error('another server is now the primary');
    } catch (error) {
      client.removeAllListeners('end');
      await client.end().catch(() => undefined);
      throw error;
    }
    this.client = client;
    this.retryDelayMs = FIRST_RETRY_DELAY_MS;
  }

  private onConnectionLost(client: pg.Client): void {
    if (this.client !== client || this.isClosed) return;
    this.client = null;
    client.end().catch(() => undefined);
    this.connectLater();
  }

  private connectLater(): void {
    clearTimeout(this.retryTimer);
    if (this.isClosed) return;
    this.retryTimer = setTimeout(() => {
      this.connect().then(
        () => this.options.onMissed(),
        (error: Error) => {
          this.retryDelayMs = Math.min(MAX_RETRY_DELAY_MS, this.retryDelayMs * 2);
          const fields = { retryAfterMs: this.retryDelayMs, error: error.message };
          this.options.log.warn(fields, 'could not listen for notices from other nodes, retrying');
          this.connectLater();
        },
      );
    }, this.retryDelayMs);
  }
}
