/** The connections of a worker: it finds the nodes of the installation and keeps one connection to each of them open. */
import { EverstepError } from '../errors.js';
import { CONNECT_PATH, type ConnectionNode, type HelloFrame } from './frames.js';
import { neededLinks } from './needed-links.js';
import { reconnectDelayMs } from './reconnect-delay.js';
import { type ConnectionEnd, type ConnectionEvents, type SocketConstructor, WorkerConnection } from './worker-connection.js';
import type { WorkerTime } from './worker-time.js';

/** State of a worker. It is `connected` while at least one connection is open. */
export type WorkerState = 'connecting' | 'connected' | 'draining' | 'closed';

/** A connection that ends within this time counts as a failure, so that a server that closes each connection is not flooded. */
const STABLE_MS = 5_000;
/** Time in which a surplus connection can finish its work. */
const SURPLUS_GRACE_MS = 30_000;
/** Time in which work can arrive that the server sent over a surplus connection before it read that the worker drains it. */
const SURPLUS_LATE_WORK_MS = 1_000;

export interface WorkerOptions {
  /** URL of the server. */
  readonly baseUrl: string;
  readonly hello: HelloFrame;
  readonly Socket: SocketConstructor;
  readonly perform: ConnectionEvents['perform'];
  readonly onState: (state: WorkerState) => void;
  readonly onProblem: (message: string) => void;
  readonly time: WorkerTime;
}

/** An attempt to keep a connection to one node open. */
interface Link {
  /** URL of the socket. */
  readonly url: string;
  /** Id of the node with this address; null for a link through the URL of the server, where any node may answer. */
  readonly targetNodeId: string | null;
  /** The newest connection; null while there is none. An older one may still be finishing its work. */
  connection: WorkerConnection | null;
  /** The node that the connection has reached; null while none accepts the worker. */
  nodeId: string | null;
  connectedAt: number;
  failures: number;
  /** Whether the node has rejected the worker permanently. */
  isRejected: boolean;
  /** Cancels the next attempt; null if none is planned. */
  cancelDial: (() => void) | null;
}

/** @throws {TypeError} If the URL is not an http or https URL. */
export function socketUrl(baseUrl: string): string {
  const url = new URL(baseUrl);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new TypeError(`baseUrl must be an http or https URL, not ${JSON.stringify(baseUrl)}`);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${CONNECT_PATH}`;
  return url.toString();
}

/** Returns the socket URL of a node; null if its address is missing or malformed. */
function nodeSocketUrl({ url }: ConnectionNode): string | null {
  try {
    return url === undefined ? null : socketUrl(url);
  } catch {
    return null;
  }
}

export class Worker {
  state: WorkerState = 'connecting';
  readonly connected: Promise<void>;
  private readonly options: WorkerOptions;
  private readonly serverSocketUrl: string;
  /** Links to the addresses of nodes, by node id. */
  private readonly directLinks = new Map<string, Link>();
  /** Links through the URL of the server that have reached a node. */
  private readonly indirectLinks = new Set<Link>();
  /** The link that looks for a node through the URL of the server. */
  private searchLink: Link | null = null;
  private searchCount = 0;
  private searchFailures = 0;
  private nodes: readonly ConnectionNode[] = [];
  /** All connections, including those that accept no more work. */
  private readonly connections = new Set<WorkerConnection>();
  private connectedSettlers: { readonly resolve: () => void; readonly reject: (error: Error) => void } | null = null;

  /** @throws {TypeError} If the base URL is malformed. */
  constructor(options: WorkerOptions) {
    this.options = options;
    this.serverSocketUrl = socketUrl(options.baseUrl);
    this.connected = new Promise((resolve, reject) => {
      this.connectedSettlers = { resolve, reject };
    });
    // Prevents an unhandled rejection in an app that does not await the promise. `onProblem` reports the error as well.
    this.connected.catch(() => {});
    this.searchLink = this.newLink(this.serverSocketUrl, null);
    this.dial(this.searchLink);
  }

  get inFlight(): number {
    return [...this.connections].reduce((sum, { inFlight }) => sum + inFlight, 0);
  }

  get isEnding(): boolean {
    return this.state === 'draining' || this.state === 'closed';
  }

  /** Accepts no more work. Resolves when the work in progress has been answered, or after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    if (this.state === 'closed') return;
    this.setState('draining');
    for (const link of this.links) this.cancelTimer(link);
    await Promise.all([...this.connections].map((connection) => connection.drain(graceMs)));
    this.finishClosing(new EverstepError('the worker was closed before it was connected', { status: 0, code: 'closed' }));
  }

  private get links(): readonly Link[] {
    return [...this.directLinks.values(), ...this.indirectLinks, ...(this.searchLink ? [this.searchLink] : [])];
  }

  private get reachedNodeIds(): ReadonlySet<string> {
    return new Set(this.links.flatMap(({ nodeId }) => (nodeId === null ? [] : [nodeId])));
  }

  private setState(state: WorkerState): void {
    if (this.state === state || this.state === 'closed') return;
    this.state = state;
    this.options.onState(state);
  }

  private finishClosing(error: Error): void {
    this.setState('closed');
    this.connectedSettlers?.reject(error);
    this.connectedSettlers = null;
  }

  private newLink(url: string, targetNodeId: string | null): Link {
    const initialState = { connection: null, nodeId: null, connectedAt: 0, failures: 0, isRejected: false, cancelDial: null };
    return { url, targetNodeId, ...initialState };
  }

  private cancelTimer(link: Link): void {
    link.cancelDial?.();
    link.cancelDial = null;
  }

  private dial(link: Link): void {
    const { Socket, hello, perform, time } = this.options;
    const events: ConnectionEvents = {
      perform,
      onConnected: ({ nodeId, connectionId, nodes }) => {
        if (link.connection === connection && !this.isEnding) this.handleConnected(link, nodeId || connectionId);
        this.updateNodes(nodes);
      },
      onNodes: ({ nodeId, nodes }) => {
        // The node may have lost its lease and joined again.
        if (nodeId && link.connection === connection && link.nodeId !== null) link.nodeId = nodeId;
        this.updateNodes(nodes);
      },
      // Another node may take over its work. This connection stays open for the answers.
      onServerDrain: () => {
        if (link.connection === connection) this.detach(link);
      },
      onEnd: (end) => {
        this.connections.delete(connection);
        if (link.connection === connection) this.handleEnd(link, end);
      },
    };
    const connection = new WorkerConnection(Socket, link.url, hello, events, time);
    link.connection = connection;
    this.connections.add(connection);
  }

  private handleConnected(link: Link, nodeId: string): void {
    const isSurplus = this.reachedNodeIds.has(nodeId);
    link.connectedAt = this.options.time.now();
    if (isSurplus) this.dropSurplus(link);
    else {
      link.nodeId = nodeId;
      if (link === this.searchLink) {
        this.indirectLinks.add(link);
        this.searchLink = null;
        this.searchCount = 0;
      }
    }
    this.connectedSettlers?.resolve();
    this.connectedSettlers = null;
    this.setState('connected');
  }

  /**
   * Drains a connection to a node that another connection has already reached. It is not closed immediately, because the server
   * may have sent work together with its welcome.
   */
  private dropSurplus(link: Link): void {
    void link.connection?.drain(SURPLUS_GRACE_MS, SURPLUS_LATE_WORK_MS);
    link.connection = null;
    // The address may lead to the listed node later, for example when a new node has replaced a killed one at its address.
    if (link.targetNodeId !== null) this.retryLater(link);
    if (link !== this.searchLink) return;
    this.searchLink = null;
    this.searchCount++;
    this.searchFailures++;
  }

  private updateNodes(nodes: readonly ConnectionNode[]): void {
    if (JSON.stringify(nodes) !== JSON.stringify(this.nodes)) {
      this.searchCount = 0;
      this.searchFailures = 0;
    }
    this.nodes = nodes;
    this.connectAsNeeded();
  }

  private handleEnd(link: Link, { message, rejection }: ConnectionEnd): void {
    link.isRejected = rejection?.retry === false;
    if (this.isEnding) return;
    this.options.onProblem(`${link.url}: ${message}`);
    // The server would reject every further search. A rejected direct connection says less: perhaps only that node runs another
    // version.
    if (rejection && link.isRejected && link === this.searchLink) {
      this.searchCount = Number.POSITIVE_INFINITY;
      if (this.reachedNodeIds.size === 0) {
        for (const link of this.links) this.cancelTimer(link);
        this.finishClosing(new EverstepError(message, { status: 0, code: rejection.code }));
        for (const connection of [...this.connections]) void connection.drain(SURPLUS_GRACE_MS);
        return;
      }
    }
    this.detach(link);
  }

  /** Detaches the connection from the link, because it accepts no more work, and plans another one. */
  private detach(link: Link): void {
    const wasStable = link.nodeId !== null && this.options.time.now() - link.connectedAt >= STABLE_MS;
    link.connection = null;
    link.nodeId = null;
    if (this.isEnding) return;
    if (link.targetNodeId !== null) {
      link.failures = wasStable ? 0 : link.failures;
      this.retryLater(link);
    } else {
      this.searchFailures = wasStable ? 0 : this.searchFailures + 1;
      this.searchCount = link === this.searchLink ? this.searchCount + 1 : 0;
      if (link === this.searchLink) this.searchLink = null;
      this.indirectLinks.delete(link);
    }
    if (this.reachedNodeIds.size === 0) this.setState('connecting');
    this.connectAsNeeded();
  }

  private retryLater(link: Link): void {
    if (link.isRejected || link.cancelDial) return;
    const { time } = this.options;
    link.cancelDial = time.after(reconnectDelayMs(link.failures++, time.random()), () => {
      link.cancelDial = null;
      if (!this.isEnding && this.directLinks.get(link.targetNodeId ?? '') === link) this.dial(link);
    });
  }

  private searchLater(): void {
    const link = this.newLink(this.serverSocketUrl, null);
    this.searchLink = link;
    const { time } = this.options;
    link.cancelDial = time.after(reconnectDelayMs(this.searchFailures, time.random()), () => {
      link.cancelDial = null;
      if (this.isEnding || this.searchLink !== link) return;
      // Another connection may have reached the node in the meantime.
      if (this.linksToOpen.needsSearch) this.dial(link);
      else this.searchLink = null;
    });
  }

  private get linksToOpen() {
    const directFailures = new Map([...this.directLinks].map(([nodeId, { failures }]) => [nodeId, failures]));
    return neededLinks({ nodes: this.nodes, reachedNodeIds: this.reachedNodeIds, directFailures, searchCount: this.searchCount });
  }

  /** Connects to nodes without a connection, and drops the links to nodes that no longer exist. */
  private connectAsNeeded(): void {
    if (this.isEnding) return;
    const listedNodeIds = new Set(this.nodes.map(({ nodeId }) => nodeId));
    const { reachedNodeIds } = this;
    for (const [nodeId, link] of [...this.directLinks]) {
      // An open connection to a node that leaves ends when its work is answered.
      if (link.nodeId !== null || (listedNodeIds.has(nodeId) && !reachedNodeIds.has(nodeId))) continue;
      this.cancelTimer(link);
      this.directLinks.delete(nodeId);
      link.connection?.close('the node no longer exists, or has another connection');
    }
    const { direct, needsSearch } = this.linksToOpen;
    for (const node of direct) {
      const url = nodeSocketUrl(node);
      if (url === null || this.directLinks.has(node.nodeId)) continue;
      const link = this.newLink(url, node.nodeId);
      this.directLinks.set(node.nodeId, link);
      this.dial(link);
    }
    if (needsSearch && !this.searchLink) this.searchLater();
  }
}
