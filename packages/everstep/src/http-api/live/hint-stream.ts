/**
 * Streams change hints as server-sent events. Hints are combined, so that the cost of a stream does not depend on the
 * number of changes.
 */
import { Readable } from 'node:stream';
import { LIMITS } from '../../config/limits.js';
import { LIVE_RUN_IDS_MAX, type LiveChange, type LiveTopic } from '../../contract/live.js';
import type { LiveHint } from '../../ports/live-hints.js';

/** Number of unread pings after which a client counts as gone or too slow. */
const MAX_UNREAD_PINGS = 2;
/** Size of slightly more than one hint. Unread hints are combined instead of being buffered. */
const BUFFER_BYTES = 4 * 1024;
/** Time until a browser reconnects. */
const RECONNECT_MS = 1_000;

export interface HintStreamOptions {
  /** Subscribes to hints and returns the function that unsubscribes. */
  readonly subscribe: (onHint: (hint: LiveHint) => void) => () => void;
  readonly isStillAdmitted: () => Promise<boolean>;
  /** Aborts when the server closes. */
  readonly signal: AbortSignal;
}

const eventText = (change: LiveChange): string => `event: change\ndata: ${JSON.stringify(change)}\n\n`;

export class HintStream extends Readable {
  private readonly options: HintStreamOptions;
  private readonly topics = new Set<LiveTopic>();
  private readonly runIds = new Set<string>();
  private moreRuns = false;
  private readonly unsubscribe: () => void;
  private readonly pingTimer: NodeJS.Timeout;
  private readonly onAbort = () => this.end();
  private cooldownTimer: NodeJS.Timeout | null = null;
  private canPush = false;
  private unreadPings = 0;
  private hasEnded = false;

  constructor(options: HintStreamOptions) {
    super({ highWaterMark: BUFFER_BYTES });
    this.options = options;
    // Sent immediately, so that the client knows that it is connected.
    this.push(`retry: ${RECONNECT_MS}\n\n`);
    this.unsubscribe = options.subscribe((hint) => this.add(hint));
    this.pingTimer = setInterval(() => this.ping(), LIMITS.livePingMs);
    this.pingTimer.unref();
    options.signal.addEventListener('abort', this.onAbort);
    if (options.signal.aborted) this.end();
  }

  override _read(): void {
    this.canPush = true;
    this.unreadPings = 0;
    this.send();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.stop();
    done(error);
  }

  private add({ topics, runIds, moreRuns }: LiveHint): void {
    for (const topic of topics) this.topics.add(topic);
    if (moreRuns) this.moreRuns = true;
    for (const runId of runIds) {
      if (this.runIds.size < LIVE_RUN_IDS_MAX) this.runIds.add(runId);
      else if (!this.runIds.has(runId)) this.moreRuns = true;
    }
    this.send();
  }

  /** Sends the collected hints, unless the last event is too recent or was not read. */
  private send(): void {
    if (this.topics.size === 0 || this.cooldownTimer !== null || !this.canPush || this.hasEnded) return;
    const moreRuns = this.moreRuns ? { moreRuns: true as const } : {};
    const text = eventText({ topics: [...this.topics], runIds: [...this.runIds], ...moreRuns });
    this.topics.clear();
    this.runIds.clear();
    this.moreRuns = false;
    this.cooldownTimer = setTimeout(() => {
      this.cooldownTimer = null;
      this.send();
    }, LIMITS.liveHintEveryMs);
    this.canPush = this.push(text);
  }

  private ping(): void {
    if (this.canPush) this.canPush = this.push(': ping\n\n');
    else if (++this.unreadPings >= MAX_UNREAD_PINGS) {
      this.destroy();
      return;
    }
    void this.options.isStillAdmitted().then((isAdmitted) => {
      if (!isAdmitted) this.end();
    });
  }

  /** Ends the response normally. A browser reconnects and is authenticated again. */
  private end(): void {
    if (this.hasEnded) return;
    this.stop();
    this.push(null);
  }

  private stop(): void {
    this.hasEnded = true;
    this.unsubscribe();
    clearInterval(this.pingTimer);
    if (this.cooldownTimer) clearTimeout(this.cooldownTimer);
    this.options.signal.removeEventListener('abort', this.onAbort);
  }
}
