/** Connections of workers in simulated time. A test controls the worker side. */
import type { ServiceFrame, StepReply, WorkerFrame } from '@everstep/sdk/protocol';
import { SimulatedClock } from '../clock/testing/simulated-clock.js';
import type { Clock } from '../ports/clock.js';
import { WorkerLink, type WorkerProfile } from './worker-link.js';
import { WorkerPools } from './worker-pools.js';

export const HEARTBEAT_MS = 10_000;
const PROFILE: WorkerProfile = { app: 'shop', workflows: ['order'], maxConcurrency: 2, workerId: 'w', sdk: 'test' };

/** Resolves when everything that waits only for promises has continued. */
export const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
};

/** One connection. The test reads what the server sends, and replies. */
export class SimulatedWorker {
  readonly link: WorkerLink;
  /** The messages of the server, parsed. */
  readonly messages: (readonly ServiceFrame[])[] = [];
  /** Calls with which the server has closed the connection. */
  readonly closeCalls: { readonly code: number; readonly reason: string }[] = [];
  /** State of the transport. */
  unsentBytes = 0;
  isPaused = false;
  private readonly harness: ConnectedWorkers;

  constructor(harness: ConnectedWorkers, profile: Partial<WorkerProfile>) {
    this.harness = harness;
    const { clock, elapsedClock, pools } = harness;
    this.link = new WorkerLink({
      ...{
        connectionId: `con_${++harness.connections}`,
        instanceId: 'qi_1',
        profile: { ...PROFILE, ...profile },
        connectedAt: clock.now(),
        elapsedClock,
        heartbeatMs: HEARTBEAT_MS,
      },
      socket: {
        send: (message) => {
          this.messages.push(JSON.parse(message));
        },
        close: (code, reason) => {
          this.closeCalls.push({ code, reason });
        },
        unsentBytes: () => this.unsentBytes,
        isPaused: () => this.isPaused,
      },
      onSlotsChanged: (link) => pools.slotsChanged(link),
      onEnded: (link) => pools.remove(link),
    });
    pools.add(this.link);
  }

  get frames(): readonly ServiceFrame[] {
    return this.messages.flat();
  }
  /** Ids of the requests that the worker has received. */
  get receivedIds(): readonly number[] {
    return this.frames.flatMap((frame) => (frame.kind === 'step' || frame.kind === 'notice' ? [frame.id] : []));
  }
  /** Returns how often the worker has received a frame of the kind. */
  count(kind: ServiceFrame['kind']): number {
    return this.frames.filter((frame) => frame.kind === kind).length;
  }

  send(...frames: readonly WorkerFrame[]): void {
    this.link.receive(JSON.stringify(frames));
  }
  /** Replies to a request; the newest one by default. */
  respond(id = this.receivedIds.at(-1) ?? 0, reply: StepReply = { protocol: 1, kind: 'journal-needed' }): void {
    this.send({ kind: 'answer', id, reply });
  }
  /** Ends the transport. */
  lose(): void {
    this.link.end();
  }
  /** Ends a turn, so that frames are sent. */
  async turn(): Promise<void> {
    await settle();
    while (this.harness.clock.runTurn()) await settle();
  }
}

export class ConnectedWorkers {
  readonly clock = new SimulatedClock(1_800_000_000_000);
  readonly pools = new WorkerPools(this.clock);
  /** Time for which the event loop was blocked, ms. Timers that were set before fire late. */
  private blockedMs = 0;
  readonly elapsedClock: Clock = {
    now: () => this.clock.now() + this.blockedMs,
    setTimer: (atMs, fire) => this.clock.setTimer(atMs - this.blockedMs, fire),
    endOfTurn: (fire) => this.clock.endOfTurn(fire),
  };
  /** Number of connections so far, which is part of their ids. */
  connections = 0;

  connect(profile: Partial<WorkerProfile> = {}): SimulatedWorker {
    return new SimulatedWorker(this, profile);
  }

  /** Blocks the event loop, and then fires the next timer, late. */
  async block(ms: number): Promise<void> {
    this.blockedMs += ms;
    this.clock.advance();
    await settle();
    while (this.clock.runTurn()) await settle();
  }

  /** Advances the clock and fires the timers that become due. */
  async pass(ms: number): Promise<void> {
    const until = this.clock.now() + ms;
    let isOver = false;
    this.clock.setTimer(until, () => {
      isOver = true;
    });
    while (!isOver) {
      this.clock.advance();
      await settle();
      while (this.clock.runTurn()) await settle();
    }
  }
}
