/**
 * Endpoints that submit steps, in every order that networks and crashes can cause. Submissions are early, late or
 * repeated; deliveries time out or are repeated. A run always ends with each of its steps recorded once.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlannedStep } from '@everstep/sdk/protocol';
import fc from 'fast-check';
import { startedRun, T0 } from '../engine.fixture.js';
import { decide, type RunEvent } from './decide.js';
import { ADVANCE_SLOT, type Run, type Task } from './run.js';
import type { Submission } from './submissions.js';

/** Groups of steps. A group of a single step is executed or specified immediately. */
type Kind = 'run' | 'nap' | 'call';
const PROGRAM: readonly (readonly Kind[])[] = [
  ['run'],
  ['run', 'nap', 'call', 'run'],
  ['nap'],
  ['call'],
  ['run', 'run'],
  ['run'],
];
const STEPS = PROGRAM.flat().length;

const nameOf = (stepId: number): string => `s${stepId}`;
const CALL = { url: 'http://third/', method: 'GET', headers: {} };

function specified(kind: Kind, stepId: number): PlannedStep {
  const head = { stepId, name: nameOf(stepId) };
  if (kind === 'nap') return { ...head, type: 'SleepFor', sleepMs: 10 };
  return { ...head, type: 'Call', call: CALL };
}

/**
 * Returns what the endpoint submits for a delivery: the code is replayed on `recorded`, up to the first incomplete
 * group.
 */
function submissionFor(recorded: ReadonlySet<number>, target: number | null): Submission {
  let first = 1;
  for (const group of PROGRAM) {
    const ids = group.map((_, at) => first + at);
    const kindOf = (stepId: number): Kind => group[stepId - (ids[0] ?? 0)] ?? 'run';
    first += group.length;
    if (ids.every((id) => recorded.has(id))) continue;
    const execute = (stepId: number): Submission =>
      kindOf(stepId) === 'run'
        ? { done: [{ stepId, name: nameOf(stepId), type: 'Run', out: '1' }], planned: [] }
        : { done: [], planned: [specified(kindOf(stepId), stepId)] };
    if (target !== null) return execute(target);
    if (ids.length === 1) return execute(ids[0] ?? 0);
    const planned = ids.map((stepId): PlannedStep => {
      if (kindOf(stepId) === 'nap') return specified('nap', stepId);
      const asks = kindOf(stepId) === 'call' ? { asks: 'Call' as const } : {};
      return { stepId, name: nameOf(stepId), type: 'Run', ...asks };
    });
    return { done: [], planned };
  }
  return { done: [], planned: [], end: { kind: 'finished', result: '"done"' } };
}

class Play {
  private run: Run = startedRun(
    { maxRetries: 100, retryDelay: '5', steps: { joined: true, introduced: true } },
    { dialect: 'upstash' },
  );
  private now = T0;
  private drawn = 0;
  private ended: string | null = null;
  readonly recorded: number[] = [];
  /** Messages in transit that can arrive at any time. */
  private readonly arriving: RunEvent[] = [];

  private apply(event: RunEvent): void {
    const random = {
      bytes: (count: number) => {
        this.drawn++;
        return new Uint8Array(count).map((_, at) => (this.drawn >> (8 * at)) & 255);
      },
    };
    const decision = decide(this.run, event, { now: this.now, random, publicUrl: 'http://everstep' });
    this.run = decision.run;
    for (const write of decision.writes) if (write.kind === 'record-step') this.recorded.push(write.step.stepId);
    if (decision.outcome) this.ended = decision.outcome.status === 'failed' ? decision.outcome.error : decision.outcome.status;
  }

  /** Delivers a due task, with the given outcome. */
  private deliver(task: Extract<Task, { retried: number }>, luck: number): void {
    const { slot, messageId, retried } = task;
    const attempt = { slot, messageId, retried };
    if (task.kind === 'call') {
      const response = { status: 200, headers: {}, body: { encoding: 'utf8', data: '' } as const };
      this.arriving.push({ kind: 'call-attempted', attempt, response: response, failure: null });
      return;
    }
    const submission = submissionFor(new Set(this.recorded), slot === ADVANCE_SLOT ? null : slot);
    const envelope = { status: 200, responseHeaders: {}, responseBody: new Uint8Array() };
    const failure = { cause: 'timeout', message: 'late', retry: { kind: 'backoff' } } as const;
    const lost: RunEvent = {
      kind: 'attempt-failed',
      attempt,
      failure: { ...failure, status: null, responseHeaders: {}, responseBody: new Uint8Array() },
    };
    // The endpoint submits before it responds. The server can give up on the delivery before either arrives, or the
    // delivery can be lost.
    if (luck === 0) this.apply(lost);
    if (luck === 1) {
      this.apply(lost);
      this.arriving.push({ kind: 'submitted', submission });
    }
    if (luck >= 2) {
      this.apply({ kind: 'submitted', submission });
      this.arriving.push({ kind: 'exchange-ended', attempt, envelope });
    }
    // Sent again, because the response to it was lost.
    if (luck === 3) this.arriving.push({ kind: 'submitted', submission });
  }

  /** Performs one action. The number selects it. */
  step(choice: number): void {
    if (this.ended !== null) return;
    const due = [...this.run.tasks.values()].filter(({ dueAt }) => dueAt !== null && dueAt <= this.now);
    const options = due.length + this.arriving.length;
    if (options === 0 || choice % 7 === 0) {
      this.now += 5;
      return;
    }
    const picked = choice % options;
    const task = due[picked];
    if (task === undefined) {
      const [event] = this.arriving.splice(picked - due.length, 1);
      if (event) this.apply(event);
    } else if (task.kind === 'sleep') this.apply({ kind: 'due', slot: task.slot });
    else if ('retried' in task) this.deliver(task, (choice >> 8) % 6);
  }

  /** Finishes the run without further faults. */
  finish(): string | null {
    for (let turn = 0; turn < 500 && this.ended === null; turn++)
      this.step(turn % 2 === 0 ? 7 * (turn + 1) : 0x0501 + 7 * turn + (turn % 5));
    return this.ended;
  }
}

test('a run ends with each of its steps recorded once, in any order of arrivals', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(0xffff), { maxLength: 200 }), (choices) => {
      const play = new Play();
      for (const choice of choices) play.step(choice);
      assert.equal(play.finish(), 'succeeded');
      assert.deepEqual(
        [...play.recorded].sort((a, b) => a - b),
        Array.from({ length: STEPS }, (_, at) => at + 1),
      );
    }),
    { numRuns: 500 },
  );
});
