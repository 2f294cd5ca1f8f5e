/** Faults of nodes and their database, chosen at random, one at a time. */
import { setTimeout as pause } from 'node:timers/promises';
import type { SeededRandom } from '../../clock/testing/seeded-random.js';
import type { DatabaseProxy } from '../../stores/postgres/testing/database-proxy.js';
import type { OwnServer } from '../../stores/postgres/testing/own-server.js';
import type { Nodes } from '../nodes.fixture.js';

export const NODE_FAULTS = [
  'a node is killed',
  'a node is paused for longer than its lease',
  'the database is killed',
  'connections are cut',
  'responses to commits are lost',
  'a node cannot reach the database',
  'a worker forgets its parked runs',
] as const;
export type NodeFault = (typeof NODE_FAULTS)[number];

export interface NodeFaultsOptions {
  readonly nodes: Nodes;
  readonly database: OwnServer;
  /** One proxy per node. */
  readonly proxies: readonly DatabaseProxy[];
  readonly random: SeededRandom;
  readonly leaseMs: number;
  /** Pause between two faults. */
  readonly intervalMs: number;
  readonly restartWorker: () => void;
}

const START_TRIES = 20;

async function retryStart(start: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await start();
    } catch (error) {
      if (tries === START_TRIES) throw error;
      await pause(100);
    }
  }
}

const LOST_RESPONSES = 3;

export class NodeFaults {
  readonly counts = new Map<NodeFault, number>();
  private readonly options: NodeFaultsOptions;

  constructor(options: NodeFaultsOptions) {
    this.options = options;
  }

  /** Injects faults until `isEnded` returns true. All faults are repaired when the promise resolves. */
  async injectUntil(isEnded: () => boolean): Promise<void> {
    const { random, intervalMs, nodes } = this.options;
    // Each fault occurs equally often, in random order.
    let remainingFaults: NodeFault[] = [];
    while (!isEnded()) {
      await pause(intervalMs / 2 + random.below(intervalMs));
      if (isEnded()) break;
      if (remainingFaults.length === 0) remainingFaults = [...NODE_FAULTS];
      const [fault] = remainingFaults.splice(random.below(remainingFaults.length), 1);
      if (!fault) continue;
      this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1);
      await this.inject(fault);
    }
    await Promise.all(nodes.all.map((node) => node.ready()));
  }

  private async inject(fault: NodeFault): Promise<void> {
    const { nodes, database, proxies, random, leaseMs, restartWorker } = this.options;
    const index = random.below(nodes.all.length);
    const [node, proxy] = [nodes.node(index), proxies[index]];
    switch (fault) {
      case 'a node is killed':
        await node.end('SIGKILL');
        // The node exits when its first read of the store times out; a process manager restarts it.
        await retryStart(() => node.start());
        return;
      case 'a node is paused for longer than its lease':
        node.signal('SIGSTOP');
        await pause(leaseMs * 1.5);
        node.signal('SIGCONT');
        return;
      case 'the database is killed':
        await database.end('SIGKILL');
        // The processes of the database notice the kill after a moment; until then a new server cannot use its shared memory.
        await retryStart(() => database.start());
        return;
      case 'connections are cut':
        proxy?.cut();
        return;
      case 'responses to commits are lost':
        if (proxy) proxy.responsesToLose = LOST_RESPONSES;
        return;
      case 'a node cannot reach the database':
        if (!proxy) return;
        proxy.isRefusing = true;
        proxy.cut();
        await pause(leaseMs * 1.5);
        proxy.isRefusing = false;
        return;
      case 'a worker forgets its parked runs':
        restartWorker();
        return;
      default:
        fault satisfies never;
    }
  }
}
