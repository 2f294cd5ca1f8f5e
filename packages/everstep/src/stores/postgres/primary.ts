/**
 * Which of the servers that a URL names is the primary. A URL that names one leads to it, whatever it is. Of several, one
 * that takes writes is the primary; of two that say so, the one whose history is newer: the other was replaced and does not
 * know it yet. A server with an older history than one that was seen is never gone back to.
 */
import pg from 'pg';
import type { Log } from '../../ports/log.js';
import { placeOfUrl } from './errors.js';

/** How often it is looked who the primary is, where there are several servers. */
const LOOK_EVERY_MS = 2_000;
/** A server that does not answer within this is none. */
const ANSWER_WITHIN_MS = 1_500;

const URL_PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]+)([^?#]*)(?:\?([^#]*))?/i;
/** Says of which servers one is to be taken: here always the one that takes writes. */
const WANTED_SERVER = 'target_session_attrs';
const STANDING = `
  SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline`;

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** A URL for each server that the URL names, in its order. */
export function serverUrls(url: string): readonly string[] {
  const [, head, hosts, path = '', query = ''] = URL_PARTS.exec(url) ?? [];
  if (head === undefined || hosts === undefined || !hosts.includes(',')) return [url];
  const kept = query.split('&').filter((part) => part !== '' && part.split('=')[0] !== WANTED_SERVER);
  const rest = kept.length === 0 ? path : `${path}?${kept.join('&')}`;
  return hosts.split(',').map((host) => `${head}${host}${rest}`);
}

/** How often the server, or one that it descends from, was promoted; null when it takes no writes, or does not answer. */
export type Look = (url: string) => Promise<number | null>;

async function look(url: string): Promise<number | null> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'everstep (looks for the primary)',
    connectionTimeoutMillis: ANSWER_WITHIN_MS,
    query_timeout: ANSWER_WITHIN_MS,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ timeline: string | null }>(STANDING);
    const timeline = rows[0]?.timeline ?? null;
    return timeline === null ? null : Number.parseInt(timeline, 16);
  } catch {
    return null;
  } finally {
    // One that has stopped answering would not answer to a farewell either.
    client.connection.stream.destroy();
  }
}

export interface PrimaryOptions {
  readonly url: string;
  readonly log: Log;
  readonly look?: Look;
  readonly lookEveryMs?: number;
}

/** For one connection: the URL of the primary, or of the first server when there is none. */
export async function primaryUrl(url: string, ask?: Look): Promise<string> {
  const primary = new Primary({ url, log: SILENT, ...(ask ? { look: ask } : {}) });
  await primary.ready();
  primary.close();
  return primary.url;
}

export class Primary {
  private readonly urls: readonly string[];
  private readonly log: Log;
  private readonly look: Look;
  private readonly lookEveryMs: number;
  private readonly listeners = new Set<() => void>();
  private current: string;
  private timeline = -1;
  private looking: Promise<void> | null = null;
  private timer: NodeJS.Timeout | undefined;
  private closed = false;

  constructor({ url, log, look: ask = look, lookEveryMs = LOOK_EVERY_MS }: PrimaryOptions) {
    this.urls = serverUrls(url);
    this.current = this.urls[0] ?? url;
    this.log = log;
    this.look = ask;
    this.lookEveryMs = lookEveryMs;
  }

  /** For a connection that is made now. */
  get url(): string {
    return this.current;
  }
  /** The URL names several servers. */
  get isOneOfSeveral(): boolean {
    return this.urls.length > 1;
  }
  /** Whether the one that `url` leads to has said that it is. */
  get isKnown(): boolean {
    return !this.isOneOfSeveral || this.timeline >= 0;
  }

  /** Resolves when it was looked for once, whether or not it was found. It is looked for again and again from then on. */
  async ready(): Promise<void> {
    if (this.isKnown) return;
    await this.find();
    this.lookLater();
  }

  /** It is another one from now on. */
  onMoved(listener: () => void): void {
    this.listeners.add(listener);
  }

  /** Looks for it now. Never rejects. */
  async find(): Promise<void> {
    if (!this.isOneOfSeveral || this.closed) return;
    this.looking ??= this.lookAtAll().finally(() => {
      this.looking = null;
    });
    await this.looking;
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
  }

  private lookLater(): void {
    clearTimeout(this.timer);
    if (this.closed) return;
    this.timer = setTimeout(() => void this.find().then(() => this.lookLater()), this.lookEveryMs);
    this.timer.unref();
  }

  private async lookAtAll(): Promise<void> {
    const timelines = await Promise.all(this.urls.map((url) => this.look(url)));
    let found: string | null = null;
    let newest = this.timeline;
    for (const [index, url] of this.urls.entries()) {
      const timeline = timelines[index] ?? null;
      if (timeline === null || timeline < newest || (timeline === newest && found !== null)) continue;
      newest = timeline;
      found = url;
    }
    if (found === null || this.closed) return;
    const [moved, first] = [found !== this.current, this.timeline < 0];
    this.timeline = newest;
    if (!moved) return;
    this.current = found;
    if (!first) this.log.warn({ server: placeOfUrl(found) }, 'another server is the primary of the database now');
    for (const listener of this.listeners) listener();
  }
}
