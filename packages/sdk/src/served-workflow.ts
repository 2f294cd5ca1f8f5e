/** A workflow with its options, independent of the transport that its requests arrive on. */
import type { Workflow } from './context.js';
import { type EncryptionOptions, openPayload } from './encryption/envelope.js';
import { describeError, retryAdvice } from './errors.js';
import { checkReplay } from './executor/check.js';
import { type CheckpointOptions, checkpointOf } from './executor/checkpoint.js';
import type { Execution } from './executor/execution.js';
import { Executor, refusedReply } from './executor/executor.js';
import { HeldRuns } from './executor/held-runs.js';
import { sharesPromises } from './executor/runtime.js';
import { readCheckRequest, readStepRequest } from './executor/step-request.js';
import { callFailureFunction, type FailureFunction, readFailureNotice } from './failure-function.js';
import { readsSourceLines } from './failures/source-line.js';
import { ExchangeHooks } from './hooks/exchange-hooks.js';
import { HookCaller, type WorkflowHooks } from './hooks/workflow-hooks.js';
import { type PayloadOptions, withPayload } from './payload.js';
import type { CheckReply, FailedReply, StepReply, StepRequest } from './protocol.js';
import { createContext } from './workflow-context.js';

/** Limits of the runs that are kept in memory between their steps. */
export interface HoldOptions {
  /** Maximum number of runs kept in memory. Default: 10,000. */
  readonly max?: number;
  /** Time in milliseconds after which an unused run is removed. Default: 60,000. */
  readonly idleMs?: number;
}

/** Options of a workflow that do not depend on the transport. */
export interface WorkflowOptions<Payload> extends PayloadOptions<Payload>, EncryptionOptions {
  /**
   * Maximum number of retries of a step or of the code between steps. It can only lower the number that the run was
   * triggered with.
   */
  readonly retries?: number;
  /** Logs each request: `true` for console.log, or a function that receives each line. */
  readonly verbose?: boolean | ((line: string) => void);
  /**
   * Keeps runs in memory between their steps, so that a step does not replay the steps before it. Enabled by default,
   * except on Cloudflare Workers, where one request must not await the promises of another.
   */
  readonly holdRuns?: boolean | HoldOptions;
  /**
   * Executes `run` steps in a row without waiting for the server in between, and reports their results together. Use it
   * for steps that are cheap and safe to repeat: if the process fails before they are recorded, all of them are executed
   * again. Default: each step is recorded before the next one starts.
   */
  readonly checkpoint?: CheckpointOptions;
  /**
   * Reports the line of source code that threw an error, together with its file and line number. Only files inside the
   * working directory are read. Default: true, except when NODE_ENV is `production`.
   */
  readonly sourceLines?: boolean;
  /** Hooks around runs and steps, called in the order of the list. */
  readonly hooks?: readonly WorkflowHooks[];
  /**
   * Called when a run has failed permanently, unless its trigger specified a failure callback. It can be called more
   * than once for a run; use `dlqId` to detect repetitions. If it throws, the server calls it again, like a failed
   * step.
   */
  readonly failureFunction?: FailureFunction<Payload>;
}

/** The outcome of a failure notice. `retry` says whether the server sends the notice again. */
export type NoticeOutcome =
  | { readonly kind: 'handled' }
  /** The request is not a failure notice, or the workflow has no failure function. */
  | { readonly kind: 'rejected'; readonly reason: 'malformed' | 'no-function'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string; readonly retry: FailedReply['retry'] };

/** The transport of a request. */
export interface RequestTransport {
  /** Hooks of a connection, called before the ones of the workflow. */
  readonly hooks?: HookCaller | undefined;
  /** Returns true once the server no longer waits for the reply. Absent if the transport cannot detect this. */
  readonly isAbandoned?: (() => boolean) | undefined;
}

/** Handles the frames of one workflow. */
export interface ServedWorkflow {
  /** Returns the reply to a step request or a check request, given as parsed JSON. Rejects only if this library has a bug. */
  answer(frame: unknown, transport?: RequestTransport): Promise<StepReply | CheckReply>;
  /** Handles the notice, given as parsed JSON, that a run has failed permanently. Never rejects. */
  handleNotice(frame: unknown): Promise<NoticeOutcome>;
  /** Logs a line if the workflow logs its requests. */
  readonly log: ((line: string) => void) | undefined;
}

const DEFAULT_HOLD = { max: 10_000, idleMs: 60_000 } as const;

const NO_FAILURE_FUNCTION = 'this workflow has no failureFunction; add the option to serve() or deploy the version that has it';
const NOT_A_NOTICE = 'the body is not a failure notice; only the server may send this request';

function heldRunsFor(option: boolean | HoldOptions | undefined): HeldRuns | null {
  if (option === false || (option === undefined && !sharesPromises())) return null;
  const { max, idleMs } = { ...DEFAULT_HOLD, ...(typeof option === 'object' ? option : {}) };
  if (!(Number.isSafeInteger(max) && max >= 1))
    throw new RangeError(`holdRuns.max must be a whole number of at least 1, not ${max}`);
  if (!(Number.isFinite(idleMs) && idleMs > 0))
    throw new RangeError(`holdRuns.idleMs must be a number greater than 0, not ${idleMs}`);
  return new HeldRuns({ max, idleMs });
}

function checkRetries(retries: number | undefined): void {
  if (retries === undefined || (Number.isSafeInteger(retries) && retries >= 0)) return;
  throw new RangeError(`retries must be a whole number of at least 0, not ${retries}`);
}

/**
 * Creates the handler of a workflow's frames.
 *
 * @throws {RangeError} If an option is invalid.
 */
export function createServedWorkflow<Payload, Result>(
  workflow: Workflow<Payload, Result>,
  options: WorkflowOptions<Payload>,
  /** Public URL of the workflow if the app knows it; otherwise the URL that the server called. */
  publicUrl?: string,
): ServedWorkflow {
  const { retries, failureFunction, encryption } = options;
  checkRetries(retries);
  const log = options.verbose === true ? console.log : options.verbose === false ? undefined : options.verbose;
  let workerName: string | undefined;
  const ownHooks = options.hooks && options.hooks.length > 0 ? new HookCaller(options.hooks) : undefined;
  /** Runs the workflow function. */
  function runCode(execution: Execution, { run, input }: Pick<StepRequest, 'run' | 'input'>): unknown {
    // The input is present whenever a run starts here. A request without it uses only a held execution.
    if (!input) throw new Error('the request has no input');
    const url = publicUrl ?? run.workflowUrl;
    const decryptedInput = { ...input, body: openPayload(encryption, input.body) };
    return withPayload(decryptedInput, options, (payload) =>
      workflow(createContext(execution, run, input, { payload, url, encryption })),
    );
  }
  const executor = new Executor({
    runCode,
    heldRuns: heldRunsFor(options.holdRuns),
    // Created with the first request, because some runtimes have no randomness while a module loads.
    workerName: () => {
      workerName ??= crypto.randomUUID();
      return workerName;
    },
    ...(retries === undefined ? {} : { maxRetries: retries }),
    hasFailureFunction: failureFunction !== undefined,
    includeSourceLines: options.sourceLines ?? readsSourceLines(),
    checkpoint: checkpointOf(options.checkpoint),
    ...(encryption ? { encryption } : {}),
  });

  return {
    log,
    async answer(frame, { hooks: connectionHooks, isAbandoned } = {}) {
      const checkRequest = readCheckRequest(frame);
      // Not logged, because the check does not affect the run.
      if (checkRequest) return checkReplay(checkRequest, (execution) => runCode(execution, checkRequest));
      const parsed = readStepRequest(frame);
      if (!parsed.ok) return refusedReply(parsed.code, parsed.message);
      const callers = [connectionHooks, ownHooks].filter((caller) => caller !== undefined);
      const { request } = parsed;
      const hooks = callers.length > 0 ? new ExchangeHooks(callers, request, publicUrl ?? request.run.workflowUrl) : null;
      const reply = await executor.handle(request, { hooks, isAbandoned });
      if (log) log(describeExchange(request, reply));
      return reply;
    },
    async handleNotice(frame) {
      const notice = readFailureNotice(frame);
      if (!notice) return { kind: 'rejected', reason: 'malformed', message: NOT_A_NOTICE };
      // This instance of the app may be outdated. A retry may reach one that has the function.
      if (!failureFunction) return { kind: 'rejected', reason: 'no-function', message: NO_FAILURE_FUNCTION };
      const logPrefix = `run ${notice.workflowRunId}, failure function`;
      try {
        await callFailureFunction(notice, failureFunction, options);
      } catch (error) {
        const { name, message } = describeError(error);
        log?.(`${logPrefix}: ${name}: ${message}`);
        return { kind: 'failed', message: `${name}: ${message}`, retry: retryAdvice(error) };
      }
      log?.(`${logPrefix}: done`);
      return { kind: 'handled' };
    },
  };
}

function describeExchange(request: StepRequest, reply: StepReply): string {
  const goal = request.target === null ? 'continue' : `step ${request.target}`;
  const details: string[] = [reply.kind];
  if (reply.kind === 'progress' || reply.kind === 'failed') {
    for (const step of reply.done) details.push(`completed ${step.stepId} ${JSON.stringify(step.name)}`);
  }
  if (reply.kind === 'progress') {
    for (const step of reply.planned) details.push(`planned ${step.stepId} ${step.type} ${JSON.stringify(step.name)}`);
    if (reply.end) details.push(reply.end.kind);
  } else if (reply.kind === 'failed') {
    details.push(`${reply.step ? `${JSON.stringify(reply.step.name)}: ` : ''}${reply.error.name}: ${reply.error.message}`);
  } else if (reply.kind === 'refused') details.push(reply.message);
  return `run ${request.run.id}, ${goal}${request.retried > 0 ? `, retry ${request.retried}` : ''}: ${details.join(', ')}`;
}
