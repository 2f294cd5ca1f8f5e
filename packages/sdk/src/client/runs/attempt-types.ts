/** Responses about run search and the attempts of a run. Times are Unix milliseconds. */
import type { FailedAttempt, HeaderMap, RunFields } from '../types.js';

/** A run as the log shows it, without its steps and its result. */
export interface FoundRun extends Omit<RunFields, 'invokedRuns' | 'failureFunctionInfo'> {
  readonly workflowRunError?: string;
}

/** One page of a search over runs. */
export interface RunSearchPage {
  /** Cursor to continue the search; absent if all runs were searched. */
  readonly cursor?: string;
  /** Newest first. Can be empty although there are more runs to search. */
  readonly runs: readonly FoundRun[];
  /** Creation time of the oldest run searched; null if there was none. */
  readonly searchedUntil: number | null;
  /** Whether there are no more runs to search. */
  readonly complete: boolean;
}

/** One attempt of a run. Fields are null if they are unknown or do not apply. */
export interface RunAttempt {
  /** `call`: the request of a step that the service makes; `callback`: a report of the failure. */
  readonly kind: 'workflow' | 'step' | 'call' | 'message' | 'callback';
  readonly stepId: number | null;
  readonly stepName: string | null;
  readonly messageId: string;
  /** Number of failed attempts of this message so far. */
  readonly retried: number;
  readonly startedAt: number | null;
  /** Time at which the attempt failed, or its result was recorded. */
  readonly at: number;
  readonly durationMs: number | null;
  readonly outcome: 'failed' | 'succeeded';
  readonly cause: FailedAttempt['cause'] | null;
  /** Error text. */
  readonly message: string | null;
  readonly request: {
    readonly method: string;
    readonly url: string;
    /** Headers of the request. Values that may be secrets are not stored. */
    readonly headers: HeaderMap;
    /** Null if it was not stored. */
    readonly bodyBytes: number | null;
    /** Start of the body; null if it was not stored. */
    readonly body: string | null;
    readonly bodyEncoding: 'utf8' | 'base64';
    /**
     * True if the body was rebuilt from stored data: for a step, the input of the run and the entries recorded before
     * it, as JSON.
     */
    readonly rebuilt: boolean;
  } | null;
  readonly response: {
    readonly status: number | null;
    readonly headers: HeaderMap;
    /** Start of the body; of a successful attempt, start of the result. */
    readonly body: string;
    readonly bodyEncoding: 'utf8' | 'base64';
    /** Size of the whole body. */
    readonly bodyBytes: number;
  } | null;
  /** Time of the next attempt; null if this was the last one. */
  readonly retryAt: number | null;
}

/** One page of attempts of a run. */
export interface RunAttemptPage {
  /** Absent at the end. */
  readonly cursor?: string;
  /** Oldest first. */
  readonly attempts: readonly RunAttempt[];
}
