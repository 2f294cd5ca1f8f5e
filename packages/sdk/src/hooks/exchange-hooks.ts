/** Calls the workflow hooks during one request of the server. */
import type { FailedReply, PlannedStep, StepReply, StepRequest } from '../protocol.js';
import type { HookCaller, HookRun, HookStep } from './workflow-hooks.js';

type Step = Pick<PlannedStep, 'stepId' | 'name' | 'type'>;

/** The hooks of one request. */
export class ExchangeHooks {
  private readonly callers: readonly HookCaller[];
  private readonly request: StepRequest;
  private readonly run: Omit<HookRun, 'attempt'>;

  constructor(callers: readonly HookCaller[], request: StepRequest, workflowUrl: string) {
    const { id, createdAt, labels } = request.run;
    this.callers = callers;
    this.request = request;
    this.run = { runId: id, runCreatedAt: createdAt, workflowUrl, labels };
  }

  /** Called when the code of the run starts in this process. */
  codeStarted(): void {
    const { journal, target, retried } = this.request;
    if (journal.length === 0 && target === null && retried === 0) this.call('runStarted', this.ofRun());
  }

  replayed(step: Step): void {
    this.call('stepReplayed', this.ofStep(step, 1));
  }

  /** Returns the start of the step for `finished` and `threw`. */
  started(step: Step, retried: number): number {
    this.call('stepStarted', this.ofStep(step, retried + 1));
    return performance.now();
  }

  finished(step: Step, retried: number, startedAt: number): void {
    this.call('stepFinished', { ...this.ofStep(step, retried + 1), durationMs: performance.now() - startedAt });
  }

  /** Called when a step threw an error, or the code between steps if there is no step. */
  threw(
    error: unknown,
    { retry }: FailedReply,
    step?: { readonly plan: Step; readonly retried: number; readonly startedAt: number },
  ): void {
    const retried = step ? step.retried : this.request.retried;
    const failure = { error, willRetry: retry.kind !== 'never' && retried < this.request.maxRetries };
    if (step) {
      const durationMs = performance.now() - step.startedAt;
      this.call('stepFailed', { ...this.ofStep(step.plan, retried + 1), ...failure, durationMs });
    }
    if (step && failure.willRetry) return;
    const failed = step ? { step: stepOf(step.plan) } : {};
    this.call('runFailed', { ...this.ofRun(retried + 1), ...failure, ...failed, durationMs: this.age() });
  }

  /** Called when the request has a reply. */
  replied(reply: StepReply): void {
    if (reply.kind !== 'progress' || !reply.end) return;
    this.call('runFinished', { ...this.ofRun(), outcome: reply.end.kind, durationMs: this.age() });
  }

  private readonly call: HookCaller['call'] = (name, context) => {
    for (const caller of this.callers) caller.call(name, context);
  };

  private age(): number {
    return Math.max(0, Date.now() - this.run.runCreatedAt);
  }

  private ofRun(attempt = this.request.retried + 1): HookRun {
    return { ...this.run, attempt };
  }

  private ofStep(step: Step, attempt: number): HookStep {
    return { ...this.ofRun(attempt), step: stepOf(step) };
  }
}

const stepOf = ({ stepId, name, type }: Step): HookStep['step'] => ({ name, index: stepId, type });
