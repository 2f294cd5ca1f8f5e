/** Injects a fault into the primary under load, and measures for how long no writes were acknowledged. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { assertDatabaseInvariants } from '../invariants.fixture.js';
import { Nodes } from '../nodes.fixture.js';
import { Load } from './load.fixture.js';
import { type ClusterOptions, type DatabaseServer, PatroniCluster } from './patroni-cluster.fixture.js';
import { signalAll } from './process-tree.fixture.js';
import { isOlder } from './programs.fixture.js';

const NODES = 2;
/** Acknowledged triggers of each node before and after a fault. */
const CALM_TRIGGERS = 20;
const FROZEN_MS = 30_000;
/** Duration for which writes must wait if no standby can confirm them. */
const BLOCKED_MS = 5_000;
/** Writes are acknowledged again within this time. Newer versions of Patroni replace a lost primary after 20 s at the earliest. */
const OUTAGE_LIMIT_MS = 15_000;
const OUTAGE_LIMIT_SINCE_3_2_MS = 30_000;
/** Enough for an outage of two minutes. */
const MAX_TRIES = 2_400;

export type Fault = 'killed' | 'paused' | 'cut off' | 'switched over';

/**
 * When the old primary returns: once writes are acknowledged again, once they were blocked for a while because a standby is
 * missing, or at once, as a service manager restarts Patroni.
 */
export type Return = 'after writes' | 'before writes' | 'at once';

const formatSeconds = (durationMs: number): string => `${(durationMs / 1000).toFixed(1)} s`;

export class FailoverTrial {
  private readonly cluster: PatroniCluster;
  private readonly nodes: Nodes;
  private readonly load: Load;
  private trials = 0;
  private hasFailed = false;

  private readonly outageLimitMs: number;

  private constructor(cluster: PatroniCluster, nodes: Nodes, load: Load, version: string) {
    this.outageLimitMs = isOlder(version, '3.2') ? OUTAGE_LIMIT_MS : OUTAGE_LIMIT_SINCE_3_2_MS;
    this.cluster = cluster;
    this.nodes = nodes;
    this.load = load;
  }

  static async start(options: ClusterOptions): Promise<FailoverTrial> {
    const cluster = await PatroniCluster.start(options);
    let nodes: Nodes | null = null;
    try {
      nodes = await Nodes.start(NODES, { url: cluster.url, settings: { EVERSTEP_NODE_LEASE: '5' }, maxTries: MAX_TRIES });
      return new FailoverTrial(cluster, nodes, await Load.listen(nodes), options.programs.version);
    } catch (error) {
      const logs = await cluster.logs();
      await nodes?.dispose({ isUnreadable: true });
      await cluster.dispose();
      throw new Error(`the nodes did not start\n${logs}`, { cause: error });
    }
  }

  /** Whether the primary can be cut off from the network. */
  get canCutOff(): boolean {
    return this.cluster.machines.isCuttable;
  }

  /** Rejects if something is lost, doubled or takes too long. Reports what it measured to the test. */
  async run(t: TestContext, fault: Fault, returns: Return = 'after writes'): Promise<void> {
    if (this.hasFailed) throw new Error('an earlier test left the cluster in an unknown state');
    try {
      await this.measure(t, fault, returns);
    } catch (error) {
      this.hasFailed = true;
      const outputs = this.nodes.all.map((node, index) => `--- node ${index}\n${node.output.slice(-4_000)}`);
      process.stdout.write(`${await this.cluster.logs()}\n${outputs.join('\n')}\n`);
      throw error;
    }
  }

  async dispose(): Promise<void> {
    try {
      await this.load.close();
      await this.nodes.dispose({ isUnreadable: this.hasFailed });
    } finally {
      await this.cluster.dispose();
    }
  }

  private async measure(t: TestContext, fault: Fault, returns: Return): Promise<void> {
    const { cluster, load } = this;
    const { writes } = load;
    await load.start(`${fault.replace(' ', '-')}-${++this.trials}`);
    await writes.acknowledgedSince(0, CALM_TRIGGERS);
    const oldPrimary = await cluster.primary();
    const startedAt = performance.now();
    const repair = await this.disturb(fault, oldPrimary);
    if (returns === 'at once') await repair();
    await cluster.waitForPrimary(...(returns === 'at once' ? cluster.servers : cluster.others(oldPrimary)));
    const promotedAt = performance.now();
    if (returns === 'before writes') {
      await pause(BLOCKED_MS);
      assert.equal(writes.countSince(promotedAt), 0, 'without a synchronous standby, no write is acknowledged');
      await repair();
    }
    const writableSince = returns === 'before writes' ? performance.now() : startedAt;
    await writes.acknowledgedSince(returns === 'before writes' ? writableSince : promotedAt);
    const acknowledgedAt = performance.now();
    if (returns === 'after writes') await repair();
    await cluster.waitUntilHealthy();
    await writes.acknowledgedSince(performance.now(), CALM_TRIGGERS);
    const endedAt = performance.now();
    await load.stop();
    await assertDatabaseInvariants(cluster.url);
    const outageMs = writes.longestOutage(writableSince, acknowledgedAt);
    const laterOutageMs = writes.longestOutage(acknowledgedAt, endedAt);
    t.diagnostic(
      `${fault}: new primary after ${formatSeconds(promotedAt - startedAt)}, no writes for ${formatSeconds(outageMs)}` +
        `${returns === 'before writes' ? ' after the old primary returned' : ''}, ` +
        `at most ${formatSeconds(laterOutageMs)} afterwards; ${load.summary}`,
    );
    assert.ok(outageMs < this.outageLimitMs, `no writes for ${formatSeconds(outageMs)}`);
    assert.ok(laterOutageMs < this.outageLimitMs, `no writes for ${formatSeconds(laterOutageMs)} while the old primary returned`);
  }

  /** Resolves with the function that repairs the server. */
  private async disturb(fault: Fault, server: DatabaseServer): Promise<() => Promise<void>> {
    const { cluster } = this;
    switch (fault) {
      case 'killed':
        await server.crash();
        return async () => server.startPatroni();
      case 'paused': {
        const processes = await server.processes();
        signalAll(processes, 'SIGSTOP');
        const pauseEnd = pause(FROZEN_MS);
        return async () => {
          await pauseEnd;
          signalAll(processes, 'SIGCONT');
        };
      }
      case 'cut off':
        await cluster.machines.setConnected(server.machine, false);
        return () => cluster.machines.setConnected(server.machine, true);
      case 'switched over':
        await cluster.switchOver();
        return async () => {};
      default:
        return fault satisfies never;
    }
  }
}
