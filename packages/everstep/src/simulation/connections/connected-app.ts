/** The user's app as workers that connect to the server. Its processes are killed and restarted, and then lose their held runs. */
import type { WorkflowEndpoint } from '../../../../sdk/dist/endpoint.js';
import { startWorker } from '../../../../sdk/dist/worker/connect.js';
import type { Worker } from '../../../../sdk/dist/worker/worker.js';
import type { SocketConstructor, SocketLike } from '../../../../sdk/dist/worker/worker-connection.js';
import type { WorkerTime } from '../../../../sdk/dist/worker/worker-time.js';
import { CutConnection, type FrameNetwork } from './cut-connection.js';
import type { WorkerListener } from './worker-listener.js';

const SOCKET_STATE = { connecting: 0, open: 1, closed: 3 } as const;
const DRAIN_GRACE_MS = 5_000;

type Workflows = Readonly<Record<string, WorkflowEndpoint>>;
type Listener = Parameters<SocketLike['addEventListener']>[1];

export interface ConnectedAppOptions {
  readonly app: string;
  readonly network: FrameNetwork;
  /** Returns the workflows of a new process. */
  readonly startApp: () => Workflows;
  /** Returns the server that currently accepts connections. */
  readonly currentListener: () => WorkerListener;
}

/** One process of the app. */
interface Process {
  readonly worker: Worker;
  isDead: boolean;
  readonly connections: Map<CutConnection, WorkerListener>;
}

export class ConnectedApp {
  /** Number of requests that are being processed in real time. Simulated time does not advance during them. */
  busyCount = 0;
  private readonly options: ConnectedAppOptions;
  private readonly processes: Process[];

  constructor(options: ConnectedAppOptions) {
    this.options = options;
    this.processes = Array.from({ length: options.network.faults.workers }, (_, index) => this.start(index));
  }

  private start(index: number): Process {
    const { app, network, startApp } = this.options;
    const process: Omit<Process, 'worker'> = { isDead: false, connections: new Map() };
    const worker = startWorker(
      {
        ...{ app, baseUrl: 'http://everstep', token: 'a token', host: `worker ${index}`, drainOn: [] },
        workflows: this.countRequests(startApp()),
        maxConcurrency: network.faults.maxConcurrency,
        onProblem: () => {},
        WebSocket: this.socketConstructorOf(index, process),
      },
      Object.keys(startApp()),
      this.timeOf(process),
    );
    return Object.assign(process, { worker });
  }

  private timeOf(process: { readonly isDead: boolean }): WorkerTime {
    const { clock, random } = this.options.network;
    const unlessDead = (fire: () => void) => () => {
      if (!process.isDead) fire();
    };
    return {
      now: () => clock.now(),
      // The store accepts whole milliseconds only.
      after: (delayMs, fire) => clock.setTimer(clock.now() + Math.ceil(delayMs), unlessDead(fire)),
      endOfTurn: (fire) => clock.endOfTurn(unlessDead(fire)),
      random: () => random.below(1_000) / 1_000,
    };
  }

  /** Returns the workflows, with their requests in progress counted. */
  private countRequests(workflows: Workflows): Workflows {
    const countRequestsOf = (endpoint: WorkflowEndpoint): WorkflowEndpoint => ({
      ...endpoint,
      workflow: {
        ...endpoint.workflow,
        answer: async (frame) => {
          this.busyCount++;
          try {
            return await endpoint.workflow.answer(frame);
          } finally {
            this.busyCount--;
          }
        },
      },
    });
    return Object.fromEntries(Object.entries(workflows).map(([name, endpoint]) => [name, countRequestsOf(endpoint)]));
  }

  /** Returns the constructor of the sockets of a process. */
  private socketConstructorOf(index: number, process: Omit<Process, 'worker'>): SocketConstructor {
    const { network, currentListener } = this.options;
    const injectFault = (connection: CutConnection): boolean => this.injectFault(index, connection);
    return class implements SocketLike {
      readyState: number = SOCKET_STATE.connecting;
      binaryType = 'blob';
      private readonly connection = new CutConnection(network);
      private readonly listeners = new Map<string, Listener[]>();

      constructor() {
        const listener = currentListener();
        process.connections.set(this.connection, listener);
        this.connection.attach('worker', {
          message: (data) => {
            this.emit('message', { data });
            injectFault(this.connection);
          },
          onEnd: (reason) => {
            this.readyState = SOCKET_STATE.closed;
            process.connections.delete(this.connection);
            this.emit('close', { reason });
          },
        });
        network.clock.setTimer(network.clock.now() + network.random.below(network.faults.maxDelayMs), () => {
          if (process.isDead || !this.connection.isOpenFor('worker')) return;
          this.readyState = SOCKET_STATE.open;
          listener.accept(this.connection);
          this.emit('open', {});
        });
      }

      addEventListener(type: string, listener: Listener): void {
        this.listeners.set(type, [...(this.listeners.get(type) ?? []), listener]);
      }
      send(data: string): void {
        this.connection.send('worker', data);
      }
      close(): void {
        if (this.readyState === SOCKET_STATE.closed) return;
        this.readyState = SOCKET_STATE.closed;
        process.connections.delete(this.connection);
        this.connection.close('worker', '');
      }
      private emit(type: string, event: Parameters<Listener>[0]): void {
        if (!process.isDead) for (const listener of this.listeners.get(type) ?? []) listener(event);
      }
    };
  }

  /** Restarts or drains a process at random when it has received a message. Returns false if the process had already ended. */
  private injectFault(index: number, connection: CutConnection): boolean {
    const { random, faults } = this.options.network;
    const process = this.processes[index];
    if (!process || process.isDead) return false;
    if (faults.restartWorker > 0 && random.chance(faults.restartWorker)) {
      process.isDead = true;
      for (const connection of process.connections.keys()) connection.kill('worker');
      this.processes[index] = this.start(index);
    } else if (faults.drain > 0 && random.chance(faults.drain)) {
      if (random.chance(0.5)) process.connections.get(connection)?.drain(connection);
      else {
        void process.worker.close(DRAIN_GRACE_MS);
        this.processes[index] = this.start(index);
      }
    }
    return true;
  }
}
