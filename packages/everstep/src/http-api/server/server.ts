/**
 * The operations on Fastify: routes, limits on requests, who is calling, and what becomes of errors.
 * Keeps invariants 40 and 43.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type FastifyServerFactory } from 'fastify';
import { permits } from '../../accounts/tokens/token-scopes.js';
import { networkOf } from '../../accounts/users/network-of.js';
import type { ConnectionLimits } from '../../config/connection-limits.js';
import { LIMITS } from '../../config/limits.js';
import type { Region } from '../../config/regions.js';
import { ApiError } from '../../contract/error-codes.js';
import { DEFAULT_DIALECT, DIALECTS, dialectOf, dialectShown } from '../../dialects/index.js';
import { PeriodicLog } from '../../ports/periodic-log.js';
import { type Admission, type Chosen, createAdmission } from '../admission/admission.js';
import { type ReadBudget, reserveFor } from '../admission/read-budget.js';
import type { Recording } from '../audited/recording.js';
import { type Admitted, type ApiContext, maxBodyBytesOf, type Operation } from '../operation.js';
import { shown } from '../parameters/unacceptable.js';
import { metadataJson, readOnlyJson } from '../presenters/read-only.js';
import { RawBody } from '../requests/raw-body.js';
import { RequestBodies } from '../requests/request-bodies.js';
import { NO_BODY, NO_QUERY, readInput } from '../requests/request-input.js';
import {
  API_HEADERS,
  apiErrorOf,
  clientError,
  errorReply,
  JSON_TYPE,
  replyOnSocket,
  unknownRoute,
} from '../responses/error-replies.js';
import { StreamedJson } from '../responses/streamed-json.js';
import { withoutSecret } from '../sessions/cookie.js';
import type { TlsListener } from '../tls/tls-listener.js';
import { callerIpOf } from './caller-ip.js';
import { Connections } from './connections.js';
import { createRequestLog, REQUEST_ID_HEADER, requestIdOf } from './request-log.js';
import { type OperationRoute, PathTable, routedUrl, routerPath, routesOf } from './routing.js';
import { splitTarget } from './target.js';
import { WaitingRequests } from './waiting-requests.js';

const LIVENESS_PATH = '/health';

/** Statuses of callers that are not or no longer admitted. */
const REFUSALS: readonly number[] = [400, 401, 403, 404];

function schemaOfRoute(): never {
  throw new Error('routes have no framework schemas: operations read their input themselves');
}

/** Avoids loading the schema compiler of the framework, which is slow. */
const NO_SCHEMAS = { buildValidator: () => schemaOfRoute, buildSerializer: () => schemaOfRoute };

// Node would answer a request without a Host header in its own format; such requests are rejected later.
const HTTP_OPTIONS = { maxHeaderSize: LIMITS.maxHeaderBytes, requireHostHeader: false };

/** Options that the framework sets only on servers that it creates itself. */
const secureServers =
  (tls: TlsListener): FastifyServerFactory =>
  (handler, { keepAliveTimeout, requestTimeout }) => {
    const timeouts = { keepAliveTimeout: Number(keepAliveTimeout), requestTimeout: Number(requestTimeout) };
    return tls.createServer({ ...HTTP_OPTIONS, ...timeouts }, handler);
  };

const STRICT_TRANSPORT = 'max-age=31536000';
/** Browsers apply the header to all ports of a host. On localhost this would break other programs. */
const isThisMachine = (hostname: string): boolean => /(?:^|\.)localhost$/i.test(hostname);

export interface ServerOptions {
  readonly context: ApiContext;
  /** Writes the audit log. */
  readonly recording: Recording;
  readonly defaultRegion: Region;
  /** Addresses and CIDR ranges of proxies whose forwarding headers are trusted. */
  readonly trustedProxies: readonly string[];
  /** Whether the public URL is https. Then clients use https, whatever a proxy reports. */
  readonly isPublicHttps: boolean;
  /** Null for plain HTTP. */
  readonly tls: TlsListener | null;
  /** Operations to serve. Each path and method belongs to one operation. */
  readonly operations: readonly Operation[];
  /** Operations among these that exist only for requests with a session. */
  readonly forSessions: readonly Operation[];
  /** Whether users can log in with their API key. */
  readonly takesLogins: boolean;
  /** Whether tokens in the query of a URL are accepted. */
  readonly queryTokens: boolean;
  /** Whether each request is logged at `info` with its caller. */
  readonly accessLog: boolean;
  /** Limits large responses. */
  readonly reads: ReadBudget;
  /** Absent: no limit. */
  readonly connectionLimits?: ConnectionLimits;
  readonly bodies?: RequestBodies;
  /** Called for each route of the server. */
  readonly onRoute?: (route: Route) => void;
}

/** Route in the format of the router. */
export interface Route {
  readonly method: string;
  /** Path, with parameters that start with a colon. */
  readonly path: string;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * Returns whether an error may be sent on a connection: not in the middle of another response and not after its own
 * response.
 */
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

/** Returns the owner whose share a body or a large response uses. */
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

/** Returns the function that writes the response as JSON without data that the caller may not read. */
function jsonFor({ admitted, operation }: Admission): (answered: unknown) => string {
  if (admitted.access !== 'token' || permits(admitted.caller.scopes, 'write')) return (answered) => JSON.stringify(answered);
  // A caller that may start or notify a run may read its result.
  const seesPayloads = operation.scope !== undefined || permits(admitted.caller.scopes, 'read');
  return seesPayloads ? readOnlyJson : metadataJson;
}

/** Same condition as that of the framework for parsing a body. */
const hasBody = ({ method, headers }: FastifyRequest): boolean =>
  method !== 'GET' &&
  method !== 'HEAD' &&
  (headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0');

export function createServer({
  context,
  recording,
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
      // A client that does not use TLS cannot read a response.
      if (!socket.writable || (tls && !secured.has(socket))) socket.destroy();
      else if (mayAnswer(latest.get(socket))) replyOnSocket(socket, clientError(error.code), DEFAULT_DIALECT);
      else socket.end();
    },
    schemaController: { compilersFactory: NO_SCHEMAS },
    frameworkErrors: (error, request, reply) => sendError(error, request, reply),
  });
  // Node silently drops headers beyond a count. Here all headers are counted, and their bytes are limited.
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
  const tooMany = new PeriodicLog(log, 'connection limit reached, refusing new connections');
  if (connectionLimits) {
    app.server.maxConnections = connectionLimits.accepted;
    app.server.on('drop', () => tooMany.warn({ ...connectionLimits }));
    app.addHook('onRequest', (request, reply, done) => {
      const refusal = connections.refusalOf(request.raw.socket);
      // The health check still works: a busy process is alive, and restarting it would make things worse.
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

  /** Closes the connection after the response, because an open connection would delay the shutdown. */
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
    if (operation) recording.refused(operation, admissions.get(request)?.admitted, api, callerIpOf(request));
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
    const message = `${shown(path)} does not support ${request.method}; supported methods: ${allow}`;
    sendError(new ApiError('method-not-allowed', message, { allow }), request, reply);
  });

  app.removeAllContentTypeParsers();
  // Bodies are collected when their request is admitted. JSON operations parse the bytes.
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));

  const admission = { context, defaultRegion, queryTokens, forSessions: new Set(forSessions), takesLogins };
  const admit = createAdmission({ ...admission, isClosing: () => closing });

  async function isStillAdmitted(request: FastifyRequest, { operation, dialect }: Admission): Promise<boolean> {
    try {
      await admit(request, { operation, dialect });
      return true;
    } catch (error) {
      // Rate limits and store outages are temporary, so they do not end the stream.
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
      // The client may still send the rest of the body.
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
      isStillAdmitted: () => isStillAdmitted(request, admission),
    });
    const { admitted } = admission;
    const recorded = { operation, admitted, input };
    const { status, body: answered, headers = {} } = await recording.run(recorded, () => operation.run(input, context, admitted));
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
  /** Paths of the OpenAPI document by path of the router. */
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
          const accept = (admitted: Admission) => {
            admissions.set(request, admitted);
            done();
          };
          if (admission instanceof Promise) admission.then(accept, done);
          else accept(admission);
        } catch (error) {
          done(error instanceof Error ? error : new Error(String(error)));
        }
      },
      handler: handle,
    });
  }
  return app;
}
