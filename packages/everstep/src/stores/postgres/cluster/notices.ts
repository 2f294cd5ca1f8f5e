/**
 * Notices between nodes: LISTEN and NOTIFY on a connection of its own. A notice may be lost when the connection is lost; the
 * listener is notified if a notice may have been lost.
 * Keeps invariant 26.
 */
import { createHash } from 'node:crypto';
import pg from 'pg';
import type { Log } from '../../../ports/log.js';
import { type Session, statement } from '../connection/connection.js';
import type { Primary } from '../connection/primary.js';

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;
const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_AFTER_MS = 5_000;
/** Limit of the server, minus a margin. */
const MAX_PAYLOAD_BYTES = 7_900;

const NOTIFY = statement('SELECT pg_notify($1, $2)');
const SCHEMA = statement('SELECT current_schema() AS schema');

export interface NoticesOptions {
  readonly primary: Primary;
  readonly log: Log;
  readonly received: (payload: string) => void;
  /** Is called when notices may have been lost before this moment. */
  readonly missed: () => void;
}

export class Notices {
  private readonly options: NoticesOptions;
  private readonly session: Session;
  private channel = '';
  private client: pg.Client | null = null;
  private retry: NodeJS.Timeout | undefined;
  private pauseMs = FIRST_PAUSE_MS;
  private closed = false;

  constructor(session: Session, options: NoticesOptions) {
    this.session = session;
    this.options = options;
    options.primary.onMoved(() => this.client?.connection.stream.destroy());
  }

  /** Starts listening. Rejects if that fails. A connection that is lost later is opened again. */
  async listen(): Promise<void> {
    const [row] = await this.session.query(SCHEMA);
    // Channels belong to the whole database, and several services may have a schema each.
    const schema = typeof row?.schema === 'string' ? row.schema : '';
    this.channel = `everstep_${createHash('sha256').update(schema).digest('hex').slice(0, 16)}`;
    await this.connect();
  }

  /** Sends a notice. Rejects if it could not be sent. */
  async notify(payload: string): Promise<void> {
    if (Buffer.byteLength(payload) > MAX_PAYLOAD_BYTES) throw new RangeError('the notice is too long');
    await this.session.query(NOTIFY, [this.channel, payload]);
  }

  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.retry);
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
    client.on('notification', ({ payload }) => this.options.received(payload ?? ''));
    client.on('error', () => this.lost(client));
    client.on('end', () => this.lost(client));
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
    this.pauseMs = FIRST_PAUSE_MS;
  }

  private lost(client: pg.Client): void {
    if (this.client !== client || this.closed) return;
    this.client = null;
    client.end().catch(() => undefined);
    this.connectLater();
  }

  private connectLater(): void {
    clearTimeout(this.retry);
    if (this.closed) return;
    this.retry = setTimeout(() => {
      this.connect().then(
        () => this.options.missed(),
        (error: Error) => {
          this.options.log.warn({ error: error.message }, 'could not listen for notices from other nodes, retrying');
          this.pauseMs = Math.min(MAX_PAUSE_MS, this.pauseMs * 2);
          this.connectLater();
        },
      );
    }, this.pauseMs);
  }
}
