/**
 * A connection between a worker and the server in simulated time. It delays messages and keeps their order. It can be cut
 * before or after any message, with or without a notice to the two sides.
 */
import type { SeededRandom } from '../../clock/testing/seeded-random.js';
import type { SimulatedClock } from '../../clock/testing/simulated-clock.js';

/** Faults of connections, as probabilities per message. */
export interface ConnectionFaults {
  /** Number of worker processes. */
  readonly workers: number;
  /** Maximum number of requests that a worker handles at the same time. */
  readonly maxConcurrency: number;
  /** Probability that the connection is cut at the message, which arrives in half of the cases. */
  readonly cut: number;
  /** Probability that no further message arrives, so that both sides must detect the loss. */
  readonly silence: number;
  /** Probability that the worker that receives the message is killed, and another one is started. */
  readonly restartWorker: number;
  /** Probability that one of the two sides drains the connection. */
  readonly drain: number;
  readonly maxDelayMs: number;
  /** Cuts exactly once, at the message with this number, counted from 1 in both directions. */
  readonly cutAt?: { readonly message: number; readonly delivers: boolean };
}

export const NO_CONNECTION_FAULTS: ConnectionFaults = {
  ...{ workers: 2, maxConcurrency: 100, maxDelayMs: 20 },
  ...{ cut: 0, silence: 0, restartWorker: 0, drain: 0 },
};

/** The network of a simulation. */
export class FrameNetwork {
  readonly clock: SimulatedClock;
  readonly random: SeededRandom;
  faults: ConnectionFaults;
  /** Number of messages that have arrived or were lost. */
  messageCount = 0;
  /** Number of connections that were cut. */
  cutCount = 0;

  constructor(clock: SimulatedClock, random: SeededRandom, faults: ConnectionFaults) {
    this.clock = clock;
    this.random = random;
    this.faults = faults;
  }

  /** Returns what happens to the next message. */
  nextFate(): 'arrives' | 'arrives, then the connection is cut' | 'is lost with the connection' | 'is lost silently' {
    const { cut, silence, cutAt } = this.faults;
    this.messageCount++;
    if (cutAt && cutAt.message === this.messageCount)
      return cutAt.delivers ? 'arrives, then the connection is cut' : 'is lost with the connection';
    if (cut > 0 && this.random.chance(cut))
      return this.random.chance(0.5) ? 'arrives, then the connection is cut' : 'is lost with the connection';
    return silence > 0 && this.random.chance(silence) ? 'is lost silently' : 'arrives';
  }
}

export type Side = 'worker' | 'server';

/** One side of a connection. */
export interface Receiver {
  message(text: string): void;
  /** Called once when the connection has ended, unless this side has ended it. */
  onEnd(reason: string): void;
}

const otherSide = (side: Side): Side => (side === 'worker' ? 'server' : 'worker');

export class CutConnection {
  private readonly network: FrameNetwork;
  private readonly receivers: Partial<Record<Side, Receiver>> = {};
  private readonly hasEnded: Record<Side, boolean> = { worker: false, server: false };
  /** Times when the last message to each side arrives. */
  private readonly lastArrivalAt: Record<Side, number> = { worker: 0, server: 0 };
  private isCut = false;
  private isSilent = false;

  constructor(network: FrameNetwork) {
    this.network = network;
  }

  /** Sets the receiver of the messages to a side. */
  attach(side: Side, receiver: Receiver): void {
    this.receivers[side] = receiver;
  }

  isOpenFor(side: Side): boolean {
    return !this.isCut && !this.hasEnded[side];
  }

  send(from: Side, text: string): void {
    if (!this.isOpenFor(from)) return;
    const to = otherSide(from);
    this.schedule(to, () => this.arrive(to, text));
  }

  /** Ends the connection. The other side learns of it after the messages that were sent earlier. */
  close(from: Side, reason: string): void {
    if (this.hasEnded[from]) return;
    this.hasEnded[from] = true;
    const to = otherSide(from);
    this.schedule(to, () => {
      if (!this.isSilent) this.end(to, reason);
    });
  }

  /** Ends the process on this side without a notice. */
  kill(side: Side): void {
    this.hasEnded[side] = true;
    this.cut();
  }

  private cut(): void {
    if (this.isCut) return;
    this.isCut = true;
    this.network.cutCount++;
    for (const side of ['worker', 'server'] as const) this.schedule(side, () => this.end(side, 'the connection was cut'));
  }

  private arrive(to: Side, text: string): void {
    if (this.isCut || this.isSilent || this.hasEnded[to]) return;
    switch (this.network.nextFate()) {
      case 'is lost silently':
        this.isSilent = true;
        return;
      case 'is lost with the connection':
        this.cut();
        return;
      case 'arrives, then the connection is cut':
        this.receivers[to]?.message(text);
        this.cut();
        return;
      case 'arrives':
        this.receivers[to]?.message(text);
    }
  }

  private end(side: Side, reason: string): void {
    if (this.hasEnded[side]) return;
    this.hasEnded[side] = true;
    this.receivers[side]?.onEnd(reason);
  }

  private schedule(to: Side, work: () => void): void {
    const { clock, random, faults } = this.network;
    const arrivesAt = Math.max(this.lastArrivalAt[to], clock.now() + random.below(faults.maxDelayMs));
    this.lastArrivalAt[to] = arrivesAt;
    clock.setTimer(arrivesAt, work);
  }
}
