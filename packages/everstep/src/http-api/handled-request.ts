/** A request as handlers and the audit log see it, its caller, and its response. */
import type { Principal, Session } from '../accounts/account-service.js';
import type { Caller } from '../accounts/tokens/caller.js';
import type { Dialect } from '../dialects/index.js';
import type { SearchCaller } from '../search/search-service.js';
import type { Reserve } from './admission/read-budget.js';
import type { ReceivedHeaders } from './parameters/prefixed-headers.js';

/** Data of a request that is known before its operation reads it. */
export interface RequestContext {
  readonly dialect: Dialect;
  readonly callerIp: string;
  /** Headers with lowercase names, without the session secret. */
  readonly headers: ReceivedHeaders;
  /** Whether the client uses https, according to the public URL, this connection or a trusted proxy. */
  readonly isHttps: boolean;
  /** Host and port that the client uses. */
  readonly host: string;
  /** Raw path and query, without the token parameter. */
  readonly target: { readonly path: string; readonly query: string };
  /** Aborts when the client disconnects or the server closes. */
  signal(): AbortSignal;
  /** Reserves memory before a large response is built. Rejects with ApiError `unavailable` when there is none left. */
  readonly reserve: Reserve;
  /** Whether the client would still be admitted. A long request can outlive a token, a session or a role. */
  isStillAdmitted(): Promise<boolean>;
}

/** Admitted caller of an operation, by kind of access. */
export type AdmittedCaller =
  | { readonly access: 'open' }
  | { readonly access: 'token'; readonly caller: Caller }
  | { readonly access: 'account'; readonly principal: Principal }
  | { readonly access: 'session'; readonly session: Session }
  | { readonly access: 'index'; readonly caller: SearchCaller };

/** A validated request. */
export interface OperationInput {
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  readonly headersByFamily: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly request: RequestContext;
}

export type ResponseHeaders = Readonly<Record<string, string>>;

/** The response of an operation. */
export interface OperationResponse {
  readonly status: number;
  /** Sent as JSON, unless it is a `RawBody`. A `StreamedJson` is sent in parts. */
  readonly body: unknown;
  readonly headers?: ResponseHeaders;
}
