/**
 * Small random workflows over several nodes, served over HTTP or connections, whose steps record what their code has seen:
 * sequential, parallel and branched steps, sleeps, a permanent failure that is resumed from the DLQ, and forks of ended runs.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type ConnectedWorker,
  connect,
  EverstepError,
  NonRetryableError,
  serve,
  type WorkflowContext,
  type WorkflowHandler,
} from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import {
  type RecordedOut,
  StepHistory,
  type StepWitness,
  type WitnessedEnd,
  witnessedEnd,
} from '../../../../sdk/dist/testing/step-history.fixture.js';
import { SeededRandom } from '../../clock/testing/seeded-random.js';
import { type Endpoint, listen, type Nodes } from '../nodes.fixture.js';

/** Shares of responses that are lost, of requests to the second worker, of runs that fail permanently, and of forked runs. */
const LOST_RESPONSE_SHARE = 0.02;
const SECOND_WORKER_SHARE = 0.1;
const FAILED_RUN_SHARE = 0.05;
const FORKED_RUN_SHARE = 0.05;
const NAP_MS = 40;
const RESULT_TIMEOUT = '20s';

interface Payload {
  readonly seed: number;
}

interface RunName {
  readonly workflowRunId: string;
  readonly workflowCreatedAt: number;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

const idOf = ({ workflowRunId, workflowCreatedAt }: RunName): string => `${workflowRunId}@${workflowCreatedAt}`;

export class WitnessedRuns {
  readonly history = new StepHistory();
  readonly problems: string[] = [];
  checkedCount = 0;
  resumedCount = 0;
  forkedCount = 0;
  /** Number of steps executed more than once. */
  repeatedStepCount = 0;
  private readonly nodes: Nodes;
  private readonly random: SeededRandom;
  private readonly longestStepMs: number;
  /** Seeds of runs that failed permanently. */
  private readonly failedSeeds = new Set<number>();
  private endpoint: Endpoint | null = null;
  private connectedWorkers: readonly ConnectedWorker<'flow'>[] = [];
  private workers: [Handler, Handler];

  private constructor(nodes: Nodes, random: SeededRandom, longestStepMs: number) {
    this.nodes = nodes;
    this.random = random;
    this.longestStepMs = longestStepMs;
    this.workers = [this.newWorker(), this.newWorker()];
  }

  static async listen(nodes: Nodes, random: SeededRandom, longestStepMs: number): Promise<WitnessedRuns> {
    const runs = new WitnessedRuns(nodes, random, longestStepMs);
    runs.endpoint = await listen((request, response) => {
      // The step was executed, but its response is lost.
      if (random.chance(LOST_RESPONSE_SHARE)) response.end = () => response.destroy();
      void runs.workers[random.chance(SECOND_WORKER_SHARE) ? 1 : 0](request, response);
    });
    return runs;
  }

  /** Serves over the connections of two workers, which each node has. */
  static async connect(nodes: Nodes, random: SeededRandom, longestStepMs: number): Promise<WitnessedRuns> {
    const runs = new WitnessedRuns(nodes, random, longestStepMs);
    const options = { app: 'witness', baseUrl: nodes.node(0).url, token: nodes.token, drainOn: [], onProblem: () => {} };
    runs.connectedWorkers = [0, 1].map(() => connect({ ...options, workflows: { flow: runs.newWorkflow() } }));
    await Promise.all(runs.connectedWorkers.map(({ connected }) => connected));
    return runs;
  }

  /** Makes a worker forget all parked runs. */
  restartWorker(): void {
    this.workers[this.random.below(2)] = this.newWorker();
  }

  async close(): Promise<void> {
    this.endpoint?.close();
    await Promise.all(this.connectedWorkers.map((worker) => worker.close({ graceMs: 0 })));
  }

  private get workflowUrl(): string {
    return this.endpoint?.url ?? this.connectedWorkers[0]?.urls.flow ?? '';
  }

  private newWorker(): Handler {
    return toNodeHandler(this.newWorkflow());
  }

  private newWorkflow(): WorkflowHandler {
    return serve<Payload, WitnessedEnd<number>>(
      async (ctx) => {
        const witness = this.history.witness(idOf({ workflowRunId: ctx.runId, workflowCreatedAt: ctx.runCreatedAt }));
        return witness.end(await this.follow(ctx, witness));
      },
      { signingKeys: this.nodes.signingKeys },
    );
  }

  /** Executes three to ten steps, depending on the payload. */
  private async follow(ctx: WorkflowContext<Payload>, witness: StepWitness): Promise<number> {
    const shape = new SeededRandom(ctx.payload.seed);
    const failsAt = shape.chance(FAILED_RUN_SHARE) ? shape.below(5) : -1;
    let steps = 0;
    const step = (): Promise<number> => {
      const number = steps++;
      const name = `step ${number}`;
      return witness.run(
        name,
        (action) => ctx.run(name, action),
        async () => {
          await pause(this.random.below(this.longestStepMs));
          if (number === failsAt && !this.failedSeeds.has(ctx.payload.seed)) {
            this.failedSeeds.add(ctx.payload.seed);
            throw new NonRetryableError('to be resumed');
          }
          return number;
        },
      );
    };
    const maxSteps = 3 + shape.below(6);
    while (steps < maxSteps) {
      const kind = shape.below(10);
      if (kind < 6) await step();
      else if (kind < 8) await Promise.all(Array.from({ length: 2 + shape.below(2) }, step));
      else if (kind < 9) {
        const branch = async () => {
          await step();
          await step();
        };
        await Promise.all([branch(), step()]);
      } else {
        const name = `nap ${steps}`;
        await ctx.sleep(name, NAP_MS / 1000);
        witness.saw(name, undefined);
      }
    }
    return steps;
  }

  /** Triggers a run, waits for its end and checks its history. Does the same for its resumed and forked runs. */
  async play(runId: string, seed: number): Promise<void> {
    const { nodes, workflowUrl } = this;
    const run = await nodes.anywhere((client) =>
      client.trigger(workflowUrl, { body: { seed }, runId, deduplicationId: runId, retries: 20, retryDelay: '50' }),
    );
    const { workflowRunId, workflowCreatedAt } = run;
    let endedRun = await this.end({ workflowRunId, workflowCreatedAt });
    if (endedRun.dlqId !== undefined) {
      const successor = await this.resume(endedRun.run, endedRun.dlqId);
      this.resumedCount++;
      endedRun = await this.end(successor);
      if (endedRun.dlqId !== undefined) this.problems.push(`${idOf(successor)}: it failed again`);
    }
    if (this.random.chance(FORKED_RUN_SHARE) && endedRun.lastStep > 0) await this.fork(endedRun.run, endedRun.lastStep);
  }

  private async end(run: RunName): Promise<{ readonly run: RunName; readonly dlqId?: string; readonly lastStep: number }> {
    const { nodes, history } = this;
    const { workflowRunId, workflowCreatedAt } = run;
    for (;;) {
      const outcome = await nodes.anywhere((client) =>
        client.runs.result(workflowRunId, { timeout: RESULT_TIMEOUT, workflowCreatedAt }),
      );
      if (outcome.workflowState !== 'RUN_STARTED') break;
    }
    const journal = await nodes.anywhere((client) => client.runs.get(workflowRunId, { workflowCreatedAt }));
    const recordedSteps = journal.steps.map(
      ({ stepName, out }): RecordedOut => ({ name: stepName, out: out === undefined ? undefined : JSON.parse(out) }),
    );
    const end = witnessedEnd(journal.result);
    const id = idOf(run);
    this.repeatedStepCount += Math.max(0, history.executionsOf(id) - recordedSteps.length);
    this.problems.push(...history.problems(id, recordedSteps, end ?? undefined));
    this.checkedCount++;
    const isFailed = journal.dlqId !== undefined;
    if (!end && !isFailed)
      this.problems.push(`${id}: it ended as ${journal.workflowState}, ${journal.error ?? 'without an error'}`);
    const lastStep = journal.steps.at(-1)?.stepId ?? 0;
    return { run, lastStep, ...(journal.dlqId === undefined ? {} : { dlqId: journal.dlqId }) };
  }

  private async resume({ workflowRunId, workflowCreatedAt }: RunName, dlqId: string): Promise<RunName> {
    return this.nodes.anywhere(async (client) => {
      try {
        await client.dlq.resume(dlqId, { retries: 20 });
      } catch (error) {
        // The run was already resumed, but the response was lost.
        if (!(error instanceof EverstepError) || error.status !== 404) throw error;
      }
      const { workflowRunBecame } = await client.runs.get(workflowRunId, { workflowCreatedAt });
      if (!workflowRunBecame) throw new Error(`${workflowRunId} was not resumed`);
      return workflowRunBecame;
    });
  }

  /** Forks a run and replays its code up to the last step, on a worker that may not know the run. */
  private async fork({ workflowRunId, workflowCreatedAt }: RunName, fromStep: number): Promise<void> {
    const newWorkflowRunId = `${workflowRunId}-fork`;
    const fork = await this.nodes.anywhere(async (client) => {
      try {
        return await client.runs.fork(workflowRunId, { createdAt: workflowCreatedAt, fromStep, newWorkflowRunId });
      } catch (error) {
        // The run was already forked, but the response was lost.
        if (!(error instanceof EverstepError) || error.status !== 409) throw error;
        const { workflowRunId: id, workflowCreatedAt: at } = await client.runs.get(newWorkflowRunId);
        return { workflowRunId: id, workflowCreatedAt: at };
      }
    });
    this.forkedCount++;
    const { dlqId } = await this.end(fork);
    if (dlqId !== undefined) this.problems.push(`${idOf(fork)}: the fork failed`);
  }
}
