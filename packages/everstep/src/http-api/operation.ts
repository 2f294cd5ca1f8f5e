/**
 * Declaration of an operation. The route, the validation of requests, the types of the handler and the OpenAPI document are
 * derived from it.
 */
import type { Static, StaticDecode, TObject, TSchema, TUnsafe } from 'typebox';
import type { AccountService, Principal, Session } from '../accounts/account-service.js';
import type { Limits } from '../accounts/plans/limits.js';
import type { Authority } from '../accounts/tokens/authority.js';
import type { Caller } from '../accounts/tokens/caller.js';
import type { LoginLinks } from '../accounts/users/login-links.js';
import { LIMITS } from '../config/limits.js';
import type { LogLevel } from '../config/log-levels.js';
import type { ErrorCode } from '../contract/error-codes.js';
import type { DialectName } from '../engine/runs/run.js';
import type { WorkSlices } from '../fairness/work-slices.js';
import type { NodeStatus } from '../ports/cluster.js';
import type { Log } from '../ports/log.js';
import type { MailRecipients } from '../ports/mail-recipients.js';
import type { VirtualTime } from '../ports/virtual-time.js';
import type { WorkerDirectory } from '../ports/workers.js';
import type { WorkflowService } from '../runtime/services/workflow-service.js';
import type { SearchService } from '../search/search-service.js';
import type { SignIn } from '../sign-in/sign-in.js';
import type { SearchAccess } from './admission/authentication.js';
import type { AuditRule } from './audited/audit-rule.js';
import type { AdmittedCaller, OperationInput, OperationResponse, RequestContext, ResponseHeaders } from './handled-request.js';
import type { ReceivedHeaders } from './parameters/prefixed-headers.js';
import type { Reads } from './read-models/reads.js';
import type { CursorSeal } from './requests/cursor.js';
import type { RawBody } from './requests/raw-body.js';
import type { HeldRequests } from './server/held-requests.js';

export type * from './handled-request.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Checks before a run is accepted whether the instance may call its URL. */
export interface DestinationPolicy {
  check(url: string, instanceId: string): { readonly ok: true } | { readonly ok: false; readonly message: string };
}

/** The metrics of the process. */
export interface MetricsEndpoint {
  readonly token: string;
  page(accept: string | undefined): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** The level of the log, which can change while the server runs. */
export interface LogLevelSetting {
  readonly level: LogLevel;
  readonly configured: LogLevel;
  /** Changes the level. `changedBy` is the user who changes it. */
  set(level: LogLevel, changedBy: string): void;
}

/** Dependencies that all operations share. */
export interface ApiContext {
  readonly service: WorkflowService;
  /** Data that handlers read from the store. */
  readonly reads: Reads;
  readonly authority: Authority;
  readonly accounts: AccountService;
  readonly search: SearchService;
  /** Null when users log in with API keys only. */
  readonly signIn: SignIn | null;
  /** Null when this process does not offer login links. */
  readonly loginLinks: Pick<LoginLinks, 'use'> | null;
  /** Plans and budgets; null when nothing is limited. */
  readonly limits: Limits | null;
  readonly log: Log;
  readonly version: string;
  readonly cursors: CursorSeal;
  readonly liveStreams: HeldRequests;
  /** Requests that wait for the end of a run. */
  readonly resultWaits: HeldRequests;
  /** Schedules CPU-intensive work of requests. */
  readonly slices: Pick<WorkSlices, 'run'>;
  readonly nodes: () => Promise<readonly NodeStatus[]>;
  /** Id of this node; constant when it is the only one. */
  readonly nodeId: () => string;
  readonly logLevel: LogLevelSetting;
  readonly workers: WorkerDirectory;
  /** Base URL of the runtime API for apps, without a slash at the end. */
  readonly publicUrl: () => string;
  readonly isStarting: () => boolean;
  readonly isStopping: () => boolean;
  readonly hasLease: () => boolean;
  /** Returns why the store rejects writes, or null while it accepts them. */
  readonly storeRefusal: () => string | null;
  readonly destinationPolicy: DestinationPolicy | null;
  /** Decides who may receive email; null when there is no SMTP server. */
  readonly mailRecipients: MailRecipients | null;
  /** Null when the clock is real. */
  readonly virtualTime: VirtualTime | null;
  /** Metrics and their token; null when they are not served here. */
  readonly metrics: MetricsEndpoint | null;
  readonly openApi: () => RawBody;
  readonly managementOpenApi: () => RawBody;
}

type ParametersOf<Schema> = Schema extends TObject ? StaticDecode<Schema> : Record<string, never>;
type BodyOf<Body> = Body extends { readonly kind: 'json'; readonly schema: infer Schema extends TSchema }
  ? Static<Schema> | undefined
  : Buffer;

export interface Input<Path, Query, Headers, Body> {
  readonly path: ParametersOf<Path>;
  readonly query: ParametersOf<Query>;
  readonly headers: ParametersOf<Headers>;
  /** The JSON value, or undefined if there was no body. For operations that accept any content, the bytes. */
  readonly body: BodyOf<Body>;
  /** Headers of each family, such as `Forward-*`, with lowercase names without the prefix of the family. */
  readonly headersByFamily: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly request: RequestContext;
}

/** Request body of an operation. `maxBytes` overrides the limit of the kind; see `maxBodyBytesOf`. */
export type BodySpec =
  | { readonly kind: 'bytes'; readonly description: string; readonly maxBytes?: number }
  | { readonly kind: 'json'; readonly schema: TSchema; readonly required: boolean; readonly maxBytes?: number };

export type ResponseOf<Responses> = {
  readonly [Status in keyof Responses]: Responses[Status] extends TSchema
    ? { readonly status: Status; readonly body: Static<Responses[Status]>; readonly headers?: ResponseHeaders }
    : never;
}[keyof Responses];

/** Returns a response. The type of the status is literal, so that the body is checked against the schema of that status. */
export const respond = <const Status extends number, Body>(status: Status, body: Body, headers: ResponseHeaders = {}) => ({
  status,
  body,
  headers,
});

interface OperationDescription {
  /** Id of the operation. It is unique and stable, because clients are generated from it. */
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly method: Method;
  /** Path in OpenAPI notation, with parameters in braces. */
  readonly path: string;
  /**
   * Restricts the operation to requests of this dialect. If another operation has the same path, the dialect of the request
   * selects one; otherwise the path implies the dialect.
   */
  readonly dialect?: DialectName;
  /**
   * Query parameters that only clients of the dialect of the operation send to its path. A request with one of them has this
   * dialect, unless a header or its token identifies another one.
   */
  readonly ownParameters?: readonly string[];
  /** Other paths of the same operation. */
  readonly otherPaths?: readonly string[];
  /** How unknown query parameters are handled. `part-of-path`: the query is part of the path. */
  readonly unknownQuery: 'ignore' | 'refuse' | 'part-of-path';
  /** Names of the families without the prefix of the dialect, with their descriptions. */
  readonly headerFamilies?: Readonly<Record<string, string>>;
  /** Error codes in addition to those of all operations. */
  readonly errors: readonly ErrorCode[];
  /** Error code of an invalid path parameter, if it is not `bad-parameter`. */
  readonly pathErrorCode?: ErrorCode;
  /** Further headers of responses with status 503, by their names without the prefix of the dialect, as OpenAPI describes them. */
  readonly unavailableHeaders?: Readonly<Record<string, { readonly description: string; readonly schema: object }>>;
  /** False if the path does not support HEAD. By default, HEAD requests are handled like GET requests. */
  readonly head?: false;
  /** The response is a stream of server-sent events. The data of each event has the schema of the response. */
  readonly streams?: true;
  /** The response consists of lines of JSON. Each line has the schema of the response. */
  readonly sendsLines?: true;
  /** Audit rule. Absent only for GET operations that do not show secrets. */
  readonly audit?: AuditRule;
}

/** Operation for callers with a token, or with a session for a queue instance. */
export interface TokenOperation<Path, Query, Headers, Body, Responses> extends OperationDescription {
  readonly access: 'token';
  /** True if an active run can depend on this operation. Admission then does not count the call; its handler counts it. */
  readonly countsCalls?: true;
  /** True if reading requires a read-write token. Otherwise the method decides. */
  readonly needsReadWrite?: true;
  /** Scope that is sufficient for the operation, besides `write`. By default, a scope to read or write is required. */
  readonly scope?: 'trigger' | 'notify';
  /** True if tokens without access to payloads are rejected. */
  readonly showsPayloads?: true;
  readonly pathParameters?: Path;
  readonly query?: Query;
  readonly headers?: Headers;
  readonly body?: Body;
  readonly responses: Responses;
  handle(
    input: Input<Path, Query, Headers, Body>,
    context: ApiContext,
    caller: Caller,
  ): Promise<ResponseOf<Responses>> | ResponseOf<Responses>;
}

/**
 * Operation of the management API, with HTTP Basic or a session. `principal` is the user. The server checks the rights of
 * the user.
 */
export interface AccountOperation<Path, Query, Body, Responses> extends OperationDescription {
  readonly access: 'account';
  readonly pathParameters?: Path;
  readonly query?: Query;
  readonly body?: Body;
  readonly responses: Responses;
  handle(
    input: Input<Path, Query, undefined, Body>,
    context: ApiContext,
    principal: Principal,
  ): Promise<ResponseOf<Responses>> | ResponseOf<Responses>;
}

/** Operation on the session that authenticates the request. */
export interface SessionOperation<Responses> extends OperationDescription {
  readonly access: 'session';
  readonly responses: Responses;
  handle(
    input: Input<undefined, undefined, undefined, undefined>,
    context: ApiContext,
    session: Session,
  ): Promise<ResponseOf<Responses>> | ResponseOf<Responses>;
}

/** Operation of the search API. The path contains the id of the index; the token belongs to the index. */
export interface IndexOperation<Path, Query, Body, Responses> extends OperationDescription {
  readonly access: 'index';
  /** Required access. It does not follow from the method, because most of these operations are POST requests. */
  readonly requiredAccess: SearchAccess;
  readonly pathParameters: Path;
  readonly query?: Query;
  readonly body?: Body;
  readonly responses: Responses;
  handle(input: Input<Path, Query, undefined, Body>, context: ApiContext): Promise<ResponseOf<Responses>> | ResponseOf<Responses>;
}

/** Data of an unauthenticated request that is available before its body is read. */
export interface OpenRequest {
  readonly path: Readonly<Record<string, unknown>>;
  readonly callerIp: string;
  readonly headers: ReceivedHeaders;
  readonly host: string;
}

/** Operation that requires no authentication. */
export interface OpenOperation<Path, Body, Responses> extends OperationDescription {
  readonly access: 'open';
  /** Admits a request. Rejects with ApiError before the body is read. */
  readonly admit?: (request: OpenRequest, context: ApiContext) => Promise<void> | void;
  /** `refuse`: the operation starts work, which is not possible while the server stops. */
  readonly whileStopping: 'respond' | 'refuse';
  readonly pathParameters?: Path;
  readonly body?: Body;
  readonly responses: Responses;
  handle(
    input: Input<Path, undefined, undefined, Body>,
    context: ApiContext,
  ): Promise<ResponseOf<Responses>> | ResponseOf<Responses>;
}

/** Any operation, as the server and the OpenAPI document use it. */
export interface Operation extends OperationDescription {
  readonly access: AdmittedCaller['access'];
  readonly countsCalls?: true;
  readonly needsReadWrite?: true;
  readonly scope?: 'trigger' | 'notify';
  readonly showsPayloads?: true;
  /** Required access of a search index token. */
  readonly requiredAccess?: SearchAccess;
  readonly whileStopping: 'respond' | 'refuse';
  readonly admit?: (request: OpenRequest, context: ApiContext) => Promise<void> | void;
  readonly pathParameters?: TObject;
  readonly query?: TObject;
  readonly headers?: TObject;
  readonly body?: BodySpec;
  readonly responses: Readonly<Record<number, TSchema>>;
  /** Runs the operation. Throws when the caller was not admitted as `access` requires. */
  run(input: OperationInput, context: ApiContext, admitted: AdmittedCaller): Promise<OperationResponse> | OperationResponse;
}

/** A message encoded as JSON can be up to this many times larger than the message. */
const JSON_FACTOR = 2;

/**
 * Returns the maximum size of a request body in bytes. An operation without a body ignores a short body. If a plan limits
 * messages to `maxMessageBytes`, requests with several messages are limited in the same proportion.
 */
export function maxBodyBytesOf(
  { access, body }: Pick<Operation, 'access' | 'body'>,
  maxMessageBytes: number = LIMITS.maxBodyBytes,
) {
  if (!body) return LIMITS.maxIgnoredBodyBytes;
  const { kind, maxBytes } = body;
  if (maxBytes === undefined) {
    if (kind === 'bytes') return Math.min(LIMITS.maxBodyBytes, maxMessageBytes);
    return access === 'token' || access === 'index' ? LIMITS.maxJsonBodyBytes : LIMITS.maxAccountBodyBytes;
  }
  const proportionalBytes = Math.ceil((maxBytes * maxMessageBytes) / LIMITS.maxBodyBytes) * (kind === 'json' ? JSON_FACTOR : 1);
  return Math.min(maxBytes, Math.max(LIMITS.maxJsonBodyBytes, proportionalBytes));
}

type Responses = Readonly<Record<number, TSchema>>;

/** Returns the response schema of an operation that sends lines of JSON, from the schema of a line. */
export const linesOf = (line: TSchema): TUnsafe<RawBody> =>
  // Each line is checked against the schema; the operation writes the lines.
  line as TUnsafe<RawBody>;

/** Returns the response schema of an operation that streams events, from the schema of their data. */
export const eventsOf = (data: TSchema): TUnsafe<RawBody> =>
  // The data of each event is checked against the schema; the operation creates the events.
  data as TUnsafe<RawBody>;

/** Declares an operation for callers with a token. */
export function operation<
  R extends Responses,
  Path extends TObject | undefined = undefined,
  Query extends TObject | undefined = undefined,
  Headers extends TObject | undefined = undefined,
  Body extends BodySpec | undefined = undefined,
>(declaration: Omit<TokenOperation<Path, Query, Headers, Body, R>, 'access'>): Operation {
  const { handle, pathParameters, query, headers, body, ...rest } = declaration;
  return {
    ...rest,
    access: 'token',
    whileStopping: 'refuse',
    ...(pathParameters ? { pathParameters } : {}),
    ...(query ? { query } : {}),
    ...(headers ? { headers } : {}),
    ...(body ? { body } : {}),
    run: (input, context, admitted) => {
      if (admitted.access !== 'token') throw new Error(`${declaration.operationId} was called without a token`);
      // The input was validated by the schemas, so it has their types.
      return handle.call(declaration, input as Input<Path, Query, Headers, Body>, context, admitted.caller) as OperationResponse;
    },
  };
}

/** Declares an operation of the management API. */
export function accountOperation<
  R extends Responses,
  Path extends TObject | undefined = undefined,
  Query extends TObject | undefined = undefined,
  Body extends BodySpec | undefined = undefined,
>(declaration: Omit<AccountOperation<Path, Query, Body, R>, 'access'>): Operation {
  const { handle, pathParameters, query, body, ...rest } = declaration;
  return {
    ...rest,
    access: 'account',
    whileStopping: 'refuse',
    ...(pathParameters ? { pathParameters } : {}),
    ...(query ? { query } : {}),
    ...(body ? { body } : {}),
    run: (input, context, admitted) => {
      if (admitted.access !== 'account') throw new Error(`${declaration.operationId} was called without a user`);
      // The input was validated by the schemas, so it has their types.
      return handle.call(
        declaration,
        input as Input<Path, Query, undefined, Body>,
        context,
        admitted.principal,
      ) as OperationResponse;
    },
  };
}

/** Declares an operation on the session that makes the request. */
export function sessionOperation<R extends Responses>(declaration: Omit<SessionOperation<R>, 'access'>): Operation {
  const { handle, ...rest } = declaration;
  return {
    ...rest,
    access: 'session',
    whileStopping: 'refuse',
    run: (input, context, admitted) => {
      if (admitted.access !== 'session') throw new Error(`${declaration.operationId} was called without a session`);
      const sessionInput = input as Input<undefined, undefined, undefined, undefined>;
      return handle.call(declaration, sessionInput, context, admitted.session) as OperationResponse;
    },
  };
}

/** Declares an operation of the search API. Its path parameter `indexId` is the id of the index. */
export function indexOperation<
  R extends Responses,
  Path extends TObject,
  Query extends TObject | undefined = undefined,
  Body extends BodySpec | undefined = undefined,
>(declaration: Omit<IndexOperation<Path, Query, Body, R>, 'access'>): Operation {
  const { handle, pathParameters, query, body, ...rest } = declaration;
  return {
    ...rest,
    access: 'index',
    whileStopping: 'refuse',
    pathParameters,
    ...(query ? { query } : {}),
    ...(body ? { body } : {}),
    run: (input, context, admitted) => {
      if (admitted.access !== 'index' || admitted.caller.indexId !== input.path.indexId)
        throw new Error(`${declaration.operationId} was called without a token for its index`);
      // The input was validated by the schemas, so it has their types.
      return handle.call(declaration, input as Input<Path, Query, undefined, Body>, context) as OperationResponse;
    },
  };
}

/** Declares an operation that requires no authentication. */
export function openOperation<
  R extends Responses,
  Path extends TObject | undefined = undefined,
  Body extends BodySpec | undefined = undefined,
>(declaration: Omit<OpenOperation<Path, Body, R>, 'access'>): Operation {
  const { handle, pathParameters, body, ...rest } = declaration;
  return {
    ...rest,
    access: 'open',
    ...(pathParameters ? { pathParameters } : {}),
    ...(body ? { body } : {}),
    // The input was validated by the schemas, so it has their types.
    run: (input, context) =>
      handle.call(declaration, input as Input<Path, undefined, undefined, Body>, context) as OperationResponse,
  };
}
