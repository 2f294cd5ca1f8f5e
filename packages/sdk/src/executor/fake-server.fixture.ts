/**
 * A miniature of the server for tests. It keeps the journal and the open tasks of one run, makes requests, and applies
 * replies by the rules of the protocol. It also asserts that the replies of the endpoint are consistent.
 */
import assert from 'node:assert/strict';
import type { Endpoint, EndpointResponse } from '../endpoint.js';
import {
  type CallOutcome,
  type CheckpointLimits,
  EMPTY_JOURNAL_DIGEST,
  extendJournalDigest,
  type FailedReply,
  type Hold,
  type InvokeOutcome,
  type JournalEntry,
  type NotifyOutcome,
  type PlannedStep,
  type RunEnd,
  type StepReply,
  type StepRequest,
  type WaitOutcome,
  type WebhookOutcome,
} from '../protocol.js';

const ADVANCE = 0;

export interface Task {
  readonly slot: number;
  readonly messageId: string;
  retried: number;
  /** Absent for the task that continues the code. */
  readonly plan?: PlannedStep;
  inFlight: boolean;
}

/** Outcome of a step that the server executes. */
export type Outcome = WaitOutcome | NotifyOutcome | CallOutcome | InvokeOutcome | WebhookOutcome | undefined;

const jsonBody = (value: unknown) => ({ encoding: 'utf8', data: JSON.stringify(value) }) as const;

/** Returns a successful outcome that contains the name of the step. */
export function successOf(plan: PlannedStep): Outcome {
  switch (plan.type) {
    case 'Run':
      throw new Error('the endpoint must run this step');
    case 'SleepFor':
    case 'SleepUntil':
      return undefined;
    case 'Wait':
    case 'WaitForWebhook': {
      const content = { kind: 'data', body: jsonBody(plan.name), contentType: 'application/json' } as const;
      return { timeout: false, eventId: plan.eventIds.at(-1) ?? '', content };
    }
    case 'Notify':
      return { notified: [], kept: plan.workflowRunId !== undefined };
    case 'Call':
      return { status: 200, headers: { 'content-type': ['application/json'] }, body: jsonBody(plan.name), attempts: 1 };
    case 'Invoke':
      return { workflowRunId: 'child', workflowCreatedAt: 1, state: 'succeeded', result: JSON.stringify(plan.name) };
    case 'CreateWebhook':
      return { eventId: `whk_${plan.stepId}`, webhookUrl: `http://server/v2/webhooks/whk_${plan.stepId}` };
  }
}

export class FakeServer {
  readonly journal: JournalEntry[] = [];
  readonly tasks = new Map<number, Task>();
  /** Name of the step at each position. */
  readonly names = new Map<number, string>();
  known = 1;
  replayedLength = 0;
  hold: Hold | null = null;
  end: RunEnd | null = null;
  failure: FailedReply | null = null;
  /** Number of requests that the endpoint answered with `journal-needed`. */
  misses = 0;
  requests = 0;
  /** If false, it behaves like a server that does not support digests. */
  sendsDigests = true;
  /** If it is undefined, the server records one result from each reply. */
  checkpoint: CheckpointLimits | undefined;
  outcomeOf: (plan: PlannedStep) => Outcome = successOf;
  /** Steps that are recorded as soon as they are planned, for example a wait for an event that arrived earlier. */
  isKnownAtOnce: (plan: PlannedStep) => boolean = ({ type }) => type === 'CreateWebhook';
  private messageCount = 0;
  private readonly runKey: string;
  private readonly payload: unknown;

  constructor(runKey: string, payload: unknown = null) {
    this.runKey = runKey;
    this.payload = payload;
    this.putAdvance();
  }

  private putAdvance(): void {
    this.tasks.set(ADVANCE, { slot: ADVANCE, messageId: `m${++this.messageCount}`, retried: 0, inFlight: false });
  }

  private digestAt(length: number): number {
    return this.journal.slice(0, length).reduce(extendJournalDigest, EMPTY_JOURNAL_DIGEST);
  }

  request(task: Task, from = Math.min(this.hold?.through ?? 0, this.journal.length)): StepRequest {
    return {
      protocol: 1,
      run: { key: this.runKey, id: 'run', createdAt: 1_700_000_000_000, workflowUrl: 'http://app/flow', labels: ['a'] },
      messageId: task.messageId,
      retried: task.retried,
      maxRetries: 3,
      target: task.slot === ADVANCE ? null : task.slot,
      known: this.known,
      journal: {
        from,
        ...(from > 0 && this.hold ? { worker: this.hold.worker } : {}),
        ...(this.sendsDigests ? { digest: this.digestAt(from) } : {}),
        length: this.journal.length,
        entries: this.journal.slice(from),
      },
      ...(this.checkpoint ? { checkpoint: this.checkpoint } : {}),
      ...(from === 0
        ? {
            input: {
              body: { encoding: 'utf8', data: JSON.stringify(this.payload) },
              contentType: 'application/json',
              headers: { 'x-one': '1' },
            },
          }
        : {}),
    };
  }

  async send(endpoint: Endpoint, request: StepRequest): Promise<StepReply> {
    this.requests++;
    return replyOf(await post(endpoint, request));
  }

  /** Delivers the task until it is answered, with the whole journal if necessary. */
  async deliver(endpoint: Endpoint, task: Task): Promise<StepReply> {
    let request = this.request(task);
    let reply = await this.send(endpoint, request);
    if (reply.kind === 'journal-needed') {
      assert.ok(request.journal.from > 0, 'the whole journal was sent');
      this.misses++;
      this.hold = null;
      request = this.request(task);
      reply = await this.send(endpoint, request);
    }
    this.apply(task, request, reply);
    return reply;
  }

  private record(entry: JournalEntry): void {
    assert.ok(!this.journal.some(({ stepId }) => stepId === entry.stepId), `step ${entry.stepId} is recorded once`);
    const { stepId, name, type, out } = entry;
    this.name(stepId, name);
    this.journal.push(out === undefined ? { stepId, name, type } : { stepId, name, type, out });
    this.tasks.delete(stepId);
    this.known = Math.max(this.known, stepId + 1);
  }

  private name(stepId: number, name: string): void {
    assert.equal(this.names.get(stepId) ?? name, name, `position ${stepId} keeps its name`);
    this.names.set(stepId, name);
  }

  /** Completes the work that the server does for a step. */
  wake({ plan }: Task): void {
    assert.ok(plan && plan.type !== 'Run');
    this.recordOutcome(plan);
    this.settle();
  }

  private recordOutcome(plan: PlannedStep): void {
    const { stepId, name, type } = plan;
    const outcome = this.outcomeOf(plan);
    this.record(outcome === undefined ? { stepId, name, type } : { stepId, name, type, out: JSON.stringify(outcome) });
  }

  /**
   * Records how many entries a worker holds. Replies of parallel steps arrive in any order, so the largest value per worker
   * counts.
   */
  recordHold(reply: StepReply): void {
    const hold = reply.kind === 'progress' || reply.kind === 'failed' ? (reply.hold ?? null) : null;
    const isBehind = hold !== null && this.hold?.worker === hold.worker && this.hold.through > hold.through;
    if (!isBehind) this.hold = hold;
  }

  /** Loses the attempt in transit: the server does not know what the endpoint did. */
  loseAttempt(task: Task): void {
    this.hold = null;
    task.retried++;
  }

  apply(task: Task, request: StepRequest, reply: StepReply): void {
    this.recordHold(reply);
    if (this.end || this.failure || this.tasks.get(task.slot) !== task) return;
    assert.ok(reply.kind === 'progress' || reply.kind === 'failed', JSON.stringify(reply));
    assert.equal(reply.base, request.journal.length);
    const isCurrent = reply.base === this.journal.length;
    assert.ok(reply.done.length <= (request.checkpoint?.maxSteps ?? 1), `the reply has ${reply.done.length} results`);
    for (const [index, done] of (isCurrent ? reply.done : reply.done.slice(0, 1)).entries()) {
      assert.ok(index === 0 ? done.stepId <= this.known : done.stepId === this.known);
      if (done.stepId === this.known || this.tasks.has(done.stepId)) this.record(done);
    }
    if (reply.kind === 'failed') {
      this.applyFailure(task, reply, isCurrent);
      return;
    }
    if (task.slot === ADVANCE) this.tasks.delete(ADVANCE);
    else assert.ok(reply.end || !this.tasks.has(task.slot), `step ${task.slot} was requested and is reported`);
    const isPastResults = reply.done.length > 0 && reply.advanced;
    this.replayedLength = Math.max(this.replayedLength, isPastResults && isCurrent ? reply.base + reply.done.length : reply.base);
    if (!isPastResults || isCurrent) {
      for (const plan of reply.planned) {
        this.name(plan.stepId, plan.name);
        if (plan.stepId < this.known) continue;
        assert.equal(plan.stepId, this.known++, 'planned without gaps');
        if (this.isKnownAtOnce(plan)) this.recordOutcome(plan);
        else
          this.tasks.set(plan.stepId, {
            slot: plan.stepId,
            messageId: `m${++this.messageCount}`,
            retried: 0,
            plan,
            inFlight: false,
          });
      }
      if (reply.end) this.end = reply.end;
    }
    this.settle();
  }

  private applyFailure(task: Task, reply: FailedReply, isCurrent: boolean): void {
    if (reply.retry.kind === 'never' && (isCurrent || reply.done.length === 0)) {
      this.failure = reply;
      return;
    }
    const { step, done, base } = reply;
    if (step && done.length > 0 && !isCurrent) this.tasks.delete(ADVANCE);
    else if (step && step.stepId === this.known) {
      const { stepId, name } = step;
      this.tasks.delete(ADVANCE);
      this.name(stepId, name);
      this.known++;
      const { messageId, retried } = done.length > 0 ? { messageId: `m${++this.messageCount}`, retried: 0 } : task;
      this.tasks.set(stepId, {
        slot: stepId,
        messageId,
        retried: retried + 1,
        plan: { stepId, name, type: 'Run' },
        inFlight: false,
      });
      this.replayedLength = Math.max(this.replayedLength, base + done.length);
    } else if (this.tasks.get(task.slot) === task) task.retried++;
    this.settle();
  }

  private settle(): void {
    if (this.end) return;
    if (this.journal.length > this.replayedLength && !this.tasks.has(ADVANCE)) this.putAdvance();
    assert.ok(this.tasks.size > 0, 'the run has ended or waits for something');
  }

  /** Drives the run to its end, one delivery at a time. Picks the lowest slot, or the task that `choose` returns. */
  async drive(endpoint: Endpoint, choose: (tasks: readonly Task[]) => Task | undefined = ([first]) => first): Promise<void> {
    while (!this.end && !this.failure) {
      const task = choose([...this.tasks.values()].sort((a, b) => a.slot - b.slot));
      assert.ok(task);
      if (task.plan && task.plan.type !== 'Run') this.wake(task);
      else await this.deliver(endpoint, task);
    }
  }

  get result(): unknown {
    assert.equal(this.end?.kind, 'finished', JSON.stringify(this.failure ?? this.end));
    return this.end.result === undefined ? undefined : JSON.parse(this.end.result);
  }
}

export function post(endpoint: Endpoint, request: StepRequest): Promise<EndpointResponse> {
  return endpoint.handle({
    method: 'POST',
    url: '/flow',
    headers: { 'svc-workflow-protocol': '1' },
    body: Buffer.from(JSON.stringify(request)),
  });
}

export function replyOf(response: EndpointResponse): StepReply {
  assert.equal(response.headers['Svc-Workflow-Protocol'], '1');
  assert.equal(response.headers['Content-Type'], 'application/json');
  return JSON.parse(response.body);
}

export const task = (server: FakeServer, slot: number): Task => {
  const slotTask = server.tasks.get(slot);
  assert.ok(slotTask, `slot ${slot} has a task`);
  return slotTask;
};

export function progress(reply: StepReply) {
  assert.ok(reply.kind === 'progress', JSON.stringify(reply));
  return reply;
}
