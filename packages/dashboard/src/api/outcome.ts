/** Result of an API call: a value, or a failure that can be shown to the user. */

export interface Failure {
  /** Error code of the server (docs/errors.md); `unreachable` without a response, `unreadable` if the response was not JSON. */
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
