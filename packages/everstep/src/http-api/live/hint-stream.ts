/** Hints of changes as server-sent events: gathered, so that a stream costs the same however much happens. */
import { Readable } from 'node:stream';
import { LIMITS } from '../../config/limits.js';
import { LIVE_RUN_IDS_MAX, type LiveChange, type LiveTopic } from '../../contract/live.js';
import type { LiveHint } from '../../ports/live-hints.js';

/** After this many pings that nobody took the client is gone, or too slow to be kept. */
const PINGS_NOT_TAKEN = 2;
/** A little more than one hint: what nobody takes is gathered here, and not in buffers. */
const BUFFER_BYTES = 4 * 1024;
/** Until a browser connects again. */
const RECONNECT_MS = 1_000;

export interface HintStreamOptions {
  /** Begins to look on; gives the function that ends it. */
  readonly lookOn: (told: (hint: LiveHint) => void) => () => void;
  readonly isStillLetIn: () => Promise<boolean>;
  /** Aborts when the server closes. */
  readonly signal: AbortSignal;
}

const textOf = (change: LiveChange): string => `event: change\ndata: ${JSON.stringify(change)}\n\n`;

export class HintStream extends Readable {
  private readonly options: HintStreamOptions;
  private readonly topics = new Set<LiveTopic>();
  private readonly runIds = new Set<string>();
  private readonly stopLooking: () => void;
  private readonly pings: NodeJS.Timeout;
  private readonly onAbort = () => this.end();
  private rest: NodeJS.Timeout | null = null;
  private isTaken = false;
  private notTaken = 0;
  private hasEnded = false;

  constructor(options: HintStreamOptions) {
    super({ highWaterMark: BUFFER_BYTES });
    this.options = options;
    // At once, so that the client knows that it is connected.
    this.push(`retry: ${RECONNECT_MS}\n\n`);
    this.stopLooking = options.lookOn((hint) => this.told(hint));
    this.pings = setInterval(() => this.ping(), LIMITS.livePingMs);
    this.pings.unref();
    options.signal.addEventListener('abort', this.onAbort);
    if (options.signal.aborted) this.end();
  }

  override _read(): void {
    this.isTaken = true;
    this.notTaken = 0;
    this.send();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.stop();
    done(error);
  }

  private told({ topics, runIds }: LiveHint): void {
    for (const topic of topics) this.topics.add(topic);
    for (const runId of runIds) if (this.runIds.size < LIVE_RUN_IDS_MAX) this.runIds.add(runId);
    this.send();
  }

  /** What has gathered, unless it is too early or the last one was not taken. */
  private send(): void {
    if (this.topics.size === 0 || this.rest !== null || !this.isTaken || this.hasEnded) return;
    const text = textOf({ topics: [...this.topics], runIds: [...this.runIds] });
    this.topics.clear();
    this.runIds.clear();
    this.rest = setTimeout(() => {
      this.rest = null;
      this.send();
    }, LIMITS.liveHintEveryMs);
    this.isTaken = this.push(text);
  }

  private ping(): void {
    if (this.isTaken) this.isTaken = this.push(': ping\n\n');
    else if (++this.notTaken >= PINGS_NOT_TAKEN) {
      this.destroy();
      return;
    }
    void this.options.isStillLetIn().then((isLetIn) => {
      if (!isLetIn) this.end();
    });
  }

  /** The answer ends in good order; a browser connects again, and is let in or not. */
  private end(): void {
    if (this.hasEnded) return;
    this.stop();
    this.push(null);
  }

  private stop(): void {
    this.hasEnded = true;
    this.stopLooking();
    clearInterval(this.pings);
    if (this.rest) clearTimeout(this.rest);
    this.options.signal.removeEventListener('abort', this.onAbort);
  }
}
