/**
 * Random workflows over an unreliable transport: requests and replies are lost, duplicated or delayed, workers
 * restart, and several workers hold the same run. The journal stays consistent, and the result equals that of the
 * plain code. With checkpoints, workers and the server choose random limits. With encryption, two executions of a step have
 * different results, of which the recorded one counts.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { WorkflowContext } from '../context.js';
import { decryptAll, sealBody, sealText } from '../encryption/envelope.js';
import { payloadEncryption } from '../encryption/payload-encryption.js';
import { createEndpoint, type Endpoint } from '../endpoint.js';
import type { CallOutcome, EventContent, PlannedStep, StepReply } from '../protocol.js';
import {
  type RecordedOut,
  StepHistory,
  type StepWitness,
  type WitnessedEnd,
  witnessedEnd,
} from '../testing/step-history.fixture.js';
import { FakeServer, type Outcome, successOf, type Task } from './fake-server.fixture.js';

const SEEDS = { plain: 800, checkpoints: 300 };
const CHECKPOINT_STEPS = 6;
const MAX_FAULTS = 25;
const ENCRYPTION = payloadEncryption({ keys: [Buffer.alloc(32, 1).toString('base64')] });
const decrypted = (value: unknown): unknown => decryptAll(ENCRYPTION, value, assert.fail);

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

/** Steps that the server executes. */
const SERVED = ['sleep', 'wait', 'wait for any', 'notify', 'call', 'invoke', 'webhook'] as const;

type Plan =
  | { readonly kind: 'step' | (typeof SERVED)[number]; readonly name: string }
  | { readonly kind: 'hops'; readonly count: number }
  | { readonly kind: 'sequence' | 'all' | 'race'; readonly parts: readonly Plan[] };

function randomPlan(random: Random, depth: number, counter: { next: number }, mayRace: boolean): Plan {
  const kind = depth === 0 ? below(random, 4) : below(random, 9);
  if (kind === 0 || kind === 1) return { kind: 'step', name: `step ${counter.next++}` };
  if (kind === 2) {
    const served = SERVED[below(random, SERVED.length)] ?? 'sleep';
    return { kind: served, name: `${served} ${counter.next++}` };
  }
  if (kind === 3) return { kind: 'hops', count: below(random, 6) };
  const parts = Array.from({ length: 1 + below(random, 4) }, () => randomPlan(random, depth - 1, counter, mayRace));
  if (kind === 4 && mayRace) return { kind: 'race', parts };
  return { kind: kind < 7 ? 'all' : 'sequence', parts };
}

/** The steps of a plan, for any implementation. Each step returns its name. */
interface Steps {
  run(name: string, action: () => Promise<unknown>): Promise<unknown>;
  served(kind: (typeof SERVED)[number], name: string): Promise<unknown>;
}

/** Event data, a timeout and any response are all treated alike by the workflow. */
async function servedBy(context: WorkflowContext<unknown>, kind: (typeof SERVED)[number], name: string): Promise<unknown> {
  switch (kind) {
    case 'sleep':
      await context.sleep(name, 1);
      return name;
    case 'wait': {
      const event = await context.waitForEvent<string>(name, `event of ${name}`);
      return event.timeout ? name : event.eventData;
    }
    case 'wait for any': {
      const event = await context.waitForAny<string>(name, ['one', 'other'], { timeout: 5 });
      return event.timeout ? name : event.eventData;
    }
    case 'notify':
      await context.notify(name, 'event', { name }, { workflowRunId: 'other' });
      return name;
    case 'call': {
      const response = await context.call(name, { url: 'http://api/', method: 'POST', body: { name } });
      return response.ok ? JSON.parse(response.text()) : name;
    }
    case 'invoke': {
      const child = await context.invoke<string>(name, { workflow: 'http://app/other', payload: name });
      return child.state === 'succeeded' ? child.body : name;
    }
    case 'webhook': {
      const webhook = await context.createWebhook(`made: ${name}`);
      const called = await context.waitForWebhook(name, webhook);
      return called.timeout ? name : called.request.json();
    }
  }
}

function randomOutcome(random: Random, plan: PlannedStep): Outcome {
  const success = successOf(plan);
  const body = { encoding: 'utf8', data: JSON.stringify(plan.name) } as const;
  switch (plan.type) {
    case 'Wait':
    case 'WaitForWebhook': {
      if (random() < 0.2) return { timeout: true };
      const headers = { 'content-type': ['application/json'] };
      const content: EventContent = { kind: 'request', method: 'PUT', query: '?a=1', headers, body };
      return random() < 0.5 ? success : { timeout: false, eventId: plan.eventIds[0] ?? '', content };
    }
    case 'Call': {
      const failed: CallOutcome = { status: 0, headers: {}, body: { encoding: 'utf8', data: '' }, attempts: 3, error: 'gone' };
      if (random() < 0.2) return failed;
      const bytes: CallOutcome = { status: 200, headers: {}, body: { encoding: 'base64', data: btoa(body.data) }, attempts: 1 };
      return random() < 0.5 ? success : bytes;
    }
    case 'Invoke':
      return random() < 0.8 ? success : { workflowRunId: 'child', workflowCreatedAt: 1, state: 'canceled' };
    default:
      return success;
  }
}

/** Encrypts what other workflows and clients send. */
function sealed(outcome: Outcome): Outcome {
  if (outcome === undefined) return outcome;
  if ('content' in outcome && outcome.content.kind === 'data')
    return { ...outcome, content: { ...outcome.content, body: sealBody(ENCRYPTION, outcome.content.body) } };
  if ('result' in outcome && outcome.result !== undefined) return { ...outcome, result: sealText(ENCRYPTION, outcome.result) };
  return outcome;
}

async function follow(plan: Plan, steps: Steps, act: (name: string) => Promise<unknown>): Promise<unknown> {
  switch (plan.kind) {
    case 'step':
      return steps.run(plan.name, () => act(plan.name));
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
    default:
      return steps.served(plan.kind, plan.name);
  }
}

const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

class Harness {
  readonly server = new FakeServer('k');
  readonly history: StepHistory;
  readonly executions = new Map<string, number>();
  private readonly random: Random;
  private readonly workers: Endpoint[];
  private readonly plan: Plan;
  private readonly hasCheckpoints: boolean;
  private readonly isEncrypted: boolean;
  private faults = 0;
  private readonly underWay = new Set<Promise<void>>();

  constructor(plan: Plan, random: Random, { hasCheckpoints, isEncrypted = false }: Kind) {
    this.plan = plan;
    this.isEncrypted = isEncrypted;
    this.random = random;
    this.hasCheckpoints = hasCheckpoints;
    this.history = new StepHistory({ checkpointSteps: hasCheckpoints ? CHECKPOINT_STEPS : 1 });
    if (hasCheckpoints) this.server.checkpoint = { maxSteps: CHECKPOINT_STEPS, maxChars: 50 + below(random, 2_000) };
    this.server.outcomeOf = (planned) => {
      const outcome = randomOutcome(random, planned);
      return isEncrypted ? sealed(outcome) : outcome;
    };
    this.server.isKnownAtOnce = ({ type }) => type === 'CreateWebhook' || (type === 'Wait' && random() < 0.2);
    this.workers = [this.newWorker(), this.newWorker()];
  }

  newWorker(): Endpoint {
    const act = async (name: string) => {
      const nth = (this.executions.get(name) ?? 0) + 1;
      this.executions.set(name, nth);
      await turns(below(this.random, 4));
      if (this.chance(0.05)) throw new Error(`${name} fails`);
      return name;
    };
    const stepsOf = (context: WorkflowContext<unknown>, witness: StepWitness): Steps => ({
      run: (name, action) => witness.run(name, (witnessed) => context.run(name, witnessed), action),
      served: async (kind, name) => {
        const outcome = await servedBy(context, kind, name);
        witness.saw(name, outcome);
        return outcome;
      },
    });
    return createEndpoint(
      async (context) => {
        const witness = this.history.witness('k');
        return witness.end(await follow(this.plan, stepsOf(context, witness), act));
      },
      {
        holdRuns: this.random() < 0.9 ? { max: 2 } : false,
        ...(this.isEncrypted ? { encryption: ENCRYPTION } : {}),
        ...(this.hasCheckpoints ? { checkpoint: { maxSteps: 1 + below(this.random, 8), maxMs: 60_000 } } : {}),
      },
    );
  }

  /** Returns true with the given probability, as long as the budget of faults is not used up. */
  private chance(probability: number): boolean {
    if (this.faults >= MAX_FAULTS || this.random() >= probability) return false;
    this.faults++;
    return true;
  }

  private get worker(): Endpoint {
    // Usually the same worker, as with a keep-alive connection.
    const worker = this.workers[this.chance(0.2) ? 1 : 0];
    assert.ok(worker);
    return worker;
  }

  /**
   * Handles a reply that arrives after the server stopped waiting for it. The server may still rely on the reported
   * hold.
   */
  private late(received: Promise<StepReply>): void {
    this.background(received.then((reply) => this.random() < 0.5 && this.server.recordHold(reply)));
  }

  private background(work: Promise<unknown>): void {
    const settled: Promise<void> = work.then(() => void this.underWay.delete(settled));
    this.underWay.add(settled);
  }

  private async deliver(task: Task): Promise<void> {
    const { server } = this;
    if (this.chance(0.1)) this.workers[below(this.random, 2)] = this.newWorker();
    if (this.chance(0.05)) return server.loseAttempt(task);
    const request = server.request(task);
    if (this.chance(0.1)) this.late(server.send(this.worker, request));
    if (this.chance(0.05)) {
      // The server gave up while the endpoint worked on it. The reply arrives late or never and is ignored.
      this.late(server.send(this.worker, request));
      await turns(below(this.random, 3));
      return server.loseAttempt(task);
    }
    let reply = await server.send(this.worker, request);
    if (this.chance(0.1)) this.late(turns(below(this.random, 5)).then(() => server.send(this.worker, request)));
    if (this.chance(0.05)) return server.loseAttempt(task);
    let sent = request;
    if (reply.kind === 'journal-needed') {
      assert.ok(request.journal.from > 0);
      server.hold = null;
      sent = server.request(task);
      assert.equal(sent.journal.from, 0);
      reply = await server.send(this.worker, sent);
    }
    assert.ok(reply.kind === 'progress' || reply.kind === 'failed', JSON.stringify(reply));
    server.apply(task, sent, reply);
  }

  async play(): Promise<void> {
    const { server } = this;
    while (!server.end) {
      for (const task of [...server.tasks.values()]) {
        if (task.inFlight || this.random() < 0.3) continue;
        if (task.plan && task.plan.type !== 'Run') {
          server.wake(task);
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
      assert.equal(server.failure, null);
    }
    await Promise.all(this.underWay);
  }

  get end(): WitnessedEnd<unknown> {
    return witnessedEnd(decrypted(this.server.result)) ?? assert.fail('the run did not end as its code does');
  }

  get recorded(): readonly RecordedOut[] {
    return this.server.journal.map(({ name, out }) => ({
      name,
      out: out === undefined ? undefined : decrypted(JSON.parse(out)),
    }));
  }

  /** Replays the journal on a worker that has never seen the run. */
  async replayed() {
    const { server } = this;
    server.hold = null;
    const request = server.request({ slot: 0, messageId: 'replay', retried: 0, inFlight: false });
    const reply = await server.send(this.newWorker(), request);
    assert.ok(reply.kind === 'progress', JSON.stringify(reply));
    return reply.end;
  }
}

const plainly: Steps = { run: (_name, action) => action(), served: async (_kind, name) => name };

interface Kind {
  readonly mayRace: boolean;
  readonly hasCheckpoints: boolean;
  readonly isEncrypted?: boolean;
  readonly title: string;
}

const KINDS: readonly Kind[] = [
  { mayRace: false, hasCheckpoints: false, title: '' },
  { mayRace: true, hasCheckpoints: false, title: 'with races ' },
  { mayRace: false, hasCheckpoints: true, title: 'with checkpoints ' },
  { mayRace: true, hasCheckpoints: true, title: 'with races and checkpoints ' },
  { mayRace: true, hasCheckpoints: true, isEncrypted: true, title: 'with races, checkpoints and encryption ' },
];

for (const kind of KINDS) {
  const { mayRace, hasCheckpoints, isEncrypted = false, title } = kind;
  const seeds = hasCheckpoints ? SEEDS.checkpoints : SEEDS.plain;
  it(`${seeds} random workflows ${title}end as their code does, despite lost, duplicated and late messages`, async (test) => {
    for (let seed = 1; seed <= seeds; seed++) {
      const random = randomFrom(seed * 2 + Number(mayRace));
      const counter = { next: 1 };
      const plan: Plan = {
        kind: 'sequence',
        parts: Array.from({ length: 1 + below(random, 3) }, () => randomPlan(random, 3, counter, mayRace)),
      };
      const harness = new Harness(plan, random, kind);
      try {
        await harness.play();
        assert.deepEqual(decrypted(await harness.replayed()), decrypted(harness.server.end));
        assert.equal(JSON.stringify(harness.server.end).includes('$encrypted'), isEncrypted);
        const { end } = harness;
        assert.deepEqual(harness.history.problems('k', harness.recorded, end), []);
        if (!mayRace) assert.deepEqual(end.result, JSON.parse(JSON.stringify(await follow(plan, plainly, async (name) => name))));
      } catch (error) {
        test.diagnostic(`seed ${seed}: ${JSON.stringify(plan)}`);
        throw new Error(`seed ${seed}`, { cause: error });
      }
    }
  });
}
