/** Hooks around runs and steps, for logs, metrics and error reports. They observe; they cannot change a run. */
import type { StepType } from '../protocol.js';

/** The run that a hook is called for. */
export interface HookRun {
  readonly runId: string;
  /** Time at which the run was created, Unix milliseconds. */
  readonly runCreatedAt: number;
  readonly workflowUrl: string;
  /** Labels of the run. */
  readonly labels: readonly string[];
  /** Number of the attempt, from 1. */
  readonly attempt: number;
}

/** The step that a hook is called for. */
export interface HookStep extends HookRun {
  readonly step: {
    readonly name: string;
    /** Position of the step in the run, from 1. */
    readonly index: number;
    readonly type: StepType;
  };
}

/** A failure, as a hook receives it. */
export interface HookFailure {
  /** The thrown value, with its causes. */
  readonly error: unknown;
  /** Whether the server makes another attempt. */
  readonly willRetry: boolean;
}

/**
 * Functions that are called when a run or a step starts, ends, fails or is replayed. All are optional. A hook that throws or
 * rejects changes nothing; its error is logged once for each hook. The server may repeat a request, so each hook is called at
 * least once, not exactly once.
 */
export interface WorkflowHooks {
  /** Called when the code of a run starts for the first time. Not called for runs that continue another run. */
  readonly runStarted?: (run: HookRun) => unknown;
  /** Called when the run has ended without an error. `durationMs` is the time since the run was created. */
  readonly runFinished?: (run: HookRun & { readonly outcome: 'finished' | 'canceled'; readonly durationMs: number }) => unknown;
  /**
   * Called when the code between steps threw an error, or when a step has failed permanently; `step` is then present. With
   * `willRetry: false`, the run has failed. `durationMs` is the time since the run was created.
   */
  readonly runFailed?: (
    run: HookRun & HookFailure & { readonly step?: HookStep['step']; readonly durationMs: number },
  ) => unknown;
  /** Called when the app starts to execute a step. */
  readonly stepStarted?: (step: HookStep) => unknown;
  /** Called when the app has executed a step. `durationMs` is the duration of this attempt. */
  readonly stepFinished?: (step: HookStep & { readonly durationMs: number }) => unknown;
  /** Called when a step threw an error. `durationMs` is the duration of this attempt. */
  readonly stepFailed?: (step: HookStep & HookFailure & { readonly durationMs: number }) => unknown;
  /**
   * Called when the code received a recorded result without executing the step: on a replay, or because the server completed
   * the step, such as a sleep.
   */
  readonly stepReplayed?: (step: HookStep) => unknown;
}

/** Name of a hook. */
export type HookName = keyof WorkflowHooks;
type ContextOf<Name extends HookName> = Parameters<NonNullable<WorkflowHooks[Name]>>[0];

/** Calls the hooks of a workflow, in their order. */
export class HookCaller {
  private readonly hooks: readonly WorkflowHooks[];
  private readonly loggedHooks = new Set<HookName>();

  constructor(hooks: readonly WorkflowHooks[]) {
    this.hooks = hooks;
  }

  /** Calls the hooks with this name. Never throws, and does not wait for a promise that a hook returns. */
  call<Name extends HookName>(name: Name, context: ContextOf<Name>): void {
    for (const hooks of this.hooks) {
      const hook = hooks[name] as ((context: ContextOf<Name>) => unknown) | undefined;
      if (!hook) continue;
      try {
        const result = hook.call(hooks, context);
        if (result instanceof Promise) result.catch((error: unknown) => this.logOnce(name, error));
      } catch (error) {
        this.logOnce(name, error);
      }
    }
  }

  private logOnce(name: HookName, error: unknown): void {
    if (this.loggedHooks.has(name)) return;
    this.loggedHooks.add(name);
    try {
      console.warn(
        `The workflow hook ${name} failed; the run is not affected. Further errors of this hook are not logged.`,
        error,
      );
    } catch {
      // console.warn can throw while it formats the error.
    }
  }
}
