/** What an answer of the API is to the pages: a value, or a failure that can be shown. */

export interface Failure {
  /** Stable code of the service (docs/errors.md); `unreachable` when there was no answer, `unreadable` when it was no JSON. */
  readonly code: string;
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** What was wrong and what to do, in words. */
  readonly text: string;
  /** How long to wait before trying again, ms; null when the service did not say. */
  readonly retryAfterMs: number | null;
}

export type Outcome<Value> = { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly failure: Failure };

/** A failure where a library wants an exception: queries and mutations of TanStack Query. */
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

/** The value. Throws an `ApiFailure` otherwise. */
export function valueIn<Value>(outcome: Outcome<Value>): Value {
  if (outcome.ok) return outcome.value;
  throw new ApiFailure(outcome.failure);
}
