/**
 * Detects that a server of a cluster does not respond, although connections to it stay open: its processes are stopped, or its
 * machine is overloaded. A short statement is sent to each server every second. Without it, statements of the store would detect
 * the outage only by their timeouts, and would keep all connections busy until then.
 */
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';

const INTERVAL_MS = 1_000;
/** Time without a response after which a server counts as down. */
export const SILENCE_MS = 4_000;
const REFRESH_MS = 30_000;

/** The interface through which the watch finds and queries servers, and reports on them. */
export interface WatchedServers {
  /** Returns the names of all servers. */
  list(): Promise<readonly string[]>;
  /**
   * Runs `work` on a new connection, which is closed afterward. `ask` sends a short statement to the server. Resolves with false,
   * without running `work`, if the server is no longer in the cluster.
   */
  askOn(server: string, work: (ask: () => Promise<unknown>) => Promise<void>): Promise<boolean>;
  /** Called when the server has not responded for SILENCE_MS. */
  onSilent(server: string): Promise<void>;
  /** Called when a statement on a server has failed. */
  onFailed(error: unknown): Promise<unknown>;
  /** Resolves as soon as the server does not count as down. */
  whenAvailable(server: string): Promise<void>;
}

export class ServerWatch {
  private readonly servers: WatchedServers;
  private readonly signal: AbortSignal;
  private readonly intervals: { readonly intervalMs: number; readonly silenceMs: number };
  private readonly watchedServers = new Set<string>();

  constructor(servers: WatchedServers, signal: AbortSignal, intervals = { intervalMs: INTERVAL_MS, silenceMs: SILENCE_MS }) {
    this.servers = servers;
    this.signal = signal;
    this.intervals = intervals;
  }

  /** Watches all servers, including those that are added later, until the signal aborts. Never rejects. */
  async run(): Promise<void> {
    while (!this.signal.aborted) {
      const servers = await this.servers.list().catch(() => []);
      for (const server of servers) void this.watch(server);
      await this.pause(servers.length > 0 ? REFRESH_MS : this.intervals.intervalMs);
    }
  }

  /** Watches one server until it leaves the cluster or the signal aborts. Never rejects. */
  private async watch(server: string): Promise<void> {
    if (this.watchedServers.has(server)) return;
    this.watchedServers.add(server);
    let isMember = true;
    while (isMember && !this.signal.aborted) {
      try {
        isMember = await this.servers.askOn(server, (ask) => this.askUntilSilent(ask));
        if (isMember && !this.signal.aborted) await this.servers.onSilent(server);
      } catch (error) {
        await this.servers.onFailed(error).catch(() => undefined);
      }
      await this.servers.whenAvailable(server);
      await this.pause(this.intervals.intervalMs);
    }
    this.watchedServers.delete(server);
  }

  /** Resolves when the server does not respond in time, or when the signal aborts. Rejects if a statement fails. */
  private async askUntilSilent(ask: () => Promise<unknown>): Promise<void> {
    while (!this.signal.aborted) {
      let hasResponded = false;
      const response = ask().then(() => {
        hasResponded = true;
      });
      const timeout = new AbortController();
      const silencePassed = pause(this.intervals.silenceMs, undefined, {
        signal: AbortSignal.any([timeout.signal, this.signal]),
        ref: false,
      });
      await Promise.race([response, silencePassed.catch(() => undefined)]).finally(() => timeout.abort());
      // After a long pause of this process, the timer fires before a response that has already arrived is read.
      for (let turns = 0; turns < 2 && !hasResponded; turns++) await turn();
      if (!hasResponded) {
        response.catch(() => undefined);
        return;
      }
      await this.pause(this.intervals.intervalMs);
    }
  }

  private async pause(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.signal, ref: false }).catch(() => undefined);
  }
}
