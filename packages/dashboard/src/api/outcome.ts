/** Result of an API call: a value, or a failure that can be shown to the user. */

export interface Failure {
  /**
   * Error code of the server (docs/errors.md); `unreachable` without a response, `unreadable` if the response was not JSON,
   * `invalid-value` if the request could not be built, `unexpected` after an error in the dashboard.
   */
  readonly code: string;
  /** HTTP status; 0 without a response. */
  readonly status: number;
  /** Message that states what is wrong and what to do. */
  readonly text: string;
  /** How long to wait before a retry, ms; null if the server did not specify it. */
  readonly retryAfterMs: number | null;
}

export type Outcome<Value> = { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly failure: Failure };

/** A failure as an exception, for the queries and mutations of TanStack Query. */
export class ApiFailure extends Error implements Failure {
  override readonly name = 'ApiFailure';
  readonly code: string;
  readonly status: number;
  readonly retryAfterMs: number | null;
  constructor({ code, status, text, retryAfterMs }: Failure) {
    super(text);
    this.code = code;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
  get text(): string {
    return this.message;
  }
}

/** Returns the value of an outcome, or throws an `ApiFailure`. */
export function valueIn<Value>(outcome: Outcome<Value>): Value {
  if (outcome.ok) return outcome.value;
  throw new ApiFailure(outcome.failure);
}

const UNEXPECTED: Failure = {
  code: 'unexpected',
  status: 0,
  text: 'The dashboard could not complete the action because of an unexpected error. Reload the page and try again.',
  retryAfterMs: null,
};

/** Performs an action and returns its outcome; a failure if it throws, so that a dialog never waits forever. */
export async function outcomeOf<Value>(action: () => Promise<Outcome<Value>>): Promise<Outcome<Value>> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof ApiFailure) return { ok: false, failure: error };
    console.error(error);
    return { ok: false, failure: UNEXPECTED };
  }
}
