/** The context that a workflow function receives. */
import type { Duration, Instant } from './duration.js';
import type { JsonOf } from './step-result.js';
import type {
  CallOptions,
  CallResult,
  InvokeOptions,
  InvokeResult,
  NotifyOptions,
  NotifyResult,
  WaitOptions,
  WaitResult,
  Webhook,
  WebhookResult,
} from './steps/step-types.js';

/** Fields for log lines. */
export interface LogFields {
  /** Id of the run. */
  readonly runId: string;
  /** Position of the step; absent between steps. */
  readonly stepId?: number;
  /** Name of the step; absent between steps. */
  readonly stepName?: string;
}

/**
 * The context of a run: its data, and the methods that request steps.
 *
 * Your workflow function runs again from the top whenever the run continues in a process that does not hold it.
 * Recorded steps then return their recorded results. Code between steps must therefore be deterministic: put time,
 * randomness and I/O into steps.
 */
export interface WorkflowContext<Payload> {
  /**
   * Payload of the trigger: parsed JSON if it is JSON, otherwise text, otherwise bytes. With `parsePayload` or
   * `schema`, it is the result of that option.
   */
  readonly payload: Payload;
  /** Id of the run. */
  readonly runId: string;
  /** Time at which the run was created, Unix milliseconds. */
  readonly runCreatedAt: number;
  /** Labels of the run. */
  readonly labels: readonly string[];
  /** Headers that the trigger forwarded, by lowercase name. */
  readonly headers: Readonly<Record<string, string>>;
  /** URL of this workflow: the `url` option, or the URL that the run was triggered with. */
  readonly url: string;

  /**
   * Runs `action` once and records its result. On a replay it returns the recorded result. The result passes through
   * JSON: a Date becomes a string, and methods are lost.
   *
   * If `action` throws, the attempt ends and the server retries it later (see RetryAfterError and
   * NonRetryableError). Code around the step cannot catch the error, so handle expected errors inside `action`. A
   * step cannot contain another step.
   */
  run<T>(name: string, action: () => T | Promise<T>): Promise<JsonOf<Awaited<T>>>;

  /** Pauses the run without keeping a connection or a process busy. A number is in seconds. */
  sleep(name: string, duration: Duration): Promise<void>;

  /** Pauses the run until an instant. An instant in the past ends the step immediately. A number is in Unix milliseconds. */
  sleepUntil(name: string, instant: Instant): Promise<void>;

  /**
   * Waits until a notification for the event arrives or the timeout (default 7 days) passes. `Data` is not checked: it is
   * the type that the sender promises.
   *
   * Rejects with PayloadError if the data is declared as JSON but is not valid JSON.
   */
  waitForEvent<Data = unknown>(name: string, eventId: string, options?: WaitOptions): Promise<WaitResult<Data>>;

  /** Waits for the first of several events. `eventId` in the result is the event that occurred. */
  waitForAny<Data = unknown>(name: string, eventIds: readonly string[], options?: WaitOptions): Promise<WaitResult<Data>>;

  /**
   * Notifies the runs that wait for the event. With `workflowRunId`, notifies only that run; if it does not wait for
   * the event yet, the server keeps the event for it.
   */
  notify(name: string, eventId: string, data?: unknown, options?: NotifyOptions): Promise<NotifyResult>;

  /**
   * Makes the server send an HTTP request, which can take hours. The server retries it as `retries` specifies and
   * then returns the last response, regardless of its status. A call therefore never fails the run.
   */
  call<Body = unknown>(name: string, request: CallOptions): Promise<CallResult<Body>>;

  /**
   * Starts a run of another workflow and waits for it to end. If that run fails, this run continues; check `state` in
   * the result.
   */
  invoke<Body = unknown>(name: string, invocation: InvokeOptions): Promise<InvokeResult<Body>>;

  /** Creates a URL for `waitForWebhook`. Anyone who knows the URL can call it. Each call ends one wait. */
  createWebhook(name: string): Promise<Webhook>;

  /**
   * Waits until the webhook is called or the timeout (default 7 days) has passed. A call that arrived earlier ends
   * the wait immediately.
   */
  waitForWebhook(name: string, webhook: Pick<Webhook, 'eventId'>, options?: WaitOptions): Promise<WebhookResult>;

  /**
   * Returns fields for log lines, so that logs can be searched by run and step. In a step, they include the step. If several steps
   * run at the same time, call it before the first await of the step.
   *
   * @example
   * await context.run('charge', async () => {
   *   const log = logger.child(context.logFields());
   *   log.info('charging');
   * });
   */
  logFields(): LogFields;

  /** Cancels the run. Code after this call does not run. A step that calls it is not recorded. */
  cancel(): Promise<never>;
}

/** A workflow function. Its return value is the result of the run and must be valid JSON. */
export type Workflow<Payload, Result> = (context: WorkflowContext<Payload>) => Result | Promise<Result>;
