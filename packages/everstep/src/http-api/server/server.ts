/**
 * The operations on Fastify: routes, limits on connections, and the admission of requests.
 * Keeps invariant 40.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type FastifyServerFactory } from 'fastify';
import type { ConnectionLimits } from '../../config/connection-limits.js';
import { LIMITS } from '../../config/limits.js';
import type { Region } from '../../config/regions.js';
import { ApiError } from '../../contract/error-codes.js';
import { DEFAULT_DIALECT, DIALECTS, dialectShown } from '../../dialects/index.js';
import type { Log } from '../../ports/log.js';
import type { Observer } from '../../ports/observer.js';
import { PeriodicLog } from '../../ports/periodic-log.js';
import { type Admission, createAdmission, type RoutedOperation } from '../admission/admission.js';
import type { ReadBudget } from '../admission/read-budget.js';
import type { Recording } from '../audited/recording.js';
import type { ApiContext, Operation } from '../operation.js';
import { RequestBodies } from '../requests/request-bodies.js';
import { NO_QUERY } from '../requests/request-input.js';
import { clientError, replyOnSocket } from '../responses/error-replies.js';
import type { TlsListener } from '../tls/tls-listener.js';
import type { WorkerAcceptor } from '../workers/acceptor.js';
import { serveUpgrades } from '../workers/upgrades.js';
import { Connections } from './connections.js';
import { addErrorHandlers, createErrorSender } from './error-handlers.js';
import { createOperationHandler } from './operation-handler.js';
import type { RefusalDelays } from './refusal-delays.js';
import { createRequestLog, requestIdOf } from './request-log.js';
import { type OperationRoute, PathTable, routedUrl, routerPath, routesOf } from './routing.js';
import { splitTarget } from './target.js';
import { WaitingRequests } from './waiting-requests.js';

const LIVENESS_PATH = '/health';

function schemaOfRoute(): never {
  throw new Error('routes have no framework schemas: operations read their input themselves');
}

/** Avoids loading the schema compiler of the framework, which is slow. */
const NO_SCHEMAS = { buildValidator: () => schemaOfRoute, buildSerializer: () => schemaOfRoute };

// Node would reject a request without a Host header in its own format; such requests are rejected later.
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
  /** Observes each completed request. */
  readonly observer: Observer;
  /** Whether each request is logged at `info` with its caller. */
  readonly accessLog: boolean;
  /** Limits large responses. */
  readonly reads: ReadBudget;
  /** Absent: refusals are sent immediately. */
  readonly refusalDelays?: RefusalDelays | undefined;
  /** Absent: no limit. */
  readonly connectionLimits?: ConnectionLimits;
  readonly bodies?: RequestBodies;
  /** Accepts workers. Null: upgrade requests are ordinary requests. */
  readonly workers: WorkerAcceptor | null;
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
function mayRespond(latest: Exchange | undefined): boolean {
  if (!latest) return true;
  const { request, response } = latest;
  return request.complete ? response.writableFinished : !response.headersSent;
}

function selectOperation({ operations }: OperationRoute, request: FastifyRequest): RoutedOperation {
  const detected = dialectShown({ headers: request.headers, query: splitTarget(request.originalUrl).query });
  const spoken = detected ?? DEFAULT_DIALECT;
  const [firstOperation] = operations;
  const dialectOperation =
    operations.find(({ dialect }) => dialect === spoken.name) ?? operations.find(({ dialect }) => !dialect);
  const operation = dialectOperation ?? firstOperation;
  if (!operation) throw new Error('a route has no operation');
  return { operation, dialect: operation.dialect ? DIALECTS[operation.dialect] : spoken };
}

/** Refuses connections and requests beyond the limits. */
function limitConnections(
  app: FastifyInstance,
  { connections, limits, log }: { readonly connections: Connections; readonly limits: ConnectionLimits; readonly log: Log },
): void {
  const tooMany = new PeriodicLog(log, 'connection limit reached, refusing new connections');
  app.server.maxConnections = limits.accepted;
  app.server.on('drop', () => tooMany.warn({ ...limits }));
  app.addHook('onRequest', (request, reply, done) => {
    const refusal = connections.refusalOf(request.raw.socket);
    // The health check still works: a busy process is alive, and restarting it would make things worse.
    if (refusal === null || request.routeOptions.url === LIVENESS_PATH) return done();
    tooMany.warn({ ...limits });
    reply.header('connection', 'close');
    done(new ApiError('unavailable', refusal, { 'retry-after': '1' }));
  });
}

interface RoutesOptions {
  readonly operations: readonly Operation[];
  readonly chosen: WeakMap<FastifyRequest, RoutedOperation>;
  readonly admissions: WeakMap<FastifyRequest, Admission>;
  readonly admit: ReturnType<typeof createAdmission>;
  readonly handle: ReturnType<typeof createOperationHandler>;
  readonly logRequest: ReturnType<typeof createRequestLog>;
}

/** Adds a route for each path and method, which admits a request before its operation runs, and logs the response. */
function addRoutes(app: FastifyInstance, options: RoutesOptions): void {
  const { operations, chosen, admissions, admit, handle, logRequest } = options;
  /** Paths of the OpenAPI document by path of the router. */
  const documentedPaths = new Map(routesOf(operations).map(({ path }) => [routerPath(path), path]));
  app.addHook('onResponse', (request, reply, done) => {
    const route = documentedPaths.get(request.routeOptions.url ?? '') ?? null;
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
          const selected = selectOperation(route, request);
          chosen.set(request, selected);
          const admission = admit(request, selected);
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
}

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
  observer,
  reads,
  refusalDelays,
  connectionLimits,
  bodies = new RequestBodies(),
  workers,
  onRoute,
}: ServerOptions): FastifyInstance {
  const { log } = context;
  const paths = new PathTable(operations);
  const latest = new WeakMap<object, Exchange>();
  const secured = new WeakSet<object>();
  let closing = false;
  const chosen = new WeakMap<FastifyRequest, RoutedOperation>();
  const admissions = new WeakMap<FastifyRequest, Admission>();
  const waiting = new WaitingRequests();

  /** Closes the connection after the response, because an open connection would delay the shutdown. */
  function endConnection(reply: FastifyReply): void {
    if (closing || context.isStopping()) reply.header('connection', 'close');
  }

  const sendError = createErrorSender({ log, recording, chosen, admissions, endConnection, refusalDelays });
  const app = Fastify({
    logger: false,
    genReqId: requestIdOf,
    ...(trustedProxies.length > 0 ? { trustProxy: [...trustedProxies] } : {}),
    requestTimeout: LIMITS.requestTimeoutMs,
    return503OnClosing: false,
    rewriteUrl: (request) => routedUrl(request.method ?? 'GET', request.url ?? '/', (path) => paths.resolve(path)),
    routerOptions: { maxParamLength: LIMITS.maxUrlLength, querystringParser: () => NO_QUERY },
    ...(tls ? { serverFactory: secureServers(tls) } : {}),
    http: HTTP_OPTIONS,
    clientErrorHandler: (error, socket) => {
      if (error.code === 'ECONNRESET' || socket.destroyed) return;
      // A client that does not use TLS cannot read a response.
      if (!socket.writable || (tls && !secured.has(socket))) socket.destroy();
      else if (mayRespond(latest.get(socket))) replyOnSocket(socket, clientError(error.code), DEFAULT_DIALECT);
      else socket.end();
    },
    schemaController: { compilersFactory: NO_SCHEMAS },
    frameworkErrors: sendError,
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
  if (workers) {
    const target = workers.asUpgradeTarget({ connections, isStopping: () => closing || context.isStopping() });
    const connectionEvent = tls ? 'secureConnection' : 'connection';
    serveUpgrades(app.server, { target, connectionEvent, latestResponse: (socket) => latest.get(socket)?.response });
  }
  if (tls || isPublicHttps) {
    app.addHook('onRequest', (request, reply, done) => {
      if (!isThisMachine(request.hostname)) reply.header('strict-transport-security', STRICT_TRANSPORT);
      done();
    });
  }
  if (connectionLimits) limitConnections(app, { connections, limits: connectionLimits, log });
  app.addHook('onRoute', ({ method, url }) => {
    for (const name of [method].flat()) onRoute?.({ method: name, path: url });
  });
  app.addHook('preClose', (done) => {
    closing = true;
    workers?.close();
    waiting.close();
    connections.closeUnused((socket) => latest.has(socket));
    done();
  });

  addErrorHandlers(app, paths, sendError);

  app.removeAllContentTypeParsers();
  // Bodies are collected when their request is admitted. JSON operations parse the bytes.
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));

  const admission = { context, defaultRegion, queryTokens, forSessions: new Set(forSessions), takesLogins };
  const admit = createAdmission({ ...admission, isClosing: () => closing });

  const handle = createOperationHandler({
    context,
    recording,
    bodies,
    reads,
    waiting,
    isHttps: isPublicHttps || tls !== null,
    admit,
    admissionOf: (request) => admissions.get(request),
    endConnection,
  });
  addRoutes(app, { operations, chosen, admissions, admit, handle, logRequest: createRequestLog(log, accessLog, observer) });
  return app;
}
