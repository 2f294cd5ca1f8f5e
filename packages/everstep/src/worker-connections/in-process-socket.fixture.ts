/** Connects workers of the SDK to the pools of a test in the same process, without a network and without a handshake. */
import assert from 'node:assert/strict';
import type { SocketConstructor, SocketLike } from '@everstep/sdk';
import type { ServiceFrame } from '@everstep/sdk/protocol';
import type { Clock } from '../ports/clock.js';
import { readHello } from './read-frames.js';
import { CLOSE, WorkerLink } from './worker-link.js';
import type { WorkerPools } from './worker-pools.js';

const OPEN = 1;
const CLOSED = 3;
const HEARTBEAT_MS = 10_000;
const MAX_FRAME_BYTES = 1024 * 1024;

type Listener = Parameters<SocketLike['addEventListener']>[1];

export interface InProcessOptions {
  readonly pools: WorkerPools;
  readonly clock: Clock;
  readonly instanceId: string;
}

let connections = 0;

/** Returns a replacement for the global WebSocket, for the option `WebSocket` of `connect`. */
export function inProcessSocket({ pools, clock, instanceId }: InProcessOptions): SocketConstructor {
  return class implements SocketLike {
    readyState = 0;
    binaryType = 'blob';
    private readonly listeners = new Map<string, Listener[]>();
    private link: WorkerLink | null = null;

    constructor() {
      setImmediate(() => {
        this.readyState = OPEN;
        this.emit('open', {});
      });
    }

    addEventListener(type: string, listener: Listener): void {
      this.listeners.set(type, [...(this.listeners.get(type) ?? []), listener]);
    }

    send(data: string): void {
      if (this.link) this.link.receive(data);
      else this.accept(data);
    }

    close(): void {
      if (this.readyState === CLOSED) return;
      this.readyState = CLOSED;
      this.link?.end();
      this.emit('close', {});
    }

    private accept(data: string): void {
      const read = readHello(data);
      assert.ok(read.ok, data);
      const { kind: _kind, token: _token, connection: _connection, protocol: _protocol, ...profile } = read.hello;
      const link = new WorkerLink({
        ...{ connectionId: `con_${++connections}`, instanceId, profile, clock, heartbeatMs: HEARTBEAT_MS },
        socket: {
          send: (message) => setImmediate(() => this.emit('message', { data: message })),
          close: (_code, reason) => setImmediate(() => this.emit('close', { reason })),
        },
        changed: (changed) => pools.placesChanged(changed),
        ended: (ended) => pools.remove(ended),
      });
      this.link = link;
      const nodes = [{ nodeId: 'n_1' }];
      const welcome: ServiceFrame = {
        ...{ kind: 'welcome', connectionId: link.connectionId, nodeId: 'n_1', nodes },
        ...{ heartbeatMs: HEARTBEAT_MS, maxFrameBytes: MAX_FRAME_BYTES },
      };
      this.emit('message', { data: JSON.stringify([welcome]) });
      pools.add(link);
    }

    private emit(type: string, event: Parameters<Listener>[0]): void {
      for (const listener of this.listeners.get(type) ?? []) listener(event);
    }
  };
}

/** Ends all connections of an instance, as when the network fails. */
export function disconnectAll(pools: WorkerPools, instanceId: string): void {
  for (const link of pools.linksOf(instanceId)) link.close(CLOSE.goingAway, 'the test has ended the connection');
}
