/** What the steps that the service carries out are given, and what they give. */
import type { Duration } from '../duration.js';

export interface WaitOptions {
  /** How long to wait at most; default 7 days. */
  readonly timeout?: Duration;
}

/** The event that came, or that none did in time. */
export type WaitResult<Data> =
  | {
      readonly timeout: false;
      readonly eventId: string;
      /** What the event carries: the JSON value when it was sent as JSON, else text, or bytes; undefined when it is empty. */
      readonly eventData: Data;
    }
  | { readonly timeout: true; readonly eventId: undefined; readonly eventData: undefined };

export interface NotifyOptions {
  /** Notifies this run alone; the event is kept for it when it does not wait for it yet. */
  readonly workflowRunId?: string;
}

export interface NotifyResult {
  /** The runs that waited for the event. */
  readonly notified: readonly { readonly messageId: string; readonly workflowRunId: string; readonly workflowUrl: string }[];
  /** True when the named run did not wait for the event: it will find it when it does. */
  readonly kept: boolean;
}

/** Limits of a flow control key. */
export interface FlowControlLimits {
  readonly key: string;
  /** Requests in flight at most. */
  readonly parallelism?: number;
  /** Starts per period. */
  readonly rate?: number;
  /** Default one second. Goes with `rate`. */
  readonly period?: Duration;
}

/** What calls and invocations have in common. */
interface DeliveryOptions {
  /** Retries after the first attempt. */
  readonly retries?: number;
  /** Expression over `retried` whose value is ms, such as `'pow(2, retried) * 1000'`. */
  readonly retryDelay?: string;
  /** How long one attempt may take. */
  readonly timeout?: Duration;
  readonly flowControl?: FlowControlLimits;
}

export interface CallOptions extends DeliveryOptions {
  readonly url: string | URL;
  /** Default GET. */
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  readonly headers?: Readonly<Record<string, string>>;
  /** Text and bytes are sent as they are, everything else as JSON. */
  readonly body?: unknown;
}

/** The last answer, whatever its status. */
export interface CallResult<Body> {
  /** 0 when no answer came. */
  readonly status: number;
  /** True for a status from 200 to 299. */
  readonly ok: boolean;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** The JSON value of an answer that is JSON, else text, or bytes where it is no text; undefined when it is empty. */
  readonly body: Body;
  /** Attempts made, the last included. */
  readonly attempts: number;
  /** Why no answer came; absent when one did. */
  readonly error?: string;
  bytes(): Uint8Array;
  text(): string;
  /** Throws SyntaxError when the body is not JSON. */
  json(): unknown;
}

interface InvokeSettings extends DeliveryOptions {
  /** Text and bytes are sent as they are, everything else as JSON. */
  readonly payload?: unknown;
  /** Sent on to the invoked workflow. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The id of the new run; made by the service when absent. */
  readonly workflowRunId?: string;
  readonly labels?: readonly string[];
}

/** `workflow` and `workflowUrl` are the same. */
export type InvokeOptions = InvokeSettings &
  (
    | { readonly workflow: string | URL; readonly workflowUrl?: undefined }
    | { readonly workflowUrl: string | URL; readonly workflow?: undefined }
  );

/** How the invoked run ended. */
export type InvokeResult<Body> = { readonly workflowRunId: string; readonly workflowCreatedAt: number } & (
  | { readonly state: 'succeeded' /** What the workflow returned. */; readonly body: Body }
  | { readonly state: 'failed'; readonly error: string }
  | { readonly state: 'canceled' }
);

/** An address of this run alone. */
export interface Webhook {
  readonly webhookUrl: string;
  readonly eventId: string;
}

/** A request that came to a webhook. */
export interface WebhookRequest {
  readonly method: string;
  /** With the `?` in front; empty when there was none. */
  readonly query: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: Uint8Array;
  text(): string;
  /** Throws SyntaxError when the body is not JSON. */
  json(): unknown;
}

export type WebhookResult =
  | { readonly timeout: false; readonly request: WebhookRequest }
  | { readonly timeout: true; readonly request: undefined };
