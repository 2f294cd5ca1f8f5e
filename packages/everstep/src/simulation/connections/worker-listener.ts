/** Accepts the connections of workers for one life of the server, in place of its HTTP server. */
import type { Clock } from '../../ports/clock.js';
import { readHello } from '../../worker-connections/read-frames.js';
import { WorkerLink } from '../../worker-connections/worker-link.js';
import { WorkerPools } from '../../worker-connections/worker-pools.js';
import type { CutConnection } from './cut-connection.js';

const HEARTBEAT_MS = 15_000;
const MAX_FRAME_BYTES = 1_000_000;

export class WorkerListener {
  readonly pools: WorkerPools;
  private readonly instanceId: string;
  private readonly clock: Clock;
  private readonly connections = new Map<CutConnection, WorkerLink | null>();
  private acceptedCount = 0;
  private isClosed = false;

  /** Creates the listener. The timers of `clock` end with the server. */
  constructor(instanceId: string, clock: Clock) {
    this.instanceId = instanceId;
    this.clock = clock;
    this.pools = new WorkerPools(clock);
  }

  accept(connection: CutConnection): void {
    if (this.isClosed) {
      connection.kill('server');
      return;
    }
    this.connections.set(connection, null);
    connection.attach('server', {
      message: (text) => {
        const link = this.connections.get(connection);
        if (link) link.receive(text);
        else this.greet(connection, text);
      },
      onEnd: () => {
        this.connections.get(connection)?.end();
        this.connections.delete(connection);
      },
    });
  }

  /** Ends all connections when the server stops or is killed. */
  kill(): void {
    this.isClosed = true;
    for (const connection of this.connections.keys()) connection.kill('server');
    this.connections.clear();
  }

  /** Drains a connection. */
  drain(connection: CutConnection): void {
    this.connections.get(connection)?.drain();
  }

  private greet(connection: CutConnection, text: string): void {
    const result = readHello(text);
    if (!result.ok) throw new Error(result.message);
    const { kind: _kind, token: _token, connection: _connection, protocol: _protocol, ...profile } = result.hello;
    const { instanceId, clock, pools } = this;
    const link = new WorkerLink({
      ...{ connectionId: `c_${++this.acceptedCount}`, instanceId, profile, heartbeatMs: HEARTBEAT_MS },
      ...{ connectedAt: clock.now(), elapsedClock: clock },
      socket: {
        send: (message) => connection.send('server', message),
        close: (_code, reason) => connection.close('server', reason),
      },
      onSlotsChanged: (changed) => pools.slotsChanged(changed),
      onEnded: (ended) => pools.remove(ended),
    });
    this.connections.set(connection, link);
    link.sendFrame({
      ...{ kind: 'welcome', connectionId: link.connectionId, nodeId: 'n', nodes: [{ nodeId: 'n' }] },
      ...{ heartbeatMs: HEARTBEAT_MS, maxFrameBytes: MAX_FRAME_BYTES },
    });
    pools.add(link);
  }
}
