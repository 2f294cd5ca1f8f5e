/** Connects workers of the SDK to nodes in the process of a test, without sockets and without the check of tokens. */
import assert from 'node:assert/strict';
import type { SocketConstructor, SocketLike } from '@everstep/sdk';
import type { ConnectionNode, HelloFrame, ServiceFrame } from '@everstep/sdk/protocol';
import type { Clock } from '../ports/clock.js';
import type { FrameSocket } from './frame-writer.js';
import { readHello } from './read-frames.js';
import { WorkerLink } from './worker-link.js';
import type { WorkerPools } from './worker-pools.js';

const OPEN = 1;
const CLOSED = 3;
const HEARTBEAT_MS = 10_000;
const MAX_FRAME_BYTES = 1024 * 1024;

type Listener = Parameters<SocketLike['addEventListener']>[1];

/** The parts of a node that accept workers. */
export interface NodeOfNetwork {
  readonly instanceId: string;
  readonly pools: WorkerPools;
  readonly clock: Clock;
  readonly nodeId: () => string;
  readonly cluster: { readonly connectionNodes: readonly ConnectionNode[]; onNodesChange(listener: () => void): void };
}

function accept(node: NodeOfNetwork, hello: HelloFrame, socket: FrameSocket, connectionId: string): WorkerLink {
  const { kind: _kind, token: _token, connection: _connection, protocol: _protocol, ...profile } = hello;
  const { instanceId, clock } = node;
  return new WorkerLink({
    ...{ connectionId, instanceId, profile, connectedAt: clock.now(), elapsedClock: clock, heartbeatMs: HEARTBEAT_MS, socket },
    onSlotsChanged: (changed) => node.pools.slotsChanged(changed),
    onEnded: (ended) => node.pools.remove(ended),
  });
}

export class InProcessNetwork {
  /** Returns the node that a host name reaches, or null if the connection fails. */
  route: (host: string) => NodeOfNetwork | null;
  readonly dialedHosts: string[] = [];
  private connectionCount = 0;
  private readonly openLinks = new Map<WorkerLink, { readonly node: NodeOfNetwork; readonly fail: () => void }>();

  constructor(route: (host: string) => NodeOfNetwork | null) {
    this.route = route;
  }

  /** Notifies the connected workers when the list of nodes changes. */
  serve(node: NodeOfNetwork): void {
    node.cluster.onNodesChange(() => {
      const frame: ServiceFrame = { kind: 'nodes', nodeId: node.nodeId(), nodes: node.cluster.connectionNodes };
      for (const [link, { node: linkNode }] of this.openLinks) if (linkNode === node) link.sendFrame(frame);
    });
  }

  /** Ends the connections of a node without a notice, as when it is killed. */
  cut(node: NodeOfNetwork): void {
    for (const { node: linkNode, fail } of [...this.openLinks.values()]) if (linkNode === node) fail();
  }

  /** Replaces the global WebSocket, for the option `WebSocket` of `connect`. */
  get Socket(): SocketConstructor {
    const network = this;
    return class implements SocketLike {
      readyState = 0;
      binaryType = 'blob';
      private readonly listeners = new Map<string, Listener[]>();
      private link: WorkerLink | null = null;
      private readonly node: NodeOfNetwork | null;

      constructor(url: string) {
        const { host } = new URL(url);
        network.dialedHosts.push(host);
        this.node = network.route(host);
        setImmediate(() => {
          if (this.readyState === CLOSED) return;
          if (!this.node) return this.handleClose('unreachable');
          this.readyState = OPEN;
          this.emit('open', {});
        });
      }

      addEventListener(type: string, listener: Listener): void {
        this.listeners.set(type, [...(this.listeners.get(type) ?? []), listener]);
      }

      send(data: string): void {
        if (this.link) this.link.receive(data);
        else if (this.node) this.acceptHello(this.node, data);
      }

      close(): void {
        if (this.readyState !== CLOSED) this.handleClose('');
      }

      private acceptHello(node: NodeOfNetwork, data: string): void {
        const parsed = readHello(data);
        assert.ok(parsed.ok, data);
        const deliver = (message: string) =>
          setImmediate(() => {
            if (this.readyState === OPEN) this.emit('message', { data: message });
          });
        const frameSocket: FrameSocket = {
          send: deliver,
          close: (_code, reason) => setImmediate(() => this.handleClose(reason)),
        };
        const link = accept(node, parsed.hello, frameSocket, `con_${++network.connectionCount}`);
        this.link = link;
        network.openLinks.set(link, { node, fail: () => this.handleClose('cut') });
        const welcome: ServiceFrame = {
          ...{ kind: 'welcome', connectionId: link.connectionId, nodeId: node.nodeId(), nodes: node.cluster.connectionNodes },
          ...{ heartbeatMs: HEARTBEAT_MS, maxFrameBytes: MAX_FRAME_BYTES },
        };
        link.sendFrame(welcome);
        node.pools.add(link);
      }

      private handleClose(reason: string): void {
        if (this.readyState === CLOSED) return;
        this.readyState = CLOSED;
        if (this.link) network.openLinks.delete(this.link);
        this.link?.end();
        this.emit('close', { reason });
      }

      private emit(type: string, event: Parameters<Listener>[0]): void {
        for (const listener of this.listeners.get(type) ?? []) listener(event);
      }
    };
  }
}
