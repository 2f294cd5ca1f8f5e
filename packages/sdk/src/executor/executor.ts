/**
 * Answers step requests. It finds or rebuilds the execution of the run, applies the journal of the request, executes
 * at most one step, and reports how far the code progressed. It does not depend on the transport.
 */
import { describeError, JournalMismatchError, retryAdvice } from '../errors.js';
import {
  type FailedReply,
  type Hold,
  type PlannedStep,
  PROTOCOL_VERSION,
  type ProgressReply,
  type RefusedReply,
  type RunEnd,
  type StepReply,
  type StepRequest,
  type StepResult,
} from '../protocol.js';
import { resultToJson } from '../step-result.js';
import { Execution, type RequestedStep, type Settlement } from './execution.js';
import type { HeldRuns } from './held-runs.js';

/** What an executor depends on. */
export interface ExecutorOptions {
  /** Runs the workflow function of a new execution. An error that it throws or rejects with is a failure of the code. */
  readonly body: (execution: Execution, request: Pick<StepRequest, 'run' | 'input'>) => unknown;
  /** Null: no execution is kept between requests. */
  readonly heldRuns: HeldRuns | null;
  /** Returns a name that is unique to this worker. */
  readonly worker: () => string;
  /** Number of failed attempts after which the endpoint itself gives up. Undefined: the service decides. */
  readonly maxRetries?: number;
  /** True: replies report that the endpoint has a failure function. */
  readonly failureFunction?: boolean;
}

const JOURNAL_NEEDED: StepReply = Object.freeze({ protocol: PROTOCOL_VERSION, kind: 'journal-needed' });

/** Builds a reply that refuses a request. */
export function refusal(code: RefusedReply['code'], message: string): RefusedReply {
  return { protocol: PROTOCOL_VERSION, kind: 'refused', code, message };
}

/** State of the code when it was quiet on the journal of the request, before anything was executed. */
interface CodeState {
  /** True if the code is exactly at the end of the journal of the request, not past it. */
  readonly atBase: boolean;
  readonly planned: readonly PlannedStep[];
  readonly settlement: Settlement | null;
}

/** Answers the step requests of one workflow. */
export class Executor {
  private readonly options: ExecutorOptions;
  private executions = 0;

  constructor(options: ExecutorOptions) {
    this.options = options;
  }

  /** Returns the reply to a step request. */
  async handle(request: StepRequest): Promise<StepReply> {
    for (;;) {
      const execution = this.find(request);
      if (!execution) return JOURNAL_NEEDED;
      if (!(await execution.takeTurn())) continue;
      const comparison = execution.compare(request.journal);
      if (comparison !== 'fits') {
        if (comparison === 'refuted') this.release(request, execution);
        execution.passTurn();
        if (comparison === 'behind') return JOURNAL_NEEDED;
        continue;
      }
      const isFresh = !execution.started;
      execution.exchanges.add(request.messageId);
      try {
        const reply = await this.exchange(execution, request);
        if (reply) return reply;
      } catch (error) {
        this.release(request, execution);
        if (!(error instanceof JournalMismatchError)) throw error;
        // Only a replay of the whole journal proves a mismatch.
        if (isFresh) return refusal('journal-mismatch', error.message);
      } finally {
        execution.exchanges.delete(request.messageId);
      }
    }
  }

  /** Returns the execution to continue with, or null if it needs entries that were not sent. */
  private find(request: StepRequest): Execution | null {
    const { heldRuns } = this.options;
    const held = heldRuns?.get(request.run.key);
    if (held) {
      // The same message arrived again while its first delivery is in progress here. The service has given up on the
      // first one.
      if (held.exchanges.has(request.messageId)) this.release(request, held);
      else if (request.journal.from === 0 || request.journal.worker === held.name) return held;
    }
    if (request.journal.from > 0) return null;
    const execution = new Execution(`${this.options.worker()}.${++this.executions}`);
    heldRuns?.put(request.run.key, execution);
    return execution;
  }

  private release(request: StepRequest, execution: Execution): void {
    execution.drop();
    this.options.heldRuns?.release(request.run.key, execution);
  }

  /**
   * Handles one request on an execution whose turn we hold. Returns null if the execution was dropped; the caller
   * starts again with a fresh one.
   */
  private async exchange(execution: Execution, request: StepRequest): Promise<StepReply | null> {
    let state: CodeState;
    let step: RequestedStep | null;
    try {
      state = await this.advanceTo(execution, request);
      step = this.stepToExecute(execution, request, state);
      if (step?.executing) {
        this.release(request, execution);
        return null;
      }
      if (step) step.executing = true;
    } finally {
      execution.passTurn();
    }
    if (!step) return this.answer(execution, request, [], false, state.planned, state.settlement);
    try {
      return await this.executeStep(execution, request, step, state);
    } finally {
      step.executing = false;
    }
  }

  private async advanceTo(execution: Execution, request: StepRequest): Promise<CodeState> {
    if (!execution.started) {
      execution.start(() => this.options.body(execution, request));
      await execution.untilQuiet();
    }
    await execution.apply(request.journal);
    const atBase = execution.applied === request.journal.length;
    if (execution.applied >= request.journal.length) {
      await execution.requireRequested(Math.max(request.known - 1, request.target ?? 0));
    }
    const { known } = request;
    const planned = execution.plannedFrom(known);
    // Past the end of the journal, the code may have received steps that this request does not include. The sender of
    // this request either knows the steps that the code requested after them, or cannot use them.
    const follows = atBase || planned.every(({ stepId }, index) => stepId === known + index);
    return { atBase, planned: follows ? planned : [], settlement: execution.settlement };
  }

  private stepToExecute(execution: Execution, request: StepRequest, state: CodeState): RequestedStep | null {
    const { target, known } = request;
    // Code that has ended no longer needs the step, so its side effects would be wasted.
    if (state.settlement && state.settlement.kind !== 'failed') return null;
    if (target !== null) {
      const step = execution.pending.get(target);
      if (step && step.plan.type !== 'Run') {
        throw new JournalMismatchError(
          `Step ${target} is planned as a step to run, but the workflow now requests ${step.plan.type} at this position.`,
        );
      }
      return step ?? null;
    }
    if (state.settlement || !state.atBase || execution.pending.size !== 1) return null;
    const [step] = execution.pending.values();
    return step && step.plan.stepId >= known && step.plan.type === 'Run' ? step : null;
  }

  private async executeStep(
    execution: Execution,
    request: StepRequest,
    step: RequestedStep,
    state: CodeState,
  ): Promise<StepReply | null> {
    const { stepId, name, type } = step.plan;
    const planned = state.planned.filter((other) => other.stepId !== stepId);
    let out: string | undefined;
    try {
      out = resultToJson(await execution.execute(step), `step ${JSON.stringify(name)}`);
    } catch (error) {
      const reply = this.failure(request, error, [], { stepId, name, type });
      if (reply.retry.kind === 'never') this.release(request, execution);
      return this.withHold(execution, request, reply);
    }
    const done: StepResult[] = [out === undefined ? { stepId, name, type } : { stepId, name, type, out }];
    const { pending } = execution;
    const mayAdvance = () =>
      !execution.dropped &&
      execution.settlement === null &&
      execution.applied === request.journal.length &&
      pending.size === 1 &&
      pending.get(stepId) === step;
    if (mayAdvance() && (await execution.takeTurn())) {
      try {
        if (mayAdvance()) {
          await execution.applyOptimistically(step, out);
          const revealed = execution.plannedFrom(request.known);
          return this.answer(execution, request, done, true, revealed, execution.settlement);
        }
      } finally {
        execution.passTurn();
      }
    }
    return this.answer(execution, request, done, false, planned, state.settlement);
  }

  private answer(
    execution: Execution,
    request: StepRequest,
    done: readonly StepResult[],
    advanced: boolean,
    planned: readonly PlannedStep[],
    settlement: Settlement | null,
  ): StepReply {
    let end: RunEnd | undefined;
    if (settlement) {
      this.release(request, execution);
      if (settlement.kind === 'failed') return this.failure(request, settlement.error, done);
      if (settlement.kind === 'canceled') end = { kind: 'canceled' };
      else {
        try {
          const result = resultToJson(settlement.result, 'the workflow');
          end = result === undefined ? { kind: 'finished' } : { kind: 'finished', result };
        } catch (error) {
          return this.failure(request, error, done);
        }
      }
    }
    const reply: ProgressReply = {
      protocol: PROTOCOL_VERSION,
      kind: 'progress',
      base: request.journal.length,
      done,
      advanced,
      planned: end ? [] : planned,
      ...(end ? { end } : {}),
      ...(this.options.failureFunction ? { failureFunction: true } : {}),
    };
    return this.withHold(execution, request, reply);
  }

  private failure(request: StepRequest, error: unknown, done: readonly StepResult[], step?: FailedReply['step']): FailedReply {
    const { maxRetries, failureFunction } = this.options;
    const exhausted = maxRetries !== undefined && request.retried >= maxRetries;
    return {
      protocol: PROTOCOL_VERSION,
      kind: 'failed',
      base: request.journal.length,
      done,
      ...(step ? { step } : {}),
      error: describeError(error),
      retry: exhausted ? { kind: 'never' } : retryAdvice(error),
      ...(failureFunction ? { failureFunction: true } : {}),
    };
  }

  private withHold<Reply extends ProgressReply | FailedReply>(execution: Execution, request: StepRequest, reply: Reply): Reply {
    if (!this.options.heldRuns?.has(request.run.key, execution)) return reply;
    const { applied, optimistic, name: worker } = execution;
    // A service that sends no digest cannot confirm later whether it has recorded the last entry.
    const confirmed = optimistic && request.journal.digest === undefined ? applied - 1 : applied;
    const hold: Hold = { worker, through: confirmed };
    return { ...reply, hold };
  }
}
