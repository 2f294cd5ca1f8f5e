/**
 * Handles step requests. An executor finds or rebuilds the execution of the run, applies the journal of the request and executes
 * at most one step. With a checkpoint, it also executes the steps that follow. The reply reports how far the code progressed.
 * Executors do not depend on the transport.
 */
import { type EncryptionOptions, sealText } from '../encryption/envelope.js';
import { DecryptionError, JournalMismatchError, retryAdvice } from '../errors.js';
import { describeFailure } from '../failures/describe-failure.js';
import type { ExchangeHooks } from '../hooks/exchange-hooks.js';
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
} from '../protocol.js';
import { resultToJson } from '../step-result.js';
import { type Checkpoint, type ExchangeOptions, ExchangeResults } from './checkpoint.js';
import { Execution, type RequestedStep, type Settlement } from './execution.js';
import type { HeldRuns } from './held-runs.js';
import { nextTurn } from './quiet.js';
import { type StepScope, stepScopeOf } from './step-scope.js';

/** Options and dependencies of an executor. */
export interface ExecutorOptions extends EncryptionOptions {
  /** Runs the workflow function of a new execution. An error that it throws or rejects with is a failure of the code. */
  readonly runCode: (execution: Execution, request: Pick<StepRequest, 'run' | 'input'>) => unknown;
  /** Null if no execution is kept between requests. */
  readonly heldRuns: HeldRuns | null;
  /** Returns a name that is unique to this worker. */
  readonly workerName: () => string;
  /** Maximum number of retries before the endpoint itself gives up. If it is undefined, the server decides. */
  readonly maxRetries?: number;
  /** Whether replies report that the endpoint has a failure function. */
  readonly hasFailureFunction?: boolean;
  /** Whether a reported error contains the line of source code that threw it. */
  readonly includeSourceLines?: boolean;
  /** How many steps in a row are recorded together. Null or absent if each step is recorded separately. */
  readonly checkpoint?: Checkpoint | null;
}

/** Number of steps in one request after which other work can run. */
const STEPS_PER_TURN = 25;

const JOURNAL_NEEDED: StepReply = Object.freeze({ protocol: PROTOCOL_VERSION, kind: 'journal-needed' });

/** Builds a reply that rejects a request. */
export function refusedReply(code: RefusedReply['code'], message: string): RefusedReply {
  return { protocol: PROTOCOL_VERSION, kind: 'refused', code, message };
}

/** How far the code has progressed. */
interface Progress {
  /** True if the code continued past the results of the request. */
  readonly advanced: boolean;
  readonly planned: readonly PlannedStep[];
  readonly settlement: Settlement | null;
}

/** State of the code when it was quiet on the journal of the request, before anything was executed. */
interface CodeState extends Omit<Progress, 'advanced'> {
  /** True if the code is exactly at the end of the journal of the request, not past it. */
  readonly isAtBase: boolean;
}

/** Returns the step to execute if the request does not name one: a new step, and the only thing that the code waits for. */
function onlyNewStep({ settlement, pending }: Execution, { known }: StepRequest): RequestedStep | null {
  if (settlement || pending.size !== 1) return null;
  const [step] = pending.values();
  return step && step.plan.stepId >= known && step.plan.type === 'Run' ? step : null;
}

/** Handles the step requests of one workflow. */
export class Executor {
  private readonly options: ExecutorOptions;
  private executionCount = 0;

  constructor(options: ExecutorOptions) {
    this.options = options;
  }

  /** Returns the reply to a step request. */
  async handle(request: StepRequest, options: ExchangeOptions = {}): Promise<StepReply> {
    // This must come first, because the code of a held run continues in the async context of an earlier request.
    const scope = stepScopeOf(request);
    for (;;) {
      const execution = this.findExecution(request);
      if (!execution) return JOURNAL_NEEDED;
      if (!(await execution.takeTurn())) continue;
      const comparison = execution.compare(request.journal);
      if (comparison !== 'fits') {
        if (comparison === 'refuted') this.release(request, execution);
        execution.passTurn();
        if (comparison === 'behind') return JOURNAL_NEEDED;
        continue;
      }
      const isFresh = !execution.hasStarted;
      execution.openMessageIds.add(request.messageId);
      try {
        const reply = await this.exchange(execution, request, scope, options);
        if (!reply) continue;
        options.hooks?.onReply(reply);
        return reply;
      } catch (error) {
        this.release(request, execution);
        if (error instanceof DecryptionError) {
          const reply = this.failedReply(request, error, { done: [] });
          options.hooks?.onError(error, reply);
          return reply;
        }
        if (!(error instanceof JournalMismatchError)) throw error;
        // Only a replay of the whole journal proves a mismatch.
        if (isFresh) return refusedReply('journal-mismatch', error.message);
      } finally {
        execution.openMessageIds.delete(request.messageId);
      }
    }
  }

  /** Returns the execution to continue with, or null if it needs entries that were not sent. */
  private findExecution(request: StepRequest): Execution | null {
    const { heldRuns } = this.options;
    const heldExecution = heldRuns?.get(request.run.key);
    if (heldExecution) {
      // The same message arrived again while its first delivery is in progress here. The server has given up on the
      // first one.
      if (heldExecution.openMessageIds.has(request.messageId)) this.release(request, heldExecution);
      else if (request.journal.from === 0 || request.journal.worker === heldExecution.name) return heldExecution;
    }
    if (request.journal.from > 0) return null;
    const execution = new Execution(`${this.options.workerName()}.${++this.executionCount}`);
    heldRuns?.put(request.run.key, execution);
    return execution;
  }

  private release(request: StepRequest, execution: Execution): void {
    execution.drop();
    this.options.heldRuns?.release(request.run.key, execution);
  }

  /**
   * Handles one request on an execution whose turn the caller holds. Returns null if the execution was dropped; the caller
   * starts again with a fresh one.
   */
  private async exchange(
    execution: Execution,
    request: StepRequest,
    scope: StepScope | null,
    options: ExchangeOptions,
  ): Promise<StepReply | null> {
    const results = new ExchangeResults(this.options.checkpoint ?? null, request, options);
    const { hooks } = results;
    let state: CodeState;
    let step: RequestedStep | null;
    try {
      state = await this.advanceTo(execution, request, hooks);
      step = this.stepToExecute(execution, request, state);
      if (step?.isExecuting) {
        this.release(request, execution);
        return null;
      }
      if (step) step.isExecuting = true;
    } finally {
      execution.passTurn();
    }
    if (!step) return this.respond(execution, request, results, { ...state, advanced: false });
    for (;;) {
      const currentStep: RequestedStep = step;
      try {
        const replyOrStep: StepReply | RequestedStep = await this.executeStep(execution, request, results, currentStep, {
          ...state,
          scope,
        });
        if (!('plan' in replyOrStep)) return replyOrStep;
        step = replyOrStep;
      } finally {
        currentStep.isExecuting = false;
      }
    }
  }

  private async advanceTo(execution: Execution, request: StepRequest, hooks: ExchangeHooks | null): Promise<CodeState> {
    if (!execution.hasStarted) {
      hooks?.onCodeStart();
      execution.start(() => this.options.runCode(execution, request));
      await execution.untilQuiet();
    }
    await execution.apply(request.journal, hooks ? (entry) => hooks.onStepReplay(entry) : undefined);
    const isAtBase = execution.appliedCount === request.journal.length;
    if (execution.appliedCount >= request.journal.length) {
      await execution.requireRequested(Math.max(request.known - 1, request.target ?? 0));
    }
    const { known } = request;
    const planned = execution.plannedFrom(known);
    // Past the end of the journal, the code may have received steps that this request does not include. The sender of
    // this request either knows the steps that the code requested after them, or cannot use them.
    const canReportPlanned = isAtBase || planned.every(({ stepId }, index) => stepId === known + index);
    return { isAtBase, planned: canReportPlanned ? planned : [], settlement: execution.settlement };
  }

  private stepToExecute(execution: Execution, request: StepRequest, state: CodeState): RequestedStep | null {
    const { target } = request;
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
    return state.isAtBase ? onlyNewStep(execution, request) : null;
  }

  /** Executes a step. Returns the reply, or the step to execute before the reply. */
  private async executeStep(
    execution: Execution,
    request: StepRequest,
    results: ExchangeResults,
    step: RequestedStep,
    state: CodeState & { readonly scope: StepScope | null },
  ): Promise<StepReply | RequestedStep> {
    const { stepId, name, type } = step.plan;
    const startOffsetMs = results.elapsedMs;
    const { hooks } = results;
    // The attempts of the request are those of the first step.
    const retried = results.done.length > 0 ? 0 : request.retried;
    const startedAt = hooks?.onStepStart(step.plan, retried) ?? 0;
    let out: string | undefined;
    let isCanceled = false;
    try {
      const outcome = await execution.execute(step, state.scope);
      isCanceled = outcome === null;
      if (outcome) out = this.sealResult(outcome.result, `step ${JSON.stringify(name)}`);
    } catch (error) {
      const reply = this.failedReply(request, error, results, { stepId, name, type });
      hooks?.onError(error, reply, { plan: step.plan, retried, startedAt });
      if (reply.retry.kind === 'never') this.release(request, execution);
      return this.addHold(execution, request, reply);
    }
    if (isCanceled) {
      const advanced = results.done.length > 0;
      return this.respond(execution, request, results, { advanced, planned: [], settlement: execution.settlement });
    }
    hooks?.onStepFinish(step.plan, retried, startedAt);
    const base = request.journal.length + results.done.length;
    results.add(step.plan, out, startOffsetMs);
    const { pending } = execution;
    const canAdvance = () =>
      !execution.isDropped &&
      execution.settlement === null &&
      execution.appliedCount === base &&
      pending.size === 1 &&
      pending.get(stepId) === step;
    if (canAdvance() && (await execution.takeTurn())) {
      try {
        if (canAdvance()) {
          await execution.applyOptimistically(step, out);
          const nextStep = await this.nextStep(execution, request, results);
          if (nextStep) return nextStep;
          const { settlement } = execution;
          return this.respond(execution, request, results, {
            ...{ advanced: true, settlement, planned: execution.plannedFrom(request.known) },
          });
        }
      } finally {
        execution.passTurn();
      }
    }
    const planned = state.planned.filter(({ stepId }) => !results.done.some((done) => done.stepId === stepId));
    return this.respond(execution, request, results, { advanced: false, planned, settlement: state.settlement });
  }

  /** Returns the step to execute before the results are recorded, or null. The caller holds the turn. */
  private async nextStep(execution: Execution, request: StepRequest, results: ExchangeResults): Promise<RequestedStep | null> {
    if (!results.canContinue) return null;
    if (results.done.length % STEPS_PER_TURN === 0) await nextTurn();
    // The server may no longer wait for the reply.
    const step = execution.isDropped ? null : onlyNewStep(execution, request);
    if (step) step.isExecuting = true;
    return step;
  }

  private respond(
    execution: Execution,
    request: StepRequest,
    results: ExchangeResults,
    { advanced, planned, settlement }: Progress,
  ): StepReply {
    let end: RunEnd | undefined;
    try {
      if (settlement?.kind === 'failed') throw settlement.error;
      if (settlement) end = this.endOf(settlement);
    } catch (error) {
      this.release(request, execution);
      const reply = this.failedReply(request, error, results);
      results.hooks?.onError(error, reply);
      return reply;
    }
    const isComplete = results.hasRoomFor(planned, end);
    if (end && isComplete) this.release(request, execution);
    const reply: ProgressReply = {
      protocol: PROTOCOL_VERSION,
      kind: 'progress',
      base: request.journal.length,
      done: results.done,
      advanced: advanced && isComplete,
      planned: end || !isComplete ? [] : planned,
      ...(end && isComplete ? { end } : {}),
      ...(this.options.hasFailureFunction ? { failureFunction: true } : {}),
    };
    return this.addHold(execution, request, reply);
  }

  private endOf(settlement: Exclude<Settlement, { readonly kind: 'failed' }>): RunEnd {
    if (settlement.kind === 'canceled') return { kind: 'canceled' };
    const result = this.sealResult(settlement.result, 'the workflow');
    return result === undefined ? { kind: 'finished' } : { kind: 'finished', result };
  }

  /** Returns a result as the server records it. */
  private sealResult(result: unknown, subject: string): string | undefined {
    return resultToJson(result, subject, (json) => sealText(this.options.encryption, json));
  }

  private failedReply(
    request: StepRequest,
    error: unknown,
    { done }: Pick<ExchangeResults, 'done'>,
    step?: FailedReply['step'],
  ): FailedReply {
    const { maxRetries, hasFailureFunction } = this.options;
    // The attempts of the request belong to the first step, or to the code if the request is not for a step.
    const isFirstAttempt = done.length > 0 && (step !== undefined || request.target !== null);
    const isExhausted = maxRetries !== undefined && (isFirstAttempt ? 0 : request.retried) >= maxRetries;
    return {
      protocol: PROTOCOL_VERSION,
      kind: 'failed',
      base: request.journal.length,
      done,
      ...(step ? { step } : {}),
      error: describeFailure(error, this.options.includeSourceLines === true),
      retry: isExhausted ? { kind: 'never' } : retryAdvice(error),
      ...(hasFailureFunction ? { failureFunction: true } : {}),
    };
  }

  private addHold<Reply extends ProgressReply | FailedReply>(execution: Execution, request: StepRequest, reply: Reply): Reply {
    if (!this.options.heldRuns?.has(request.run.key, execution)) return reply;
    const { appliedCount, unconfirmedCount, name: worker } = execution;
    // A server that sends no digest cannot confirm later whether it has recorded the last entries.
    const through = request.journal.digest === undefined ? appliedCount - unconfirmedCount : appliedCount;
    const hold: Hold = { worker, through };
    return { ...reply, hold };
  }
}
