/** What a workflow function is given. */
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

/**
 * The run, and the steps that it can take.
 *
 * The function is run again from the top whenever the run moves on in a
 * process that does not hold it; steps that were recorded give their recorded
 * results. So what happens between steps must be deterministic: time,
 * randomness and I/O belong into steps.
 */
export interface WorkflowContext<Payload> {
  /** What the run was triggered with: parsed JSON when it is JSON, else text, else bytes; or what `parsePayload` or `schema` made of it. */
  readonly payload: Payload;
  readonly runId: string;
  /** Unix ms. */
  readonly runCreatedAt: number;
  readonly labels: readonly string[];
  /** Headers that the trigger forwarded, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** URL of this workflow. */
  readonly url: string;

  /**
   * Runs `action` once and records its result; later it gives the recorded
   * result. What comes back has travelled as JSON.
   *
   * If it throws, the attempt ends there and the service makes another one
   * later (see RetryAfterError, NonRetryableError), so a failing step cannot
   * be caught by the code around it: catch inside `action` what you can
   * handle. Steps cannot be asked for inside a step.
   */
  run<T>(name: string, action: () => T | Promise<T>): Promise<JsonOf<Awaited<T>>>;

  /** Pauses the run without holding anything open. A number is seconds. */
  sleep(name: string, duration: Duration): Promise<void>;

  /** Pauses the run until an instant; one in the past is over at once. A number is Unix milliseconds. */
  sleepUntil(name: string, instant: Instant): Promise<void>;

  /**
   * Waits until somebody notifies the event, or the time is up. The type of the data is the word of whoever sends it.
   * Rejects with PayloadError when the data is said to be JSON and is not.
   */
  waitForEvent<Data = unknown>(name: string, eventId: string, options?: WaitOptions): Promise<WaitResult<Data>>;

  /** Waits for the first of several events; `eventId` of the result says which one came. */
  waitForAny<Data = unknown>(name: string, eventIds: readonly string[], options?: WaitOptions): Promise<WaitResult<Data>>;

  /** Notifies the runs that wait for the event; with `workflowRunId` one run, now or when it comes to wait for it. */
  notify(name: string, eventId: string, data?: unknown, options?: NotifyOptions): Promise<NotifyResult>;

  /**
   * Has the service make an HTTP request, which may take hours. It is tried again as `retries` says; then the last
   * answer is the result, whatever its status, so a call never fails the run.
   */
  call<Body = unknown>(name: string, request: CallOptions): Promise<CallResult<Body>>;

  /** Starts a run of another workflow and waits for its end. A run that fails does not fail this one. */
  invoke<Body = unknown>(name: string, invocation: InvokeOptions): Promise<InvokeResult<Body>>;

  /** Makes a URL that whoever knows it may call, for `waitForWebhook`. Each call is taken by one wait. */
  createWebhook(name: string): Promise<Webhook>;

  /** Waits until the webhook is called, or the time is up. A call that came before is taken at once. */
  waitForWebhook(name: string, webhook: Pick<Webhook, 'eventId'>, options?: WaitOptions): Promise<WebhookResult>;

  /** Ends the run as canceled. Code behind it does not run. */
  cancel(): Promise<never>;
}

export type Workflow<Payload, Result> = (context: WorkflowContext<Payload>) => Result | Promise<Result>;
