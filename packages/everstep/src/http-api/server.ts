/** The operations on Fastify: routes, limits on requests, who is calling, and what becomes of errors. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import Type, { type TObject } from 'typebox';
import type { Caller } from '../accounts/authority.js';
import { LIMITS } from '../config/limits.js';
import type { Region } from '../config/regions.js';
import { ApiError } from '../contract/error-codes.js';
import { DEFAULT_DIALECT, DIALECTS, type Dialect, dialectOf, dialectShown } from '../dialects/index.js';
import { allowCall } from './allowance.js';
import { authenticate, credentialOf, type Need } from './authentication.js';
import { logIn } from './basic-authentication.js';
import { apiErrorOf, clientError, errorReply, JSON_TYPE, replyOnSocket } from './error-replies.js';
import type { Admitted, ApiContext, Operation, OperationInput, RequestContext } from './operation.js';
import { readJson, validate } from './parameters/json-body.js';
import { readPrefixedHeaders } from './parameters/prefixed-headers.js';
import { readQuery, splitQuery } from './parameters/query.js';
import { readValue } from './parameters/read-value.js';
import { shown, Unacceptable } from './parameters/unacceptable.js';
import { regionOf } from './region.js';
import { type OperationRoute, PathTable, routedUrl, routerPath, routesOf } from './routing.js';
import { admitToIndex } from './search/admission.js';
import { splitTarget, type Target } from './target.js';

export interface ServerOptions {
  readonly context: ApiContext;
  readonly defaultRegion: Region;
  /** Addresses and CIDRs of proxies that are believed when they say who calls. */
  readonly trustedProxies: readonly string[];
  /** What is served; a path belongs to one operation for each method. */
  readonly operations: readonly Operation[];
  /** Told of each route that comes into being, whoever makes it. */
  readonly onRoute?: (route: Route) => void;
}

/** As the router has it. */
export interface Route {
  readonly method: string;
  /** Its parameters begin with a colon. */
  readonly path: string;
}

/** Which operation of a route a request asks for, and in which dialect. */
interface Chosen {
  readonly operation: Operation;
  readonly dialect: Dialect;
}

/** What was found out about a request before its operation runs. */
interface Admission {
  readonly operation: Operation;
  readonly admitted: Admitted;
  readonly dialect: Dialect;
  readonly target: Target;
}

const NO_QUERY: Readonly<Record<string, never>> = Object.freeze({});
const NO_BODY = Buffer.alloc(0);
const NO_PARAMETERS = Type.Object({});
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

/**
 * Whoever connects, or, behind proxies that are trusted, the last one whom they name and who is none of them. Without the
 * form that maps IPv4 into IPv6: one address has one name.
 */
function callerIpOf({ ip, socket }: FastifyRequest): string {
  const address = isIP(ip) ? ip : (socket.remoteAddress ?? '');
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Whether an error on a connection may be answered there: not in the midst of another answer, nor behind the own one. */
function mayAnswer(latest: Exchange | undefined): boolean {
  if (!latest) return true;
  const { request, response } = latest;
  return request.complete ? response.writableFinished : !response.headersSent;
}

/** Requests that wait for something: they are let go when their client is gone, and all of them when the server closes. */
class WaitingRequests {
  private readonly waiting = new Set<AbortController>();
  private closed = false;

  signalOf(reply: FastifyReply): AbortSignal {
    const controller = new AbortController();
    this.waiting.add(controller);
    reply.raw.once('close', () => {
      this.waiting.delete(controller);
      // After its answer nobody listens any more, and an abort makes an error object with a stack.
      if (!reply.raw.writableFinished) controller.abort();
    });
    if (this.closed || reply.raw.destroyed) controller.abort();
    return controller.signal;
  }

  close(): void {
    this.closed = true;
    for (const controller of this.waiting) controller.abort();
  }
}

function choose({ operations }: OperationRoute, request: FastifyRequest): Chosen {
  const shows = dialectShown({ headers: request.headers, query: splitTarget(request.originalUrl).query });
  const spoken = shows ?? DEFAULT_DIALECT;
  const [only] = operations;
  const own = operations.find(({ dialect }) => dialect === spoken.name) ?? operations.find(({ dialect }) => !dialect);
  const operation = own ?? only;
  if (!operation) throw new Error('a route has no operation');
  return { operation, dialect: operation.dialect ? DIALECTS[operation.dialect] : spoken };
}

const needOf = ({ method, needsReadWrite }: Operation): Need => (method === 'GET' && !needsReadWrite ? 'read' : 'read-write');

/** The most that any operation of the route takes; null: as much as all others. */
function bodyLimitOf({ operations }: OperationRoute): number | null {
  const most = operations.map(({ body }) => (body?.kind === 'bytes' ? body.maxBytes : undefined) ?? LIMITS.maxBodyBytes);
  const limit = Math.max(...most);
  return limit === LIMITS.maxBodyBytes ? null : limit;
}

function readPath(schema: TObject | undefined, given: unknown, isUrl: boolean): Readonly<Record<string, unknown>> {
  if (!schema || isUrl) return {};
  const texts = new Map(Object.entries(typeof given === 'object' && given !== null ? given : {}));
  const read: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(schema.properties)) {
    const text = String(texts.get(name) ?? '');
    try {
      read[name] = readValue(property, text);
    } catch (error) {
      if (!(error instanceof Unacceptable)) throw error;
      // A part of a path cannot be left out, as other parameters can.
      const why = text === '' ? 'is missing in the path' : error.message;
      throw new ApiError(error.code ?? 'bad-parameter', `${name} ${why}`);
    }
  }
  return read;
}

function readBody({ body: spec }: Operation, body: unknown, contentType: string | undefined): unknown {
  const bytes = Buffer.isBuffer(body) ? body : NO_BODY;
  if (spec?.kind !== 'json') return bytes;
  const value = readJson(bytes, contentType);
  if (value !== undefined) return validate(spec.schema, value, 'the body');
  if (spec.required) throw new ApiError('bad-body', 'a JSON body is missing');
  return undefined;
}

function readQueryOf({ query, unknownQuery }: Operation, context: RequestContext): Readonly<Record<string, unknown>> {
  if (unknownQuery === 'part-of-path' || (!query && unknownQuery === 'ignore')) return NO_QUERY;
  // A token beside the header was not taken out, and it may not be mistaken for a filter.
  const rules = { unknown: unknownQuery, besides: [context.dialect.tokenParameter] };
  return { ...readQuery(query ?? NO_PARAMETERS, splitQuery(context.target.query), rules) };
}

function readInput(operation: Operation, request: FastifyRequest, context: RequestContext): OperationInput {
  const { headers, headerFamilies, unknownQuery } = operation;
  const families = headerFamilies ? Object.keys(headerFamilies) : [];
  const read = headers ? readPrefixedHeaders(headers, families, context.headers, context.dialect) : null;
  return {
    path: readPath(operation.pathParameters, request.params, unknownQuery === 'part-of-path'),
    query: readQueryOf(operation, context),
    headers: read?.values ?? {},
    carried: read?.families ?? {},
    body: readBody(operation, request.body, request.headers['content-type']),
    request: context,
  };
}

export function createServer({ context, defaultRegion, trustedProxies, operations, onRoute }: ServerOptions): FastifyInstance {
  const { log, authority } = context;
  const paths = new PathTable(operations);
  const latest = new WeakMap<object, Exchange>();
  const app = Fastify({
    logger: false,
    ...(trustedProxies.length > 0 ? { trustProxy: [...trustedProxies] } : {}),
    bodyLimit: LIMITS.maxBodyBytes,
    requestTimeout: LIMITS.requestTimeoutMs,
    return503OnClosing: false,
    rewriteUrl: (request) => routedUrl(request.method ?? 'GET', request.url ?? '/'),
    routerOptions: { maxParamLength: LIMITS.maxUrlLength, querystringParser: () => NO_QUERY },
    // Without a host Node would answer in a form of its own; it is refused below.
    http: { maxHeaderSize: LIMITS.maxHeaderBytes, requireHostHeader: false },
    clientErrorHandler: (error, socket) => {
      if (error.code === 'ECONNRESET' || socket.destroyed) return;
      if (!socket.writable) socket.destroy();
      else if (mayAnswer(latest.get(socket))) replyOnSocket(socket, clientError(error.code), DEFAULT_DIALECT);
      else socket.end();
    },
    frameworkErrors: (error, request, reply) => sendError(error, request, reply),
  });
  // Node leaves out headers beyond a count without a word; all are counted here instead, and their bytes are bounded.
  app.server.maxHeadersCount = 0;
  app.server.on('request', (request, response) => latest.set(request.socket, { request, response }));
  app.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) onRoute?.({ method: each, path: url });
  });
  const chosen = new WeakMap<FastifyRequest, Chosen>();
  const admissions = new WeakMap<FastifyRequest, Admission>();
  const waiting = new WaitingRequests();
  let closing = false;
  app.addHook('preClose', (done) => {
    closing = true;
    waiting.close();
    done();
  });

  /** A connection that stays open would hold up the close. */
  function endConnection(reply: FastifyReply): void {
    if (closing || context.isStopping()) reply.header('connection', 'close');
  }

  function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const { method, routeOptions } = request;
    const maxBodyBytes = routeOptions.bodyLimit ?? LIMITS.maxBodyBytes;
    const api = apiErrorOf(error, log, { method, route: routeOptions.url, maxBodyBytes, whole: request.raw.complete });
    const { status, headers, body } = errorReply(
      api,
      admissions.get(request)?.dialect ?? chosen.get(request)?.dialect ?? dialectOf({ headers: request.headers }),
    );
    endConnection(reply);
    reply.code(status).headers(headers).send(body);
  }

  app.setErrorHandler((error, request, reply) => sendError(error, request, reply));
  app.setNotFoundHandler((request, reply) => {
    const { path } = splitTarget(request.originalUrl);
    const methods = paths.methodsAt(path);
    if (methods.length === 0) {
      sendError(new ApiError('unknown-route', `there is no operation at ${shown(path)}; see /openapi.json`), request, reply);
      return;
    }
    const allow = methods.join(', ');
    const message = `${shown(path)} does not take ${request.method}; it takes ${allow}`;
    sendError(new ApiError('method-not-allowed', message, { allow }), request, reply);
  });

  app.removeAllContentTypeParsers();
  // Bodies are read as bytes; an operation that takes JSON reads it from them.
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

  function refuseWhileStopping(): void {
    if (context.isStopping() || closing)
      throw new ApiError('unavailable', 'the service is stopping; try again in a moment', { 'retry-after': '1' });
  }

  function admitOpen(request: FastifyRequest, { operation, dialect }: Chosen): undefined {
    checkLimits(request);
    if (operation.whileStopping === 'refuse') refuseWhileStopping();
    admissions.set(request, { operation, admitted: OPEN, dialect, target: splitTarget(request.originalUrl) });
  }

  /** At once where the token is remembered. */
  function admitCaller(request: FastifyRequest, { operation, dialect }: Chosen): undefined | Promise<void> {
    checkLimits(request);
    refuseWhileStopping();
    const region = regionOf(request.headers.host, defaultRegion);
    const { token, target } = credentialOf(request.headers.authorization, splitTarget(request.originalUrl), dialect);
    const caller = authenticate(authority, token, region, needOf(operation));
    const admit = (verified: Caller): undefined => {
      admissions.set(request, { operation, admitted: { access: 'token', caller: verified }, dialect, target });
      if (!operation.countsCalls) allowCall(context, verified.instanceId);
    };
    return caller instanceof Promise ? caller.then(admit) : admit(caller);
  }

  async function admitUser(request: FastifyRequest, { operation, dialect }: Chosen): Promise<void> {
    checkLimits(request);
    refuseWhileStopping();
    const principal = await logIn(context.accounts, request.headers.authorization, callerIpOf(request));
    const target = splitTarget(request.originalUrl);
    admissions.set(request, { operation, admitted: { access: 'account', principal }, dialect, target });
  }

  async function admitHolder(request: FastifyRequest, { operation, dialect }: Chosen): Promise<void> {
    checkLimits(request);
    refuseWhileStopping();
    const indexId = String(readPath(operation.pathParameters, request.params, false).indexId ?? '');
    const { authorization } = request.headers;
    const caller = await admitToIndex(context.search, { indexId, authorization, need: operation.needs ?? 'read-write' });
    const target = splitTarget(request.originalUrl);
    admissions.set(request, { operation, admitted: { access: 'index', caller }, dialect, target });
  }

  const ADMISSION = { open: admitOpen, token: admitCaller, account: admitUser, index: admitHolder } as const;

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const admission = admissions.get(request);
    if (!admission) throw new Error('a request was not admitted');
    const { operation } = admission;
    const input = readInput(operation, request, {
      dialect: admission.dialect,
      callerIp: callerIpOf(request),
      headers: request.headers,
      target: admission.target,
      signal: () => waiting.signalOf(reply),
    });
    const { status, body } = await operation.run(input, context, admission.admitted);
    endConnection(reply);
    if (body === undefined) return reply.code(status).send();
    return reply.code(status).header('content-type', JSON_TYPE).send(JSON.stringify(body));
  }

  for (const route of routesOf(operations)) {
    app.route({
      method: route.method,
      url: routerPath(route.path),
      ...(bodyLimitOf(route) === null ? {} : { bodyLimit: bodyLimitOf(route) ?? LIMITS.maxBodyBytes }),
      ...(route.operations.some(({ head }) => head === false) ? { exposeHeadRoute: false } : {}),
      onRequest: (request, _reply, done) => {
        try {
          const choice = choose(route, request);
          chosen.set(request, choice);
          const admitted = ADMISSION[choice.operation.access](request, choice);
          if (admitted) admitted.then(() => done(), done);
          else done();
        } catch (error) {
          done(error instanceof Error ? error : new Error(String(error)));
        }
      },
      // The route and not the URL: a workflow URL or a token in it is nobody's business.
      onResponse: (request, reply, done) => {
        const ms = Math.round(reply.elapsedTime);
        log.debug({ method: request.method, route: route.path, status: reply.statusCode, ms }, 'request');
        done();
      },
      handler: handle,
    });
  }
  return app;
}
