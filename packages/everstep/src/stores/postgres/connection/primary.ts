/**
 * Determines which of the servers that a URL names is the primary. A single server is always used. Of several, the one that accepts
 * writes is the primary. If two accept writes, the primary is the one with the newer history: the other was replaced but has not
 * detected that yet. A server whose history is older than one that was seen before is never used again.
 *
 * A server that was replaced still responds. `confirm` determines whether a response can be trusted.
 * Keeps invariant 30.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../../../ports/log.js';
import { SharedWork } from '../cluster/shared-work.js';
import { locationOfUrl } from './errors.js';
import { probeServer, type ServerProbe, type ServerState } from './server-probe.js';
import { withVerification } from './tls.js';

/** Interval at which all servers are probed while there are no reads. */
const PROBE_EVERY_MS = 250;
/** Interval between attempts to connect to an unreachable server. */
const RECONNECT_EVERY_MS = 1_000;
/** Maximum wait for a response that still counts as immediate. */
const MAX_IMMEDIATE_MS = 100;
/** A read is rejected if nothing has confirmed the primary within this time. */
const CONFIRM_WITHIN_MS = 5_000;

const URL_PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]+)([^?#]*)(?:\?([^#]*))?/i;
/** Parameter that selects one of several servers: here always the one that accepts writes. */
const SERVER_SELECTION_PARAMETER = 'target_session_attrs';

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** Returns a URL for each server that the URL names, in its order. */
export function serverUrls(originalUrl: string): readonly string[] {
  const url = withVerification(originalUrl);
  const [, prefix, hosts, path = '', query = ''] = URL_PARTS.exec(url) ?? [];
  if (prefix === undefined || hosts === undefined || !hosts.includes(',')) return [url];
  const parameters = query.split('&').filter((pair) => pair !== '' && pair.split('=')[0] !== SERVER_SELECTION_PARAMETER);
  const suffix = parameters.length === 0 ? path : `${path}?${parameters.join('&')}`;
  return hosts.split(',').map((host) => `${prefix}${host}${suffix}`);
}

export interface PrimaryOptions {
  readonly url: string;
  readonly log: Log;
  /** Creates the probe of a server. By default, probes connect to the servers. */
  readonly probe?: (url: string) => ServerProbe;
  readonly probeIntervalMs?: number;
  readonly confirmWithinMs?: number;
}

/** Returns the URL for one connection: that of the primary, or of the first server if there is none. */
export async function primaryUrl(url: string, probe?: PrimaryOptions['probe']): Promise<string> {
  const primary = new Primary({ url, log: SILENT, ...(probe ? { probe } : {}) });
  await primary.ready();
  primary.close();
  return primary.url;
}

interface Server {
  readonly url: string;
  readonly probe: ServerProbe;
  readonly commitProbe: SharedWork<boolean>;
  /** Whether the server responded to the last request. */
  isReachable: boolean;
}

/** The state that each server reports, in the order of the URL. A server that does not respond has the state `unknown`. */
interface ProbeResults {
  /** The states of the servers that responded immediately; `unknown` for the others. */
  readonly immediateStates: readonly ServerState[];
  readonly allStates: Promise<readonly ServerState[]>;
}

export class Primary {
  private readonly urls: readonly string[];
  private readonly servers: readonly Server[];
  private readonly log: Log;
  private readonly probeIntervalMs: number;
  private readonly confirmWithinMs: number;
  private readonly listeners = new Set<() => void>();
  private readonly connectedProbes = new SharedWork(() => this.probeConnected());
  private primaryServerUrl: string;
  private timeline = -1;
  private pendingSearch: Promise<void> | null = null;
  private probeTimer: NodeJS.Timeout | undefined;
  private reconnectAt = 0;
  private isClosed = false;

  constructor(options: PrimaryOptions) {
    const { url, log, probe = probeServer, probeIntervalMs = PROBE_EVERY_MS, confirmWithinMs = CONFIRM_WITHIN_MS } = options;
    this.urls = serverUrls(url);
    this.primaryServerUrl = this.urls[0] ?? url;
    this.log = log;
    this.probeIntervalMs = probeIntervalMs;
    this.confirmWithinMs = confirmWithinMs;
    this.servers = (this.hasSeveralServers ? this.urls : []).map((url) => {
      const serverProbe = probe(url);
      return { url, probe: serverProbe, commitProbe: new SharedWork(() => serverProbe.tryCommit()), isReachable: true };
    });
  }

  /** URL for a connection that is opened now. */
  get url(): string {
    return this.primaryServerUrl;
  }
  /** Whether the URL names several servers. */
  get hasSeveralServers(): boolean {
    return this.urls.length > 1;
  }
  /** Whether the server of `url` has reported that it is the primary. */
  get isKnown(): boolean {
    return !this.hasSeveralServers || this.timeline >= 0;
  }

  /** Resolves after the first search, even if it found no primary. From then on, the servers are probed regularly. */
  async ready(): Promise<void> {
    if (this.isKnown) return;
    await this.find();
    this.scheduleProbe();
  }

  /** Registers a listener that is called when the primary has changed. */
  onChange(listener: () => void): void {
    this.listeners.add(listener);
  }

  /** Looks for the primary now, and connects to servers that are not connected. Never rejects. */
  async find(): Promise<void> {
    if (!this.hasSeveralServers || this.isClosed) return;
    this.pendingSearch ??= this.probeAll().finally(() => {
      this.pendingSearch = null;
    });
    await this.pendingSearch;
  }

  /**
   * Resolves with the URL of the server that was the primary at a moment after this call, or with null if nothing confirms it.
   * Responses that this server sent before this resolves may be returned to a client: no other server had been used as the primary
   * when the client sent its request. Never rejects.
   *
   * All other servers must report that they are not the primary. If one of them does not respond immediately, it is sufficient
   * that the primary acknowledges a commit, which it cannot do after its synchronous standby was promoted.
   */
  async confirm(): Promise<string | null> {
    const { immediateStates, allStates } = await this.connectedProbes.run();
    const url = this.primaryServerUrl;
    if (this.allAgree(immediateStates)) return url;
    const isCommitAcknowledged = this.servers.find((server) => server.url === url)?.commitProbe.run() ?? false;
    const checks = [isCommitAcknowledged, allStates.then((states) => this.allAgree(states))];
    const isConfirmed = await Promise.race([
      ...checks.map(resolveIfTrue),
      Promise.all(checks).then((outcomes) => outcomes.includes(true)),
      pause(this.confirmWithinMs, false, { ref: false }),
    ]);
    return isConfirmed && url === this.primaryServerUrl && !this.isClosed ? url : null;
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.probeTimer);
    for (const { probe } of this.servers) probe.close();
  }

  private scheduleProbe(): void {
    clearTimeout(this.probeTimer);
    if (this.isClosed) return;
    this.probeTimer = setTimeout(() => void this.connectedProbes.run().then(() => this.scheduleProbe()), this.probeIntervalMs);
    this.probeTimer.unref();
  }

  /** Probes the connected servers. Servers without a connection never delay the probe. */
  private async probeConnected(): Promise<ProbeResults> {
    const shouldReconnect = !this.isClosed && performance.now() >= this.reconnectAt;
    if (shouldReconnect) this.reconnectAt = performance.now() + RECONNECT_EVERY_MS;
    const states = this.servers.map((server): Promise<ServerState> => {
      if (server.probe.isConnected) return this.readState(server);
      if (shouldReconnect) void this.readState(server);
      return Promise.resolve('unknown');
    });
    const immediateStates = states.map((state) =>
      Promise.race([state, pause(MAX_IMMEDIATE_MS, 'unknown' as const, { ref: false })]),
    );
    return { immediateStates: await Promise.all(immediateStates), allStates: Promise.all(states) };
  }

  /** Returns whether the current server reports that it is the primary, and all others report that they are not. */
  private allAgree(states: readonly ServerState[]): boolean {
    return this.servers.every(({ url }, index) => {
      const state = states[index] ?? 'unknown';
      return url === this.primaryServerUrl ? state === this.timeline : state !== 'unknown';
    });
  }

  /** Probes one server. A server with a newer history is the primary as soon as it responds, even if others do not. */
  private async readState(server: Server): Promise<ServerState> {
    const state = await server.probe.state();
    if (this.isClosed) return 'unknown';
    if (this.isKnown && typeof state === 'number' && state > this.timeline) this.setPrimary(server.url, state);
    const isReachable = state !== 'unknown';
    if (isReachable !== server.isReachable) {
      server.isReachable = isReachable;
      const fields = { server: locationOfUrl(server.url) };
      if (isReachable) this.log.info(fields, 'database server responded again');
      else this.log.warn(fields, 'database server did not respond, reads wait for a commit on the primary');
    }
    return state;
  }

  private async probeAll(): Promise<void> {
    const states = await Promise.all(this.servers.map((server) => this.readState(server)));
    let foundUrl: string | null = null;
    let newestTimeline = this.timeline;
    for (const [index, { url }] of this.servers.entries()) {
      const state = states[index];
      if (typeof state !== 'number' || state < newestTimeline || (state === newestTimeline && foundUrl !== null)) continue;
      newestTimeline = state;
      foundUrl = url;
    }
    if (foundUrl !== null) this.setPrimary(foundUrl, newestTimeline);
  }

  private setPrimary(foundUrl: string, timeline: number): void {
    if (this.isClosed) return;
    const [hasMoved, isFirst] = [foundUrl !== this.primaryServerUrl, this.timeline < 0];
    this.timeline = timeline;
    if (!hasMoved) return;
    this.primaryServerUrl = foundUrl;
    if (!isFirst) this.log.warn({ server: locationOfUrl(foundUrl) }, 'database primary changed');
    for (const listener of this.listeners) listener();
  }
}

/** Resolves if the outcome is true, and never resolves otherwise. */
const resolveIfTrue = async (outcome: boolean | Promise<boolean>): Promise<boolean> => (await outcome) || new Promise(() => {});
