/**
 * Authenticates requests by token, HTTP Basic or session, and checks whether they may use the operation.
 * Keeps invariant 38.
 */
import type { FastifyRequest } from 'fastify';
import type { AccountService, InstanceAccess, Outcome, Session } from '../../accounts/account-service.js';
import type { Caller } from '../../accounts/tokens/caller.js';
import { permits, type RequiredScope, scopesOf } from '../../accounts/tokens/token-scopes.js';
import { LIMITS } from '../../config/limits.js';
import type { Region } from '../../config/regions.js';
import { ApiError } from '../../contract/error-codes.js';
import type { Dialect } from '../../dialects/index.js';
import type { SearchCaller } from '../../search/search-service.js';
import type { AdmittedCaller, ApiContext, Operation } from '../operation.js';
import { readPath } from '../requests/request-input.js';
import { unknownRoute } from '../responses/error-replies.js';
import { admitToIndex } from '../search/admission.js';
import { callerIpOf } from '../server/caller-ip.js';
import { regionOf } from '../server/region.js';
import { splitTarget, type Target, takeToken } from '../server/target.js';
import { secretOf } from '../sessions/cookie.js';
import { headerOf, isFromPage, sessionEndedError, sessionOf } from '../sessions/session-authentication.js';
import { authenticate, credentialOf, type SearchAccess } from './authentication.js';
import { isBasic, logIn } from './basic-authentication.js';
import { allowCall, allowSearchCall } from './plan-limits.js';

/** Header with the queue instance that a session request is for. */
const INSTANCE_HEADER = 'x-everstep-queue';
/** Query parameter that replaces the header for event streams, because pages cannot set headers for them. */
const INSTANCE_PARAMETER = 'everstep-queue';

/** Operation that a request is routed to, with the dialect of the request. */
export interface RoutedOperation {
  readonly operation: Operation;
  readonly dialect: Dialect;
}

/** Result of the admission of a request. */
export interface Admission {
  readonly operation: Operation;
  readonly admitted: AdmittedCaller;
  readonly dialect: Dialect;
  readonly target: Target;
}

export interface AdmissionOptions {
  readonly context: ApiContext;
  readonly defaultRegion: Region;
  readonly isClosing: () => boolean;
  /** Operations that exist only for requests with a session. */
  readonly sessionOnlyOperations: ReadonlySet<Operation>;
  /** Whether users can log in with their API key. */
  readonly acceptsLogins: boolean;
  /** Whether tokens in the query of a URL are accepted. */
  readonly acceptsQueryTokens: boolean;
}

const OPEN_ACCESS: AdmittedCaller = Object.freeze({ access: 'open' });

function checkRequestLimits(request: FastifyRequest): void {
  const { rawHeaders, httpVersion } = request.raw;
  if (request.headers.host === undefined && httpVersion === '1.1')
    throw new ApiError('bad-request', 'the Host header is missing; HTTP/1.1 requires it');
  if (rawHeaders.length > 2 * LIMITS.maxHeaderCount) {
    const count = rawHeaders.length / 2;
    throw new ApiError(
      'headers-too-large',
      `a request must not have more than ${LIMITS.maxHeaderCount} headers; this one has ${count}`,
    );
  }
  const { length } = request.originalUrl;
  if (length > LIMITS.maxUrlLength)
    throw new ApiError(
      'url-too-long',
      `the URL must not be longer than ${LIMITS.maxUrlLength} characters; this one has ${length}`,
    );
}

const requiredScopeOf = ({ method, needsReadWrite, scope, showsPayloads }: Operation): RequiredScope => {
  if (scope) return scope;
  if (method !== 'GET' || needsReadWrite) return 'write';
  return showsPayloads ? 'read' : 'read-metadata';
};

/**
 * Returns the access if the role of the user permits the operation. Otherwise throws ApiError, which is the same for an id of
 * another account and for an id that does not exist.
 */
function requireAccess<Value extends { readonly access: InstanceAccess['access'] }>(
  outcome: Outcome<Value>,
  requiredScope: RequiredScope,
): Value {
  if (outcome.kind !== 'done') {
    const code = outcome.kind === 'not-found' ? 'not-found' : 'forbidden';
    throw new ApiError(code, outcome.message);
  }
  if (!permits(scopesOf(outcome.value.access), requiredScope))
    throw new ApiError(
      'forbidden',
      'your role in this account can only read; a member with the role owner, admin or dev can do this',
    );
  return outcome.value;
}

const hasOnlySession = ({ headers }: FastifyRequest): boolean =>
  headers.authorization === undefined && secretOf(headers) !== null;

/** Queue instance that a request with a session names. */
interface NamedInstance {
  readonly instanceId: string;
  /** The target without the parameter that named the instance. */
  readonly target: Target;
}

function namedInstanceOf(request: FastifyRequest, operation: Operation, target: Target): NamedInstance | null {
  const instanceId = headerOf(request, INSTANCE_HEADER);
  if (instanceId !== undefined) return { instanceId, target };
  const parameter = operation.streams ? takeToken(target.query, INSTANCE_PARAMETER) : null;
  return parameter && { instanceId: parameter.token, target: { path: target.path, query: parameter.remainingQuery } };
}

function callerOf({ principal }: Session, { instance, access }: InstanceAccess): Caller {
  const { instanceId, region } = instance;
  const { user, sessionId } = principal;
  const identity = { actor: user.email, user: { userId: user.userId, sessionId } };
  return { ...identity, instanceId, region, access, scopes: scopesOf(access) };
}

async function admitUser(accounts: AccountService, request: FastifyRequest, route: RoutedOperation): Promise<Admission> {
  const { authorization } = request.headers;
  const target = splitTarget(request.originalUrl);
  if (authorization === undefined && (secretOf(request.headers) !== null || isFromPage(request))) {
    const { principal } = await sessionOf(request, accounts);
    return { ...route, admitted: { access: 'account', principal }, target };
  }
  const principal = await logIn(accounts, authorization, callerIpOf(request));
  return { ...route, admitted: { access: 'account', principal }, target };
}

async function admitSession(accounts: AccountService, request: FastifyRequest, route: RoutedOperation): Promise<Admission> {
  // A request with another kind of credential does not use the session.
  if (request.headers.authorization !== undefined) throw sessionEndedError();
  const session = await sessionOf(request, accounts);
  return { ...route, admitted: { access: 'session', session }, target: splitTarget(request.originalUrl) };
}

/**
 * Returns a function that admits requests. The function returns synchronously if nothing must be read, for example if the token
 * is cached. It throws or rejects with ApiError.
 */
export function createAdmission(options: AdmissionOptions) {
  const { context, defaultRegion, isClosing, sessionOnlyOperations, acceptsLogins, acceptsQueryTokens } = options;
  const { accounts, authority, search } = context;

  async function admitSessionToInstance(request: FastifyRequest, route: RoutedOperation, target: Target): Promise<Admission> {
    const { operation } = route;
    const session = await sessionOf(request, accounts);
    const namedInstance = namedInstanceOf(request, operation, target);
    if (!namedInstance)
      throw new ApiError('bad-header', `a session requires the header ${INSTANCE_HEADER} with the id of a queue instance`);
    const outcome = await accounts.accessTo(session.principal, namedInstance.instanceId);
    const access = requireAccess(outcome, requiredScopeOf(operation));
    // Another node may have created the instance, so this node may not know it yet.
    await authority.prepare(namedInstance.instanceId);
    if (!operation.countsCalls) allowCall(context, namedInstance.instanceId);
    return { ...route, admitted: { access: 'token', caller: callerOf(session, access) }, target: namedInstance.target };
  }

  function admitToken(request: FastifyRequest, route: RoutedOperation): Admission | Promise<Admission> {
    const { operation, dialect } = route;
    const fullTarget = splitTarget(request.originalUrl);
    const { authorization, host } = request.headers;
    if (hasOnlySession(request)) {
      const namesInstance = namedInstanceOf(request, operation, fullTarget) !== null;
      const hasToken =
        acceptsQueryTokens &&
        !sessionOnlyOperations.has(operation) &&
        takeToken(fullTarget.query, dialect.tokenParameter) !== null;
      if (namesInstance || !hasToken) return admitSessionToInstance(request, route, fullTarget);
    }
    const region = regionOf(host, defaultRegion);
    const { token, target } = credentialOf(authorization, fullTarget, dialect, acceptsQueryTokens);
    const caller = authenticate(authority, token, region, requiredScopeOf(operation));
    const admit = (verifiedCaller: Caller): Admission => {
      if (!operation.countsCalls) allowCall(context, verifiedCaller.instanceId);
      return { ...route, admitted: { access: 'token', caller: verifiedCaller }, target };
    };
    return caller instanceof Promise ? caller.then(admit) : admit(caller);
  }

  function admitOpen(request: FastifyRequest, route: RoutedOperation): Admission | Promise<Admission> {
    const { operation } = route;
    const admission: Admission = { ...route, admitted: OPEN_ACCESS, target: splitTarget(request.originalUrl) };
    const { headers, host } = request;
    const openRequest = { path: readPath(operation, request.params), callerIp: callerIpOf(request), headers, host };
    const check = operation.admit?.(openRequest, context);
    return check instanceof Promise ? check.then(() => admission) : admission;
  }

  async function searchCallerOf(request: FastifyRequest, indexId: string, requiredAccess: SearchAccess): Promise<SearchCaller> {
    const { authorization } = request.headers;
    const isLogin = acceptsLogins && isBasic(authorization);
    if (!isLogin && (authorization !== undefined || secretOf(request.headers) === null))
      return admitToIndex(search, { indexId, authorization, requiredAccess });
    const principal = isLogin
      ? await logIn(accounts, authorization, callerIpOf(request))
      : (await sessionOf(request, accounts)).principal;
    const caller = requireAccess(await search.accessTo(principal, indexId), requiredAccess === 'read' ? 'read' : 'write');
    return { ...caller, principal };
  }

  async function admitIndexCaller(request: FastifyRequest, route: RoutedOperation): Promise<Admission> {
    const { operation } = route;
    const indexId = String(readPath(operation, request.params).indexId ?? '');
    const caller = await searchCallerOf(request, indexId, operation.requiredAccess ?? 'read-write');
    await allowSearchCall(context, caller.indexId);
    return { ...route, admitted: { access: 'index', caller }, target: splitTarget(request.originalUrl) };
  }

  return (request: FastifyRequest, route: RoutedOperation): Admission | Promise<Admission> => {
    checkRequestLimits(request);
    const { access, whileStopping } = route.operation;
    const isUserLogin = route.operation.access === 'index' && isBasic(request.headers.authorization);
    if (sessionOnlyOperations.has(route.operation) && !hasOnlySession(request) && !isUserLogin)
      throw unknownRoute(splitTarget(request.originalUrl).path);
    if ((access !== 'open' || whileStopping === 'refuse') && (context.isStopping() || isClosing()))
      throw new ApiError('unavailable', 'the server is stopping; retry later', { 'retry-after': '1' });
    switch (access) {
      case 'open':
        return admitOpen(request, route);
      case 'token':
        return admitToken(request, route);
      case 'account':
        return admitUser(accounts, request, route);
      case 'session':
        return admitSession(accounts, request, route);
      case 'index':
        return admitIndexCaller(request, route);
    }
  };
}
