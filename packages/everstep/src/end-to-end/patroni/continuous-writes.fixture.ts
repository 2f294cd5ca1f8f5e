/** Clients that trigger runs at each node without pause, and record when each trigger was acknowledged. */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { EverstepError, serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { type Endpoint, forEachIndex, listen, type Nodes, waitUntil } from '../nodes.fixture.js';

const STEPS = 3;
const CLIENTS_PER_NODE = 2;
const PAUSE_MS = 100;
const RETRY_DELAY_MS = 50;
const QUERIES_AT_ONCE = 8;
const LONGEST_OUTAGE_MS = 120_000;

interface AcknowledgedTrigger {
  readonly runId: string;
  readonly node: number;
  readonly sentAt: number;
  readonly at: number;
}

/** All times are those of `performance.now()`. */
export class ContinuousWrites {
  private readonly nodes: Nodes;
  private readonly endpoint: Endpoint;
  private acknowledged: AcknowledgedTrigger[] = [];
  private prefix = '';
  private isStopped = true;
  private isClosed = false;
  private clients: Promise<unknown> = Promise.resolve();

  private constructor(nodes: Nodes, endpoint: Endpoint) {
    this.nodes = nodes;
    this.endpoint = endpoint;
  }

  static async listen(nodes: Nodes): Promise<ContinuousWrites> {
    const workflow = serve(
      async (ctx) => {
        let sum = 0;
        for (let step = 1; step <= STEPS; step++) sum += await ctx.run(`step ${step}`, () => pause(10, step));
        return sum;
      },
      { signingKeys: nodes.signingKeys },
    );
    const handler = toNodeHandler(workflow);
    return new ContinuousWrites(nodes, await listen((request, response) => void handler(request, response)));
  }

  /** Number of acknowledged runs since the start. */
  get count(): number {
    return this.acknowledged.length;
  }

  /** Starts the clients. Ids of their runs start with `prefix`, which must be new. */
  start(prefix: string): void {
    this.prefix = prefix;
    this.acknowledged = [];
    this.isStopped = false;
    const writers = this.nodes.all.flatMap((_, node) => Array.from({ length: CLIENTS_PER_NODE }, (_, n) => this.write(node, n)));
    this.clients = Promise.all(writers);
    // A client that fails is reported by `stop`.
    this.clients.catch(() => undefined);
  }

  /** Resolves when everything that was sent is acknowledged. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await this.clients;
  }

  /** Resolves when each node has acknowledged this many triggers that were sent after a time. */
  async acknowledgedSince(time: number, count = 1): Promise<void> {
    const countOf = (node: number) =>
      this.acknowledged.filter((trigger) => trigger.node === node && trigger.sentAt > time).length;
    const hasEnough = () => this.nodes.all.every((_, node) => countOf(node) >= count);
    await waitUntil(`each node acknowledges ${count} triggers`, hasEnough, LONGEST_OUTAGE_MS);
  }

  /** Returns the number of triggers that were acknowledged after a time. */
  countSince(time: number): number {
    return this.acknowledged.filter(({ at }) => at > time).length;
  }

  /** Returns the longest time between `from` and `to` during which any single node acknowledged nothing. */
  longestOutage(from: number, to: number): number {
    const outageOf = (node: number): number => {
      const triggers = this.acknowledged.filter((trigger) => trigger.node === node && trigger.at > from && trigger.at < to);
      const times = triggers.map(({ at }) => at);
      return Math.max(...[...times, to].map((at, index) => at - (times[index - 1] ?? from)));
    };
    return Math.max(...this.nodes.all.map((_, node) => outageOf(node)));
  }

  /** Asserts that every acknowledged run ends with each of its steps recorded once, and exists once. Call it after `stop`. */
  async assertRecorded(): Promise<void> {
    const { nodes, acknowledged } = this;
    await forEachIndex(acknowledged.length, QUERIES_AT_ONCE, async (n) => {
      const runId = acknowledged[n]?.runId ?? '';
      const outcome = await nodes.anywhere((client) => client.runs.result<number>(runId, { timeout: '60s' }));
      assert.equal('result' in outcome ? outcome.result : JSON.stringify(outcome), 6, runId);
      const { steps } = await nodes.anywhere((client) => client.runs.get(runId));
      const stepNames = steps.map(({ stepName }) => stepName).filter((step) => step?.startsWith('step '));
      assert.deepEqual(stepNames.sort(), ['step 1', 'step 2', 'step 3'], runId);
    });
    const entries: string[] = [];
    for await (const { workflowRunId } of nodes.client(0).runs.entries({ workflowUrl: this.endpoint.url }))
      if (workflowRunId.startsWith(this.prefix)) entries.push(workflowRunId);
    assert.deepEqual(entries.sort(), acknowledged.map(({ runId }) => runId).sort(), 'one run per id');
  }

  /** Stops all writes. Unacknowledged ones are abandoned. */
  close(): void {
    this.isClosed = true;
    this.isStopped = true;
    this.endpoint.close();
  }

  private async write(node: number, client: number): Promise<void> {
    for (let n = 0; !this.isStopped; n++) {
      const runId = `${this.prefix}-${node}-${client}-${n}`;
      const sentAt = performance.now();
      while (!(await this.trigger(node, runId))) {
        if (this.isClosed) return;
        await pause(RETRY_DELAY_MS);
      }
      this.acknowledged.push({ runId, node, sentAt, at: performance.now() });
      await pause(PAUSE_MS);
    }
  }

  /** Resolves with whether the node acknowledged the trigger. */
  private async trigger(node: number, runId: string): Promise<boolean> {
    try {
      await this.nodes.client(node).trigger(this.endpoint.url, { runId, deduplicationId: runId, retryDelay: '50' });
      return true;
    } catch (error) {
      const status = error instanceof EverstepError ? error.status : 0;
      // An invalid request would always be rejected.
      if (status >= 400 && status < 500 && status !== 429) throw error;
      return false;
    }
  }
}
