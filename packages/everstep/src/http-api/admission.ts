/** Who is let in to an operation: by a token, HTTP Basic, or the session of a user, in the order in which they are sent. */
import type { FastifyRequest } from 'fastify';
import type { InstanceAccess, Outcome, Session } from '../accounts/account-service.js';
import type { Caller } from '../accounts/authority.js';
import { permits, scopesOf, type TokenNeed } from '../accounts/token-scopes.js';
import { LIMITS } from '../config/limits.js';
import type { Region } from '../config/regions.js';
import { ApiError } from '../contract/error-codes.js';
import type { Dialect } from '../dialects/index.js';
import type { SearchCaller } from '../search/search-service.js';
import { allowCall, allowSearchCall } from './allowance.js';
import { authenticate, credentialOf, type Need } from './authentication.js';
import { isBasic, logIn } from './basic-authentication.js';
import { callerIpOf } from './caller-ip.js';
import { unknownRoute } from './error-replies.js';
import type { Admitted, ApiContext, Operation } from './operation.js';
import { regionOf } from './region.js';
import { readPath } from './request-input.js';
import { admitToIndex } from './search/admission.js';
import { secretOf } from './sessions/cookie.js';
import { headerOf, isOfPage, noSession, sessionOf } from './sessions/session-of.js';
import { splitTarget, type Target, takeToken } from './target.js';

/** Names the queue instance that a request of a session is about. */
const QUEUE_HEADER = 'x-everstep-queue';
/** Where a page cannot set headers. */
const QUEUE_PARAMETER = 'everstep-queue';

/** Which operation of a route a request asks for, and in which dialect. */
export interface Chosen {
  readonly operation: Operation;
  readonly dialect: Dialect;
}

/** What was found out about a request before its operation runs. */
export interface Admission {
  readonly operation: Operation;
  readonly admitted: Admitted;
  readonly dialect: Dialect;
  readonly target: Target;
}

export interface AdmissionOptions {
  readonly context: ApiContext;
  readonly defaultRegion: Region;
  readonly isClosing: () => boolean;
  /** Operations that are not there for requests without a session. */
  readonly forSessions: ReadonlySet<Operation>;
  /** Whether users may log in with their API key. */
  readonly takesLogins: boolean;
  /** Whether a token in the query of a URL is taken. */
  readonly queryTokens: boolean;
}

const OPEN: Admitted = Object.freeze({ access: 'open' });

function checkLimits(request: FastifyRequest): void {
  const { rawHeaders, httpVersion } = request.raw;
  if (request.headers.host === undefined && httpVersion === '1.1')
    throw new ApiError('bad-request', 'the Host header is missing, which HTTP/1.1 demands');
  if (rawHeaders.length > 2 * LIMITS.maxHeaderCount) {
    const count = rawHeaders.length / 2;
    throw new ApiError(
      'headers-too-large',
      `more than ${LIMITS.maxHeaderCount} headers are not taken, and this request has ${count}`,
    );
  }
  const { length } = request.originalUrl;
  if (length > LIMITS.maxUrlLength)
    throw new ApiError(
      'url-too-long',
      `the URL must not be longer than ${LIMITS.maxUrlLength} characters, and this has ${length}`,
    );
}

const needOf = ({ method, needsReadWrite, scope, showsPayloads }: Operation): TokenNeed => {
  if (scope) return scope;
  if (method !== 'GET' || needsReadWrite) return 'write';
  return showsPayloads ? 'read' : 'read-metadata';
};

/** What the user's role allows; an id of somebody else and one that does not exist are one answer. */
function allowed<Value extends { readonly access: InstanceAccess['access'] }>(outcome: Outcome<Value>, need: TokenNeed): Value {
  if (outcome.kind !== 'done') {
    const code = outcome.kind === 'not-found' ? 'not-found' : 'forbidden';
    throw new ApiError(code, outcome.message);
  }
  if (!permits(scopesOf(outcome.value.access), need))
    throw new ApiError('forbidden', 'your role in the account may only look; an owner, admin or dev of it may do this');
  return outcome.value;
}

const hasOnlySession = ({ headers }: FastifyRequest): boolean =>
  headers.authorization === undefined && secretOf(headers) !== null;

interface NamedQueue {
  readonly instanceId: string;
  /** Without the parameter that named it. */
  readonly target: Target;
}

function queueOf(request: FastifyRequest, operation: Operation, target: Target): NamedQueue | null {
  const instanceId = headerOf(request, QUEUE_HEADER);
  if (instanceId !== undefined) return { instanceId, target };
  const found = operation.streams ? takeToken(target.query, QUEUE_PARAMETER) : null;
  return found && { instanceId: found.token, target: { path: target.path, query: found.rest } };
}

/** Gives, or rejects with ApiError. Answers at once where nothing has to be read, as for a token that is remembered. */
export function createAdmission({ context, defaultRegion, isClosing, forSessions, takesLogins, queryTokens }: AdmissionOptions) {
  const { accounts, authority, search } = context;

  function refuseWhileStopping(): void {
    if (context.isStopping() || isClosing())
      throw new ApiError('unavailable', 'the service is stopping; try again in a moment', { 'retry-after': '1' });
  }

  function callerBySession({ principal }: Session, { instance, access }: InstanceAccess): Caller {
    const { instanceId, region } = instance;
    const { user, sessionId } = principal;
    const who = { actor: user.email, user: { userId: user.userId, sessionId } };
    return { ...who, instanceId, region, access, scopes: scopesOf(access) };
  }

  async function admitSessionToQueue(request: FastifyRequest, chosen: Chosen, target: Target): Promise<Admission> {
    const { operation } = chosen;
    const session = await sessionOf(request, accounts);
    const named = queueOf(request, operation, target);
    if (!named)
      throw new ApiError('bad-header', `with a session, the header ${QUEUE_HEADER} has to name the queue instance that is meant`);
    const access = allowed(await accounts.accessTo(session.principal, named.instanceId), needOf(operation));
    // Another node may have made the instance.
    await authority.prepare(named.instanceId);
    if (!operation.countsCalls) allowCall(context, named.instanceId);
    return { ...chosen, admitted: { access: 'token', caller: callerBySession(session, access) }, target: named.target };
  }

  function admitToken(request: FastifyRequest, chosen: Chosen): Admission | Promise<Admission> {
    const { operation, dialect } = chosen;
    const whole = splitTarget(request.originalUrl);
    const { authorization, host } = request.headers;
    if (hasOnlySession(request)) {
      const isNamed = queueOf(request, operation, whole) !== null;
      const hasToken = queryTokens && !forSessions.has(operation) && takeToken(whole.query, dialect.tokenParameter) !== null;
      if (isNamed || !hasToken) return admitSessionToQueue(request, chosen, whole);
    }
    const region = regionOf(host, defaultRegion);
    const { token, target } = credentialOf(authorization, whole, dialect, queryTokens);
    const caller = authenticate(authority, token, region, needOf(operation));
    const admit = (verified: Caller): Admission => {
      if (!operation.countsCalls) allowCall(context, verified.instanceId);
      return { ...chosen, admitted: { access: 'token', caller: verified }, target };
    };
    return caller instanceof Promise ? caller.then(admit) : admit(caller);
  }

  function admitAnybody(request: FastifyRequest, chosen: Chosen): Admission | Promise<Admission> {
    const { operation } = chosen;
    const admission: Admission = { ...chosen, admitted: OPEN, target: splitTarget(request.originalUrl) };
    const { headers, host } = request;
    const open = { path: readPath(operation, request.params), callerIp: callerIpOf(request), headers, host };
    const pending = operation.admit?.(open, context);
    return pending instanceof Promise ? pending.then(() => admission) : admission;
  }

  async function admitUser(request: FastifyRequest, chosen: Chosen): Promise<Admission> {
    const { authorization } = request.headers;
    const target = splitTarget(request.originalUrl);
    if (authorization === undefined && (secretOf(request.headers) !== null || isOfPage(request))) {
      const { principal } = await sessionOf(request, accounts);
      return { ...chosen, admitted: { access: 'account', principal }, target };
    }
    const principal = await logIn(accounts, authorization, callerIpOf(request));
    return { ...chosen, admitted: { access: 'account', principal }, target };
  }

  async function admitSession(request: FastifyRequest, chosen: Chosen): Promise<Admission> {
    // Whoever sends a credential of another kind means that one.
    if (request.headers.authorization !== undefined) throw noSession();
    const session = await sessionOf(request, accounts);
    return { ...chosen, admitted: { access: 'session', session }, target: splitTarget(request.originalUrl) };
  }

  async function searchCaller(request: FastifyRequest, indexId: string, need: Need): Promise<SearchCaller> {
    const { authorization } = request.headers;
    const isLogin = takesLogins && isBasic(authorization);
    if (!isLogin && (authorization !== undefined || secretOf(request.headers) === null))
      return admitToIndex(search, { indexId, authorization, need });
    const principal = isLogin
      ? await logIn(accounts, authorization, callerIpOf(request))
      : (await sessionOf(request, accounts)).principal;
    const caller = allowed(await search.accessTo(principal, indexId), need === 'read' ? 'read' : 'write');
    return { ...caller, principal };
  }

  async function admitHolder(request: FastifyRequest, chosen: Chosen): Promise<Admission> {
    const { operation } = chosen;
    const indexId = String(readPath(operation, request.params).indexId ?? '');
    const caller = await searchCaller(request, indexId, operation.needs ?? 'read-write');
    await allowSearchCall(context, caller.indexId);
    return { ...chosen, admitted: { access: 'index', caller }, target: splitTarget(request.originalUrl) };
  }

  return (request: FastifyRequest, chosen: Chosen): Admission | Promise<Admission> => {
    checkLimits(request);
    const { access, whileStopping } = chosen.operation;
    const isForUsers = chosen.operation.access === 'index' && isBasic(request.headers.authorization);
    if (forSessions.has(chosen.operation) && !hasOnlySession(request) && !isForUsers)
      throw unknownRoute(splitTarget(request.originalUrl).path);
    if (access !== 'open' || whileStopping === 'refuse') refuseWhileStopping();
    switch (access) {
      case 'open':
        return admitAnybody(request, chosen);
      case 'token':
        return admitToken(request, chosen);
      case 'account':
        return admitUser(request, chosen);
      case 'session':
        return admitSession(request, chosen);
      case 'index':
        return admitHolder(request, chosen);
    }
  };
}
