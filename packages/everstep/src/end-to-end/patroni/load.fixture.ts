/**
 * Load on all nodes while their database fails over: clients that trigger runs, random workflows whose steps record what their
 * code has seen, and readers of long runs.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { serve } from '@everstep/sdk';
import { toNodeHandler } from '@everstep/sdk/node';
import { SeededRandom } from '../../clock/testing/seeded-random.js';
import { RunObserver } from '../nodes/run-observer.fixture.js';
import { WitnessedRuns } from '../nodes/witnessed-runs.fixture.js';
import { type Endpoint, listen, type Nodes } from '../nodes.fixture.js';
import { ContinuousWrites } from './continuous-writes.fixture.js';

const WITNESSED_AT_ONCE = 6;
const LONGEST_STEP_MS = 200;
const OBSERVED_RUNS = 3;
const TICK_MS = 300;

export class Load {
  readonly writes: ContinuousWrites;
  private readonly nodes: Nodes;
  private readonly witnessed: WitnessedRuns;
  private readonly seed: number;
  private readonly tickEndpoint: Endpoint;
  private observer: RunObserver | null = null;
  private playing: Promise<unknown> = Promise.resolve();
  private isStopped = true;
  private playedCount = 0;

  private constructor(nodes: Nodes, writes: ContinuousWrites, witnessed: WitnessedRuns, seed: number, tickEndpoint: Endpoint) {
    this.nodes = nodes;
    this.writes = writes;
    this.witnessed = witnessed;
    this.seed = seed;
    this.tickEndpoint = tickEndpoint;
  }

  static async listen(nodes: Nodes): Promise<Load> {
    const seed = randomInt(2 ** 31);
    const writes = await ContinuousWrites.listen(nodes);
    const witnessed = await WitnessedRuns.listen(nodes, new SeededRandom(seed), LONGEST_STEP_MS);
    let load: Load | null = null;
    // Each run executes a new step several times a second until the load stops.
    const workflow = serve(
      async (ctx) => {
        for (let tick = 1; await ctx.run(`tick ${tick}`, () => pause(TICK_MS, load?.isStopped === false)); tick++);
      },
      { signingKeys: nodes.signingKeys },
    );
    const handler = toNodeHandler(workflow);
    load = new Load(nodes, writes, witnessed, seed, await listen((request, response) => void handler(request, response)));
    return load;
  }

  /** Numbers of acknowledged runs and checked histories since the start, and the seed, which repeats a failure. */
  get summary(): string {
    return `${this.writes.count} acknowledged runs, ${this.witnessed.checkedCount} histories in total (seed ${this.seed})`;
  }

  /** Starts the load. `name` must not have been used before. */
  async start(name: string): Promise<void> {
    this.isStopped = false;
    const runIds = Array.from({ length: OBSERVED_RUNS }, (_, n) => `${name}-observed-${n}`);
    for (const runId of runIds)
      await this.nodes.anywhere((client) => client.trigger(this.tickEndpoint.url, { runId, retryDelay: '50' }));
    this.observer = new RunObserver(this.nodes, runIds);
    this.observer.start();
    this.writes.start(`${name}-write`);
    const play = async (): Promise<void> => {
      while (!this.isStopped) {
        const number = this.playedCount++;
        await this.witnessed.play(`${name}-witnessed-${number}`, this.seed + number);
      }
    };
    this.playing = Promise.all(Array.from({ length: WITNESSED_AT_ONCE }, play));
    this.playing.catch(() => undefined);
  }

  /** Stops the load and checks that all of it was recorded once, and that no read returned an older state. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await this.writes.stop();
    await this.playing;
    await this.observer?.stop();
    assert.deepEqual(this.observer?.olderReads, []);
    assert.deepEqual(this.witnessed.problems, [], `seed ${this.seed}`);
    await this.writes.assertRecorded();
  }

  async close(): Promise<void> {
    this.isStopped = true;
    await this.observer?.stop();
    this.writes.close();
    this.tickEndpoint.close();
    await this.witnessed.close();
  }
}
