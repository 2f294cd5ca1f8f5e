/** What the API answers about what people look for: runs by their words, and the attempts of one. Times are Unix ms. */
import type { FailedAttempt, HeaderMap, RunFields } from './types.js';

/** A run as the log shows it, without its steps and its result. */
export interface FoundRun extends Omit<RunFields, 'invokedRuns' | 'failureFunctionInfo'> {
  readonly workflowRunError?: string;
}

export interface RunSearchPage {
  /** Where to look on; absent when all runs were looked at. */
  readonly cursor?: string;
  /** Newest first; may be empty though there is more to look at. */
  readonly runs: readonly FoundRun[];
  /** Creation of the oldest run that was looked at; null when there was none. */
  readonly searchedUntil: number | null;
  /** Whether there is no further run to look at. */
  readonly complete: boolean;
}

/** Null where it is not known, or does not apply. */
export interface RunAttempt {
  /** `call`: the request of a step that the service makes; `callback`: the failure was told. */
  readonly kind: 'workflow' | 'step' | 'call' | 'message' | 'callback';
  readonly stepId: number | null;
  readonly stepName: string | null;
  readonly messageId: string;
  /** Failed attempts of this message before this one. */
  readonly retried: number;
  readonly startedAt: number | null;
  /** When it failed, or its result was recorded. */
  readonly at: number;
  readonly durationMs: number | null;
  readonly outcome: 'failed' | 'succeeded';
  readonly cause: FailedAttempt['cause'] | null;
  /** What went wrong, in words. */
  readonly message: string | null;
  readonly request: {
    readonly method: string;
    readonly url: string;
    /** The value of one that may be a secret is not kept. */
    readonly headers: HeaderMap;
    /** Null where it was not kept. */
    readonly bodyBytes: number | null;
    /** Its beginning; null where it was not kept. */
    readonly body: string | null;
    readonly bodyEncoding: 'utf8' | 'base64';
    /** The body is made again from what is kept: of a step the input of the run and what was recorded before, as JSON. */
    readonly rebuilt: boolean;
  } | null;
  readonly response: {
    readonly status: number | null;
    readonly headers: HeaderMap;
    /** Its beginning; of an attempt that succeeded, that of the result. */
    readonly body: string;
    readonly bodyEncoding: 'utf8' | 'base64';
    /** Of the whole of it. */
    readonly bodyBytes: number;
  } | null;
  /** Null when this was the last. */
  readonly retryAt: number | null;
}

export interface RunAttemptPage {
  /** Absent at the end. */
  readonly cursor?: string;
  /** Oldest first. */
  readonly attempts: readonly RunAttempt[];
}
