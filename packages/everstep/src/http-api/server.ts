/** The operations on Fastify: routes, limits on requests, who is calling, and what becomes of errors. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type FastifyServerFactory } from 'fastify';
import { networkOf } from '../accounts/network-of.js';
import { permits } from '../accounts/token-scopes.js';
import type { ConnectionLimits } from '../config/connection-limits.js';
import { LIMITS } from '../config/limits.js';
import type { Region } from '../config/regions.js';
import { ApiError } from '../contract/error-codes.js';
import { DEFAULT_DIALECT, DIALECTS, dialectOf, dialectShown } from '../dialects/index.js';
import { PeriodicLog } from '../ports/periodic-log.js';
import { type Admission, type Chosen, createAdmission } from './admission.js';
import { callerIpOf } from './caller-ip.js';
import { Connections } from './connections.js';
import { API_HEADERS, apiErrorOf, clientError, errorReply, JSON_TYPE, replyOnSocket, unknownRoute } from './error-replies.js';
import { type Admitted, type ApiContext, maxBodyBytesOf, type Operation } from './operation.js';
import { shown } from './parameters/unacceptable.js';
import { metadataJson, readOnlyJson } from './presenters/read-only.js';
import { RawBody } from './raw-body.js';
import { type ReadBudget, reserveFor } from './read-budget.js';
import { RequestBodies } from './request-bodies.js';
import { NO_BODY, NO_QUERY, readInput } from './request-input.js';
import { createRequestLog, REQUEST_ID_HEADER, requestIdOf } from './request-log.js';
import { type OperationRoute, PathTable, routedUrl, routerPath, routesOf } from './routing.js';
import { withoutSecret } from './sessions/cookie.js';
import { StreamedJson } from './streamed-json.js';
import { splitTarget } from './target.js';
import type { TlsListener } from './tls/tls-listener.js';
import { WaitingRequests } from './waiting-requests.js';

const LIVENESS_PATH = '/health';

/** Of those who are not let in, or not any more. */
const REFUSALS: readonly number[] = [400, 401, 403, 404];

function schemaOfRoute(): never {
  throw new Error('routes have no schemas of the framework: operations read their input themselves');
}

/** What the framework would compile schemas with takes long to load. */
const NO_SCHEMAS = { buildValidator: () => schemaOfRoute, buildSerializer: () => schemaOfRoute };

// Without a host Node would answer in a form of its own; it is refused below.
const HTTP_OPTIONS = { maxHeaderSize: LIMITS.maxHeaderBytes, requireHostHeader: false };

/** What the framework sets for a server of its own is set here. */
const secureServers =
  (tls: TlsListener): FastifyServerFactory =>
  (handler, { keepAliveTimeout, requestTimeout }) => {
    const timeouts = { keepAliveTimeout: Number(keepAliveTimeout), requestTimeout: Number(requestTimeout) };
    return tls.createServer({ ...HTTP_OPTIONS, ...timeouts }, handler);
  };

const STRICT_TRANSPORT = 'max-age=31536000';
/** Browsers apply the header to every port of a host: on localhost that would break other programs. */
const isThisMachine = (hostname: string): boolean => /(?:^|\.)localhost$/i.test(hostname);

export interface ServerOptions {
  readonly context: ApiContext;
  readonly defaultRegion: Region;
  /** Addresses and CIDRs of proxies that are believed when they say who calls. */
  readonly trustedProxies: readonly string[];
  /** Whether the public URL is https: so is every client's, whatever a proxy tells. */
  readonly isPublicHttps: boolean;
  /** Null: plain HTTP. */
  readonly tls: TlsListener | null;
  /** What is served; a path belongs to one operation for each method. */
  readonly operations: readonly Operation[];
  /** Of them, those that are not there for requests without a session. */
  readonly forSessions: readonly Operation[];
  /** Whether users may log in with their API key. */
  readonly takesLogins: boolean;
  /** Whether a token in the query of a URL is taken. */
  readonly queryTokens: boolean;
  /** Whether each request is logged at `info`, with who asked. */
  readonly accessLog: boolean;
  /** Bounds long answers. */
  readonly reads: ReadBudget;
  /** No limit when absent. */
  readonly connectionLimits?: ConnectionLimits;
  readonly bodies?: RequestBodies;
  /** Told of each route that comes into being, whoever makes it. */
  readonly onRoute?: (route: Route) => void;
}

/** As the router has it. */
export interface Route {
  readonly method: string;
  /** Its parameters begin with a colon. */
  readonly path: string;
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

function choose({ operations }: OperationRoute, request: FastifyRequest): Chosen {
  const shows = dialectShown({ headers: request.headers, query: splitTarget(request.originalUrl).query });
  const spoken = shows ?? DEFAULT_DIALECT;
  const [only] = operations;
  const own = operations.find(({ dialect }) => dialect === spoken.name) ?? operations.find(({ dialect }) => !dialect);
  const operation = own ?? only;
  if (!operation) throw new Error('a route has no operation');
  return { operation, dialect: operation.dialect ? DIALECTS[operation.dialect] : spoken };
}

/** Returns whose share a body or a long answer takes. */
function ownerOf(admitted: Admitted, request: FastifyRequest): string {
  switch (admitted.access) {
    case 'open':
      return `address ${networkOf(callerIpOf(request))}`;
    case 'token':
      return `instance ${admitted.caller.instanceId}`;
    case 'account':
      return `user ${admitted.principal.user.userId}`;
    case 'session':
      return `user ${admitted.session.principal.user.userId}`;
    case 'index':
      return `index ${admitted.caller.indexId}`;
  }
}

/** Returns what writes the answer as JSON, without what the caller may not see. */
function jsonFor({ admitted, operation }: Admission): (answered: unknown) => string {
  if (admitted.access !== 'token' || permits(admitted.caller.scopes, 'write')) return (answered) => JSON.stringify(answered);
  // Whoever starts or notifies a run may see what came of it.
  const seesPayloads = operation.scope !== undefined || permits(admitted.caller.scopes, 'read');
  return seesPayloads ? readOnlyJson : metadataJson;
}

/** As the framework decides whether it parses a body. */
const hasBody = ({ method, headers }: FastifyRequest): boolean =>
  method !== 'GET' &&
  method !== 'HEAD' &&
  (headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0');

export function createServer({
  context,
  defaultRegion,
  trustedProxies,
  isPublicHttps,
  tls,
  operations,
  forSessions,
  takesLogins,
  queryTokens,
  accessLog,
  reads,
  connectionLimits,
  bodies = new RequestBodies(),
  onRoute,
}: ServerOptions): FastifyInstance {
  const { log } = context;
  const paths = new PathTable(operations);
  const latest = new WeakMap<object, Exchange>();
  const secured = new WeakSet<object>();
  const app = Fastify({
    logger: false,
    genReqId: requestIdOf,
    ...(trustedProxies.length > 0 ? { trustProxy: [...trustedProxies] } : {}),
    requestTimeout: LIMITS.requestTimeoutMs,
    return503OnClosing: false,
    rewriteUrl: (request) => routedUrl(request.method ?? 'GET', request.url ?? '/', (path) => paths.meant(path)),
    routerOptions: { maxParamLength: LIMITS.maxUrlLength, querystringParser: () => NO_QUERY },
    ...(tls ? { serverFactory: secureServers(tls) } : {}),
    http: HTTP_OPTIONS,
    clientErrorHandler: (error, socket) => {
      if (error.code === 'ECONNRESET' || socket.destroyed) return;
      // A client that does not speak TLS understands no answer.
      if (!socket.writable || (tls && !secured.has(socket))) socket.destroy();
      else if (mayAnswer(latest.get(socket))) replyOnSocket(socket, clientError(error.code), DEFAULT_DIALECT);
      else socket.end();
    },
    schemaController: { compilersFactory: NO_SCHEMAS },
    frameworkErrors: (error, request, reply) => sendError(error, request, reply),
  });
  // Node leaves out headers beyond a count without a word; all are counted here instead, and their bytes are bounded.
  app.server.maxHeadersCount = 0;
  app.server.on('request', (request, response) => latest.set(request.socket, { request, response }));
  const connections = new Connections({ limits: connectionLimits ?? null, trustedProxies });
  app.server.on('connection', (socket: Socket) => connections.add(socket));
  app.server.on('secureConnection', (socket: Socket) => {
    if (closing) socket.destroy();
    secured.add(socket);
    connections.secured(socket);
  });
  if (tls || isPublicHttps) {
    app.addHook('onRequest', (request, reply, done) => {
      if (!isThisMachine(request.hostname)) reply.header('strict-transport-security', STRICT_TRANSPORT);
      done();
    });
  }
  const tooMany = new PeriodicLog(log, 'too many connections, refusing new ones');
  if (connectionLimits) {
    app.server.maxConnections = connectionLimits.accepted;
    app.server.on('drop', () => tooMany.warn({ ...connectionLimits }));
    app.addHook('onRequest', (request, reply, done) => {
      const refusal = connections.refusalOf(request.raw.socket);
      // A busy process is alive: who restarts it makes it worse.
      if (refusal === null || request.routeOptions.url === LIVENESS_PATH) return done();
      tooMany.warn({ ...connectionLimits });
      reply.header('connection', 'close');
      done(new ApiError('unavailable', refusal, { 'retry-after': '1' }));
    });
  }
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
    connections.closeUnused((socket) => latest.has(socket));
    done();
  });

  /** A connection that stays open would hold up the close. */
  function endConnection(reply: FastifyReply): void {
    if (closing || context.isStopping()) reply.header('connection', 'close');
  }

  function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const { id: requestId, method, routeOptions } = request;
    const api = apiErrorOf(error, log, {
      requestId,
      method,
      route: routeOptions.url,
      whole: request.raw.complete,
    });
    const operation = admissions.get(request)?.operation ?? chosen.get(request)?.operation;
    if (operation) context.recording.refused(operation, admissions.get(request)?.admitted, api, callerIpOf(request));
    const { status, headers, body } = errorReply(
      api,
      admissions.get(request)?.dialect ?? chosen.get(request)?.dialect ?? dialectOf({ headers: request.headers }),
    );
    endConnection(reply);
    reply.code(status).headers(headers).header(REQUEST_ID_HEADER, request.id).send(body);
  }

  app.setErrorHandler((error, request, reply) => sendError(error, request, reply));
  app.setNotFoundHandler((request, reply) => {
    const { path } = splitTarget(request.originalUrl);
    const methods = paths.methodsAt(paths.meant(path));
    if (methods.length === 0) {
      sendError(unknownRoute(path), request, reply);
      return;
    }
    const allow = methods.join(', ');
    const message = `${shown(path)} does not take ${request.method}; it takes ${allow}`;
    sendError(new ApiError('method-not-allowed', message, { allow }), request, reply);
  });

  app.removeAllContentTypeParsers();
  // Bodies are collected when their request is admitted; an operation that takes JSON reads it from the bytes.
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));

  const admission = { context, defaultRegion, queryTokens, forSessions: new Set(forSessions), takesLogins };
  const admit = createAdmission({ ...admission, isClosing: () => closing });

  async function isStillLetIn(request: FastifyRequest, { operation, dialect }: Admission): Promise<boolean> {
    try {
      await admit(request, { operation, dialect });
      return true;
    } catch (error) {
      // Whoever asks too often, or while the store does not answer, is let in again in a moment.
      return error instanceof ApiError && !REFUSALS.includes(error.status);
    }
  }

  async function bodyOf(request: FastifyRequest, reply: FastifyReply, admission: Admission): Promise<Buffer> {
    if (!hasBody(request)) return NO_BODY;
    try {
      return await bodies.collect(request, reply, {
        owner: ownerOf(admission.admitted, request),
        maxBytes: maxBodyBytesOf(admission.operation),
      });
    } catch (error) {
      // The client may send the rest of it.
      reply.header('connection', 'close');
      throw error;
    }
  }

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const admission = admissions.get(request);
    if (!admission) throw new Error('a request was not admitted');
    const { operation } = admission;
    const body = await bodyOf(request, reply, admission);
    const owner = ownerOf(admission.admitted, request);
    const input = readInput(operation, request, body, {
      dialect: admission.dialect,
      callerIp: callerIpOf(request),
      headers: withoutSecret(request.headers),
      isHttps: isPublicHttps || tls !== null || request.protocol === 'https',
      host: request.host,
      target: admission.target,
      signal: () => waiting.signalOf(reply),
      reserve: reserveFor(reads, reply, owner, () => waiting.signalOf(reply)),
      isStillLetIn: () => isStillLetIn(request, admission),
    });
    const { admitted } = admission;
    const recorded = { operation, admitted, input };
    const {
      status,
      body: answered,
      headers = {},
    } = await context.recording.run(recorded, () => operation.run(input, context, admitted));
    endConnection(reply);
    reply.headers({ ...API_HEADERS, [REQUEST_ID_HEADER]: request.id, ...headers });
    if (answered === undefined) return reply.code(status).send();
    if (answered instanceof StreamedJson)
      return reply
        .code(status)
        .header('content-type', JSON_TYPE)
        .send(request.method === 'HEAD' ? '' : answered.stream(jsonFor(admission), (work) => context.slices.run(owner, work)));
    if (answered instanceof RawBody)
      return reply.code(status).header('content-type', answered.contentType).send(answered.content);
    return reply.code(status).header('content-type', JSON_TYPE).send(jsonFor(admission)(answered));
  }

  const logRequest = createRequestLog(log, accessLog);
  /** As the document writes them, by how the router does. */
  const shownPaths = new Map(routesOf(operations).map(({ path }) => [routerPath(path), path]));
  app.addHook('onResponse', (request, reply, done) => {
    const route = shownPaths.get(request.routeOptions.url ?? '') ?? null;
    logRequest({ request, reply, route, admitted: admissions.get(request)?.admitted });
    done();
  });

  for (const route of routesOf(operations)) {
    app.route({
      method: route.method,
      url: routerPath(route.path),
      ...(route.operations.some(({ head }) => head === false) ? { exposeHeadRoute: false } : {}),
      onRequest: (request, _reply, done) => {
        try {
          const choice = choose(route, request);
          chosen.set(request, choice);
          const admission = admit(request, choice);
          const letIn = (admitted: Admission) => {
            admissions.set(request, admitted);
            done();
          };
          if (admission instanceof Promise) admission.then(letIn, done);
          else letIn(admission);
        } catch (error) {
          done(error instanceof Error ? error : new Error(String(error)));
        }
      },
      handler: handle,
    });
  }
  return app;
}
