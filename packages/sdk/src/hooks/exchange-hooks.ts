/** Calls the workflow hooks while a request from the server is handled. */
import type { FailedReply, PlannedStep, StepReply, StepRequest } from '../protocol.js';
import type { HookCaller, HookRun, HookStep } from './workflow-hooks.js';

type Step = Pick<PlannedStep, 'stepId' | 'name' | 'type'>;

/** Calls the hooks for one request. */
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
  onCodeStart(): void {
    const { journal, target, retried } = this.request;
    if (journal.length === 0 && target === null && retried === 0) this.call('runStarted', this.hookRun());
  }

  onStepReplay(step: Step): void {
    this.call('stepReplayed', this.hookStep(step, 1));
  }

  /** Called before a step is executed. Returns the start time to pass to `onStepFinish` or `onError`. */
  onStepStart(step: Step, retried: number): number {
    this.call('stepStarted', this.hookStep(step, retried + 1));
    return performance.now();
  }

  onStepFinish(step: Step, retried: number, startedAt: number): void {
    this.call('stepFinished', { ...this.hookStep(step, retried + 1), durationMs: performance.now() - startedAt });
  }

  /** Called when a step threw an error. If `step` is undefined, the code between steps threw it. */
  onError(
    error: unknown,
    { retry }: FailedReply,
    step?: { readonly plan: Step; readonly retried: number; readonly startedAt: number },
  ): void {
    const retried = step ? step.retried : this.request.retried;
    const failure = { error, willRetry: retry.kind !== 'never' && retried < this.request.maxRetries };
    if (step) {
      const durationMs = performance.now() - step.startedAt;
      this.call('stepFailed', { ...this.hookStep(step.plan, retried + 1), ...failure, durationMs });
    }
    if (step && failure.willRetry) return;
    const failedStep = step ? { step: stepOf(step.plan) } : {};
    this.call('runFailed', { ...this.hookRun(retried + 1), ...failure, ...failedStep, durationMs: this.ageMs() });
  }

  /** Called when the request has a reply. */
  onReply(reply: StepReply): void {
    if (reply.kind !== 'progress' || !reply.end) return;
    this.call('runFinished', { ...this.hookRun(), outcome: reply.end.kind, durationMs: this.ageMs() });
  }

  private readonly call: HookCaller['call'] = (name, context) => {
    for (const caller of this.callers) caller.call(name, context);
  };

  private ageMs(): number {
    return Math.max(0, Date.now() - this.run.runCreatedAt);
  }

  private hookRun(attempt = this.request.retried + 1): HookRun {
    return { ...this.run, attempt };
  }

  private hookStep(step: Step, attempt: number): HookStep {
    return { ...this.hookRun(attempt), step: stepOf(step) };
  }
}

const stepOf = ({ stepId, name, type }: Step): HookStep['step'] => ({ name, index: stepId, type });
