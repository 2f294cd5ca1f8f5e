/**
 * Detects that a server of a cluster does not answer, although connections to it stay open: its processes are stopped, or its
 * machine is overloaded. A short statement is sent to each server every second. Statements of the store would otherwise detect it
 * only by their timeouts, and keep all connections busy until then.
 */
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';

const INTERVAL_MS = 1_000;
/** Time without an answer after which a server counts as down. */
export const SILENCE_MS = 4_000;
const REFRESH_MS = 30_000;

/** What the watch needs to know about the servers, and what it reports. */
export interface WatchedServers {
  list(): Promise<readonly string[]>;
  /**
   * Runs `work` on a new connection, which is closed afterwards. `ask` sends a short statement to the server. Resolves with false,
   * without running `work`, if the server is no longer in the cluster.
   */
  askOn(server: string, work: (ask: () => Promise<unknown>) => Promise<void>): Promise<boolean>;
  /** The server did not respond for SILENCE_MS. */
  silent(server: string): Promise<void>;
  /** A statement on the server failed. */
  failed(error: unknown): Promise<unknown>;
  /** Resolves when the server is not known to be down. */
  whenBack(server: string): Promise<void>;
}

export class ServerWatch {
  private readonly servers: WatchedServers;
  private readonly signal: AbortSignal;
  private readonly times: { readonly intervalMs: number; readonly silenceMs: number };
  private readonly watched = new Set<string>();

  constructor(servers: WatchedServers, signal: AbortSignal, times = { intervalMs: INTERVAL_MS, silenceMs: SILENCE_MS }) {
    this.servers = servers;
    this.signal = signal;
    this.times = times;
  }

  /** Watches all servers, including those that are added later, until the signal aborts. Never rejects. */
  async run(): Promise<void> {
    while (!this.signal.aborted) {
      const servers = await this.servers.list().catch(() => []);
      for (const server of servers) void this.watch(server);
      await this.pause(servers.length > 0 ? REFRESH_MS : this.times.intervalMs);
    }
  }

  /** Never rejects. */
  private async watch(server: string): Promise<void> {
    if (this.watched.has(server)) return;
    this.watched.add(server);
    let isMember = true;
    while (isMember && !this.signal.aborted) {
      try {
        isMember = await this.servers.askOn(server, (ask) => this.askUntilSilent(ask));
        if (isMember && !this.signal.aborted) await this.servers.silent(server);
      } catch (error) {
        await this.servers.failed(error).catch(() => undefined);
      }
      await this.servers.whenBack(server);
      await this.pause(this.times.intervalMs);
    }
    this.watched.delete(server);
  }

  /** Resolves when the server does not answer in time, or the signal aborts. Rejects if a statement fails. */
  private async askUntilSilent(ask: () => Promise<unknown>): Promise<void> {
    while (!this.signal.aborted) {
      let isAnswered = false;
      const answer = ask().then(() => {
        isAnswered = true;
      });
      const timeout = new AbortController();
      const limit = pause(this.times.silenceMs, undefined, {
        signal: AbortSignal.any([timeout.signal, this.signal]),
        ref: false,
      });
      await Promise.race([answer, limit.catch(() => undefined)]).finally(() => timeout.abort());
      // After a long pause of this process, the timer fires before the answer, which has already arrived, is read.
      for (let turns = 0; turns < 2 && !isAnswered; turns++) await turn();
      if (!isAnswered) {
        answer.catch(() => undefined);
        return;
      }
      await this.pause(this.times.intervalMs);
    }
  }

  private async pause(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.signal, ref: false }).catch(() => undefined);
  }
}
