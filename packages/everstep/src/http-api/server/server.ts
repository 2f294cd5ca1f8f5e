/**
 * Serves the operations with Fastify: routes, limits on connections, and the admission of requests.
 * Keeps invariant 40.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type FastifyServerFactory } from 'fastify';
import type { ConnectionLimits } from '../../config/connection-limits.js';
import { LIMITS } from '../../config/limits.js';
import type { Region } from '../../config/regions.js';
import { ApiError } from '../../contract/error-codes.js';
import { DEFAULT_DIALECT } from '../../dialects/index.js';
import type { Log } from '../../ports/log.js';
import type { Observer } from '../../ports/observer.js';
import { ThrottledLog } from '../../ports/throttled-log.js';
import { type Admission, createAdmission, type RoutedOperation } from '../admission/admission.js';
import type { ReadBudget } from '../admission/read-budget.js';
import type { AuditRecorder } from '../audited/recording.js';
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
import { PathTable, routedUrl, routerPath, routesOf, selectOperation } from './routing.js';
import { splitTarget } from './target.js';
import { WaitingRequests } from './waiting-requests.js';

const LIVENESS_PATH = '/health';

function rejectRouteSchema(): never {
  throw new Error('routes have no framework schemas: operations read their input themselves');
}

/** Avoids loading the schema compiler of the framework, which is slow. */
const NO_SCHEMAS = { buildValidator: () => rejectRouteSchema, buildSerializer: () => rejectRouteSchema };

// Node would reject a request without a Host header in its own format; such requests are rejected later.
const HTTP_OPTIONS = { maxHeaderSize: LIMITS.maxHeaderBytes, requireHostHeader: false };

/** Creates TLS servers with the options that the framework sets only on servers that it creates itself. */
const secureServerFactory =
  (tls: TlsListener): FastifyServerFactory =>
  (handler, { keepAliveTimeout, requestTimeout }) => {
    const timeouts = { keepAliveTimeout: Number(keepAliveTimeout), requestTimeout: Number(requestTimeout) };
    return tls.createServer({ ...HTTP_OPTIONS, ...timeouts }, handler);
  };

const STRICT_TRANSPORT = 'max-age=31536000';
const isLocalhost = (hostname: string): boolean => /(?:^|\.)localhost$/i.test(hostname);

/**
 * Adds the header Strict-Transport-Security to responses, except on localhost: browsers apply it to all ports of a host, which
 * would break other programs on the machine.
 */
function requireStrictTransport(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (!isLocalhost(request.hostname)) reply.header('strict-transport-security', STRICT_TRANSPORT);
    done();
  });
}

export interface ServerOptions {
  readonly context: ApiContext;
  /** Writes the audit log. */
  readonly auditRecorder: AuditRecorder;
  readonly defaultRegion: Region;
  /** Addresses and CIDR ranges of proxies whose forwarding headers are trusted. */
  readonly trustedProxies: readonly string[];
  /** Whether clients use https, regardless of what a proxy reports. */
  readonly usesHttps: boolean;
  /** TLS of the server; null for plain HTTP. */
  readonly tls: TlsListener | null;
  /** Operations to serve. Operations with the same path and method have different dialects. */
  readonly operations: readonly Operation[];
  /** Operations among these that exist only for requests with a session. */
  readonly sessionOnlyOperations: readonly Operation[];
  /** Whether users can log in with their API key. */
  readonly acceptsLogins: boolean;
  /** Whether tokens in the query of a URL are accepted. */
  readonly acceptsQueryTokens: boolean;
  /** Observes each completed request. */
  readonly observer: Observer;
  /** Whether each request is logged at `info` with its caller. */
  readonly isAccessLogEnabled: boolean;
  /** Limits large responses. */
  readonly readBudget: ReadBudget;
  /** If absent, refusals are sent immediately. */
  readonly refusalDelays?: RefusalDelays | undefined;
  /** If absent, connections are not limited. */
  readonly connectionLimits?: ConnectionLimits;
  readonly bodies?: RequestBodies;
  /** Accepts workers. If null, upgrade requests are handled like other requests. */
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
function mayRespond(latestExchange: Exchange | undefined): boolean {
  if (!latestExchange) return true;
  const { request, response } = latestExchange;
  return request.complete ? response.writableFinished : !response.headersSent;
}

/** Rejects connections and requests beyond the limits. */
function limitConnections(
  app: FastifyInstance,
  { connections, limits, log }: { readonly connections: Connections; readonly limits: ConnectionLimits; readonly log: Log },
): void {
  const limitLog = new ThrottledLog(log, 'connection limit reached, refusing new connections');
  app.server.maxConnections = limits.accepted;
  app.server.on('drop', () => limitLog.warn({ ...limits }));
  app.addHook('onRequest', (request, reply, done) => {
    const refusal = connections.refusalOf(request.raw.socket);
    // The health check still works: a busy process is alive, and restarting it would make things worse.
    if (refusal === null || request.routeOptions.url === LIVENESS_PATH) return done();
    limitLog.warn({ ...limits });
    reply.header('connection', 'close');
    done(new ApiError('unavailable', refusal, { 'retry-after': '1' }));
  });
}

interface RoutesOptions {
  readonly operations: readonly Operation[];
  readonly selections: WeakMap<FastifyRequest, RoutedOperation>;
  readonly admissions: WeakMap<FastifyRequest, Admission>;
  readonly admit: ReturnType<typeof createAdmission>;
  readonly handle: ReturnType<typeof createOperationHandler>;
  readonly logRequest: ReturnType<typeof createRequestLog>;
}

/** Adds a route for each path and method, which admits a request before its operation runs, and logs the response. */
function addRoutes(app: FastifyInstance, options: RoutesOptions): void {
  const { operations, selections, admissions, admit, handle, logRequest } = options;
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
          const { query } = splitTarget(request.originalUrl);
          const selected = selectOperation(route.operations, { headers: request.headers, query });
          selections.set(request, selected);
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
  auditRecorder,
  defaultRegion,
  trustedProxies,
  usesHttps,
  tls,
  operations,
  sessionOnlyOperations,
  acceptsLogins,
  acceptsQueryTokens,
  isAccessLogEnabled,
  observer,
  readBudget,
  refusalDelays,
  connectionLimits,
  bodies = new RequestBodies(),
  workers,
  onRoute,
}: ServerOptions): FastifyInstance {
  const { log } = context;
  const paths = new PathTable(operations);
  const latestExchanges = new WeakMap<object, Exchange>();
  const tlsSockets = new WeakSet<object>();
  let isClosing = false;
  const selections = new WeakMap<FastifyRequest, RoutedOperation>();
  const admissions = new WeakMap<FastifyRequest, Admission>();
  const waitingRequests = new WaitingRequests();

  /** Closes the connection after the response, because an open connection would delay the shutdown. */
  function endConnection(reply: FastifyReply): void {
    if (isClosing || context.isStopping()) reply.header('connection', 'close');
  }

  const sendError = createErrorSender({ log, auditRecorder, selections, admissions, endConnection, refusalDelays });
  const app = Fastify({
    logger: false,
    genReqId: requestIdOf,
    ...(trustedProxies.length > 0 ? { trustProxy: [...trustedProxies] } : {}),
    requestTimeout: LIMITS.requestTimeoutMs,
    return503OnClosing: false,
    rewriteUrl: (request) => routedUrl(request.method ?? 'GET', request.url ?? '/', (path) => paths.resolve(path)),
    routerOptions: { maxParamLength: LIMITS.maxUrlLength, querystringParser: () => NO_QUERY },
    ...(tls ? { serverFactory: secureServerFactory(tls) } : {}),
    http: HTTP_OPTIONS,
    clientErrorHandler: (error, socket) => {
      if (error.code === 'ECONNRESET' || socket.destroyed) return;
      // A client that does not use TLS cannot read a response.
      if (!socket.writable || (tls && !tlsSockets.has(socket))) socket.destroy();
      else if (mayRespond(latestExchanges.get(socket))) replyOnSocket(socket, clientError(error.code), DEFAULT_DIALECT);
      else socket.end();
    },
    schemaController: { compilersFactory: NO_SCHEMAS },
    frameworkErrors: sendError,
  });
  // Node silently drops headers beyond a maximum number, unless it is 0. Only the size of the headers is limited.
  app.server.maxHeadersCount = 0;
  app.server.on('request', (request, response) => latestExchanges.set(request.socket, { request, response }));
  const connections = new Connections({ limits: connectionLimits ?? null, trustedProxies });
  app.server.on('connection', (socket: Socket) => connections.add(socket));
  app.server.on('secureConnection', (socket: Socket) => {
    if (isClosing) socket.destroy();
    tlsSockets.add(socket);
    connections.addTlsSocket(socket);
  });
  if (workers) {
    const target = workers.asUpgradeTarget({ connections, isStopping: () => isClosing || context.isStopping() });
    const connectionEvent = tls ? 'secureConnection' : 'connection';
    serveUpgrades(app.server, { target, connectionEvent, latestResponse: (socket) => latestExchanges.get(socket)?.response });
  }
  if (tls || usesHttps) requireStrictTransport(app);
  if (connectionLimits) limitConnections(app, { connections, limits: connectionLimits, log });
  app.addHook('onRoute', ({ method, url }) => {
    for (const methodName of [method].flat()) onRoute?.({ method: methodName, path: url });
  });
  app.addHook('preClose', (done) => {
    isClosing = true;
    workers?.close();
    waitingRequests.close();
    connections.closeUnused((socket) => latestExchanges.has(socket));
    done();
  });

  addErrorHandlers(app, paths, sendError);

  app.removeAllContentTypeParsers();
  // Bodies are collected when their request is admitted. JSON operations parse the bytes.
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));

  const accepted = { acceptsLogins, acceptsQueryTokens, sessionOnlyOperations: new Set(sessionOnlyOperations) };
  const admit = createAdmission({ context, defaultRegion, ...accepted, isClosing: () => isClosing });

  const handle = createOperationHandler({
    context,
    auditRecorder,
    bodies,
    readBudget,
    waitingRequests,
    isHttps: usesHttps || tls !== null,
    admit,
    admissionOf: (request) => admissions.get(request),
    endConnection,
  });
  const logRequest = createRequestLog(log, isAccessLogEnabled, observer);
  addRoutes(app, { operations, selections, admissions, admit, handle, logRequest });
  return app;
}
