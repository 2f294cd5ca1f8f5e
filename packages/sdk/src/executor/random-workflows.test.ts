/**
 * Random workflows on an unreliable way: requests and replies get lost, come
 * twice or late, workers restart, and several workers hold the same run. The
 * journal stays consistent, and the result is that of the code run plainly.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { WorkflowContext } from '../context.js';
import { createEndpoint, type Endpoint } from '../endpoint.js';
import { FakeService, type Task } from './fake-service.fixture.js';

const SEEDS = 800;
const MAX_FAULTS = 25;

type Random = () => number;

function randomFrom(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const below = (random: Random, limit: number) => Math.floor(random() * limit);

type Plan =
  | { readonly kind: 'step' | 'sleep'; readonly name: string }
  | { readonly kind: 'hops'; readonly count: number }
  | { readonly kind: 'sequence' | 'all' | 'race'; readonly parts: readonly Plan[] };

function randomPlan(random: Random, depth: number, counter: { next: number }, mayRace: boolean): Plan {
  const kind = depth === 0 ? below(random, 3) : below(random, 8);
  if (kind === 0 || kind === 1) return { kind: 'step', name: `step ${counter.next++}` };
  if (kind === 2)
    return random() < 0.5 ? { kind: 'sleep', name: `sleep ${counter.next++}` } : { kind: 'hops', count: below(random, 6) };
  const parts = Array.from({ length: 1 + below(random, 4) }, () => randomPlan(random, depth - 1, counter, mayRace));
  if (kind === 3 && mayRace) return { kind: 'race', parts };
  return { kind: kind < 6 ? 'all' : 'sequence', parts };
}

/** The steps that a plan takes, whoever provides them. */
type Steps = Pick<WorkflowContext<unknown>, 'run' | 'sleep'>;

async function follow(plan: Plan, steps: Steps, act: (name: string) => Promise<unknown>): Promise<unknown> {
  switch (plan.kind) {
    case 'step':
      return steps.run(plan.name, () => act(plan.name));
    case 'sleep':
      await steps.sleep(plan.name, 1);
      return null;
    case 'hops':
      for (let hop = 0; hop < plan.count; hop++) await Promise.resolve();
      return plan.count;
    case 'sequence': {
      const results: unknown[] = [];
      for (const part of plan.parts) results.push(await follow(part, steps, act));
      return results;
    }
    case 'all':
      return Promise.all(plan.parts.map((part) => follow(part, steps, act)));
    case 'race':
      return Promise.race(plan.parts.map((part) => follow(part, steps, act)));
  }
}

const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

class World {
  readonly service = new FakeService('k');
  readonly executions = new Map<string, number>();
  private readonly random: Random;
  private readonly workers: Endpoint[];
  private readonly plan: Plan;
  private faults = 0;
  private readonly underWay = new Set<Promise<void>>();

  constructor(plan: Plan, random: Random) {
    this.plan = plan;
    this.random = random;
    this.workers = [this.newWorker(), this.newWorker()];
  }

  newWorker(): Endpoint {
    const act = async (name: string) => {
      const nth = (this.executions.get(name) ?? 0) + 1;
      this.executions.set(name, nth);
      await turns(below(this.random, 4));
      if (this.chance(0.05)) throw new Error(`${name} fails`);
      // Different each time, so that a result that was not recorded is told from the one that was.
      return { name, nth };
    };
    return createEndpoint((context) => follow(this.plan, context, act), { holdRuns: this.random() < 0.9 ? { max: 2 } : false });
  }

  /** True with the given probability, as long as there is something left to go wrong. */
  private chance(probability: number): boolean {
    if (this.faults >= MAX_FAULTS || this.random() >= probability) return false;
    this.faults++;
    return true;
  }

  private get worker(): Endpoint {
    // Mostly the same one, as behind a keep-alive connection.
    const worker = this.workers[this.chance(0.2) ? 1 : 0];
    assert.ok(worker);
    return worker;
  }

  private background(work: Promise<unknown>): void {
    const settled: Promise<void> = work.then(() => void this.underWay.delete(settled));
    this.underWay.add(settled);
  }

  private async deliver(task: Task): Promise<void> {
    const { service } = this;
    if (this.chance(0.1)) this.workers[below(this.random, 2)] = this.newWorker();
    if (this.chance(0.05)) return service.loseAttempt(task);
    const request = service.request(task);
    if (this.chance(0.1)) this.background(service.send(this.worker, request));
    if (this.chance(0.05)) {
      // Given up while the endpoint works on it; the reply comes late or never, and nobody listens.
      this.background(service.send(this.worker, request));
      await turns(below(this.random, 3));
      return service.loseAttempt(task);
    }
    let reply = await service.send(this.worker, request);
    if (this.chance(0.1)) this.background(turns(below(this.random, 5)).then(() => service.send(this.worker, request)));
    if (this.chance(0.05)) return service.loseAttempt(task);
    let sent = request;
    if (reply.kind === 'journal-needed') {
      assert.ok(request.journal.from > 0);
      service.hold = null;
      sent = service.request(task);
      assert.equal(sent.journal.from, 0);
      reply = await service.send(this.worker, sent);
    }
    assert.ok(reply.kind === 'progress' || reply.kind === 'failed', JSON.stringify(reply));
    service.apply(task, sent, reply);
  }

  async play(): Promise<void> {
    const { service } = this;
    while (!service.end) {
      for (const task of [...service.tasks.values()]) {
        if (task.inFlight || this.random() < 0.3) continue;
        if (task.plan && task.plan.type !== 'Run') {
          service.wake(task);
          continue;
        }
        task.inFlight = true;
        this.background(
          this.deliver(task).finally(() => {
            task.inFlight = false;
          }),
        );
      }
      await turns(1 + below(this.random, 3));
      assert.equal(service.failure, null);
    }
    await Promise.all(this.underWay);
  }

  /** What a worker that has never seen the run makes of its journal. */
  async replayed() {
    const { service } = this;
    service.hold = null;
    const request = service.request({ slot: 0, messageId: 'replay', retried: 0, inFlight: false });
    const reply = await service.send(this.newWorker(), request);
    assert.ok(reply.kind === 'progress', JSON.stringify(reply));
    return reply.end;
  }
}

const plainly: Steps = {
  run: (_name, action) => Promise.resolve(action()) as never,
  sleep: () => Promise.resolve(),
};

for (const mayRace of [false, true]) {
  it(`${SEEDS} random workflows ${mayRace ? 'with races ' : ''}end as their code does, whatever is lost, doubled or late`, async (test) => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = randomFrom(seed * 2 + Number(mayRace));
      const counter = { next: 1 };
      const plan: Plan = {
        kind: 'sequence',
        parts: Array.from({ length: 1 + below(random, 3) }, () => randomPlan(random, 3, counter, mayRace)),
      };
      const world = new World(plan, random);
      try {
        await world.play();
        assert.deepEqual(await world.replayed(), world.service.end);
        if (!mayRace) {
          const recorded = JSON.parse(JSON.stringify(world.service.result), (key, value) => (key === 'nth' ? undefined : value));
          assert.deepEqual(recorded, await follow(plan, plainly, async (name) => ({ name })));
        }
      } catch (error) {
        test.diagnostic(`seed ${seed}: ${JSON.stringify(plan)}`);
        throw new Error(`seed ${seed}`, { cause: error });
      }
    }
  });
}
