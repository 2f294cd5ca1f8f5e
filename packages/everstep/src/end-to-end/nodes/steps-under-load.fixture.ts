/** Runs of three steps that are triggered while nodes or their database are disturbed. */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { type Endpoint, forEachIndex, listen, type Nodes } from '../nodes.fixture.js';

const STEPS = 3;
const TRIGGERS_AT_ONCE = 6;
const QUERIES_AT_ONCE = 8;
/** Duration of load before the disturbance. */
const QUIET_MS = 150;

export class StepsUnderLoad {
  readonly endpoint: Endpoint;
  private readonly nodes: Nodes;

  private constructor(nodes: Nodes, endpoint: Endpoint) {
    this.nodes = nodes;
    this.endpoint = endpoint;
  }

  static async listen(nodes: Nodes): Promise<StepsUnderLoad> {
    const workflow = serve(
      async (ctx) => {
        let sum = 0;
        for (let step = 1; step <= STEPS; step++) sum += await ctx.run(`step ${step}`, () => pause(10, step));
        return sum;
      },
      { signingKeys: nodes.signingKeys },
    );
    const handler = toNodeHandler(workflow);
    return new StepsUnderLoad(nodes, await listen((request, response) => void handler(request, response)));
  }

  /**
   * Triggers runs through all nodes until each is acknowledged, during `disturb`. Asserts that all of them end with each step
   * recorded once.
   */
  async run(name: string, count: number, disturb: () => Promise<void>): Promise<void> {
    const { nodes, endpoint } = this;
    const runIds = Array.from({ length: count }, (_, n) => `${name}-${n}`);
    const load = forEachIndex(count, TRIGGERS_AT_ONCE, async (n) => {
      const runId = runIds[n] ?? '';
      await nodes.anywhere((client) => client.trigger(endpoint.url, { runId, deduplicationId: runId, retryDelay: '50' }));
      await pause(10);
    });
    await Promise.all([load, pause(QUIET_MS).then(disturb)]);
    await forEachIndex(count, QUERIES_AT_ONCE, async (n) => {
      const runId = runIds[n] ?? '';
      const outcome = await nodes.anywhere((client) => client.runs.result<number>(runId, { timeout: '60s' }));
      assert.equal('result' in outcome ? outcome.result : JSON.stringify(outcome), 6, runId);
      const { steps } = await nodes.anywhere((client) => client.runs.get(runId));
      const stepNames = steps.map(({ stepName }) => stepName).filter((step) => step?.startsWith('step '));
      assert.deepEqual(stepNames.sort(), ['step 1', 'step 2', 'step 3'], runId);
    });
    const entries: string[] = [];
    for await (const { workflowRunId } of nodes.client(0).runs.entries({ workflowUrl: endpoint.url }))
      entries.push(workflowRunId);
    assert.equal(entries.filter((runId) => runId.startsWith(`${name}-`)).length, count, 'one run per id');
  }

  close(): void {
    this.endpoint.close();
  }
}
