/** Reads the same runs from all nodes in turn and checks that no read returns an older state. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Nodes } from '../nodes.fixture.js';

/** Timeout of a read, longer than a node needs to reject an unconfirmed read. */
const READ_TIMEOUT_MS = 10_000;
const PAUSE_MS = 5;

interface ObservedRun {
  readonly node: number;
  readonly state: string;
  readonly steps: number;
}

export interface Reads {
  answeredCount: number;
  /** Number of reads with the response 503. */
  rejectedCount: number;
}

export class RunObserver {
  /** Descriptions of reads that returned an older state; empty without violations. */
  readonly olderReads: string[] = [];
  private readonly nodes: Nodes;
  private readonly runIds: readonly string[];
  private readonly latestRuns = new Map<string, ObservedRun>();
  private reads: readonly Reads[];
  private watchEnd: Promise<void> | null = null;
  private isStopped = false;

  constructor(nodes: Nodes, runIds: readonly string[]) {
    this.nodes = nodes;
    this.runIds = runIds;
    this.reads = nodes.all.map(() => ({ answeredCount: 0, rejectedCount: 0 }));
  }

  /** Reads all runs repeatedly until `stop`. Each run is read from one node after the other; all runs are read concurrently. */
  start(): void {
    this.watchEnd = Promise.all(this.runIds.map((runId) => this.watch(runId))).then(() => undefined);
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.watchEnd;
  }

  /** Resets the read counts of each node. A read in progress counts after the reset. */
  countAnew(): void {
    this.reads = this.reads.map(() => ({ answeredCount: 0, rejectedCount: 0 }));
  }

  /** Returns the reads of a node since the last reset. */
  readsOf(node: number): Reads {
    return this.reads[node] ?? { answeredCount: 0, rejectedCount: 0 };
  }

  /** Whether some node has returned this many steps for each of the runs. */
  allHave(steps: number): boolean {
    return this.runIds.every((runId) => (this.latestRuns.get(runId)?.steps ?? 0) >= steps);
  }

  /** Whether some node has returned each of the runs as successful. */
  get allSucceeded(): boolean {
    return this.runIds.every((runId) => this.latestRuns.get(runId)?.state === 'RUN_SUCCESS');
  }

  private async watch(runId: string): Promise<void> {
    while (!this.isStopped) {
      for (let node = 0; node < this.nodes.all.length && !this.isStopped; node++) await this.read(runId, node);
      await pause(PAUSE_MS);
    }
  }

  private async read(runId: string, node: number): Promise<void> {
    const url = `${this.nodes.node(node).url}/v2/workflows/runs/${runId}`;
    const headers = { authorization: `Bearer ${this.nodes.token}` };
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(READ_TIMEOUT_MS) }).catch(() => null);
    const reads = this.reads[node];
    if (response === null || !reads) return;
    if (response.status === 503) reads.rejectedCount++;
    else reads.answeredCount++;
    const body = (await response.json().catch(() => ({}))) as { workflowState?: string; steps?: readonly unknown[] };
    if (response.status === 503) return;
    const run = { node, state: body.workflowState ?? `status ${response.status}`, steps: body.steps?.length ?? 0 };
    const previousRun = this.latestRuns.get(runId);
    const isEnded = previousRun !== undefined && previousRun.state !== 'RUN_STARTED';
    if (previousRun && (run.steps < previousRun.steps || (isEnded && run.state !== previousRun.state))) {
      const describe = ({ node: at, state, steps }: ObservedRun) => `${state} with ${steps} steps at node ${at}`;
      this.olderReads.push(`${runId}: ${describe(run)} after ${describe(previousRun)}`);
      return;
    }
    this.latestRuns.set(runId, run);
  }
}
