/** HTTP server of the runtime API and the management API. */

import { hostname } from 'node:os';
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import type { AccountService } from '../accounts/account-service.js';
import type { Limits } from '../accounts/plans/limits.js';
import type { Authority } from '../accounts/tokens/authority.js';
import type { LoginLinks } from '../accounts/users/login-links.js';
import type { AuditRecords } from '../audit/audit-records.js';
import type { ConnectionLimits } from '../config/connection-limits.js';
import { LIMITS } from '../config/limits.js';
import type { LogLevel } from '../config/log-levels.js';
import { DEFAULT_REGION, type Region } from '../config/regions.js';
import { FairShare } from '../fairness/fair-share.js';
import { ReplyBudget } from '../fairness/reply-budget.js';
import { NO_SLICES, type WorkSlices } from '../fairness/work-slices.js';
import type { Clock } from '../ports/clock.js';
import type { NodeStatus } from '../ports/cluster.js';
import type { Log } from '../ports/log.js';
import type { MailRecipients } from '../ports/mail-recipients.js';
import { NO_OBSERVER, type Observer } from '../ports/observer.js';
import { ONE_OWNER } from '../ports/stores/instance-owners.js';
import type { Store } from '../ports/stores/store.js';
import type { VirtualTime } from '../ports/virtual-time.js';
import { NO_WORKERS, type WorkerDirectory } from '../ports/workers.js';
import type { WorkflowService } from '../runtime/services/workflow-service.js';
import type { SearchService } from '../search/search-service.js';
import type { SignIn } from '../sign-in/sign-in.js';
import { localDirectory } from '../worker-connections/local-directory.js';
import type { WorkerPools } from '../worker-connections/worker-pools.js';
import { ReadBudget } from './admission/read-budget.js';
import { AuditRecorder } from './audited/recording.js';
import { type DashboardFiles, dashboardOperations } from './dashboard/index.js';
import { MANAGEMENT_OPERATIONS } from './management/index.js';
import { managementOpenApiDocument } from './management/openapi.js';
import { cacheDocument } from './openapi/api-document.js';
import { openApiDocument } from './openapi/openapi.js';
import type { ApiContext, DestinationPolicy, LogLevelSetting, MetricsEndpoint, Operation } from './operation.js';
import { getHealth, getReadiness } from './operations/control/service.js';
import { OPERATIONS } from './operations/index.js';
import { readsOf } from './read-models/reads.js';
import { MANAGEMENT_REFERENCE, type Reference, RUNTIME_REFERENCE, referenceOperations } from './reference/index.js';
import { createCursorSeal } from './requests/cursor.js';
import type { RequestBodies } from './requests/request-bodies.js';
import { SEARCH_OPERATIONS } from './search/index.js';
import { HeldRequests } from './server/held-requests.js';
import type { RefusalDelays } from './server/refusal-delays.js';
import { createServer, type Route } from './server/server.js';
import type { TlsListener } from './tls/tls-listener.js';
import { type ConnectionNodes, WorkerAcceptor } from './workers/acceptor.js';

export { ReadBudget } from './admission/read-budget.js';
export { type DashboardFiles, readDashboard } from './dashboard/index.js';
export type { DestinationPolicy } from './operation.js';
export { RefusalDelays } from './server/refusal-delays.js';

/** Returns a setting that is not connected to a log. */
function detachedLogLevel(): LogLevelSetting {
  let level: LogLevel = 'info';
  return {
    configured: level,
    get level() {
      return level;
    },
    set(newLevel) {
      level = newLevel;
    },
  };
}

/** Node id of a single process. */
const SINGLE_NODE_ID = 'n_alone';

export interface HttpApiDependencies {
  readonly service: WorkflowService;
  readonly store: Store;
  readonly authority: Authority;
  readonly accounts: AccountService;
  readonly search: SearchService;
  /** Single sign-on. If absent, users log in with API keys only. */
  readonly signIn?: SignIn | null;
  /** Login links. If absent, this process does not offer them. */
  readonly loginLinks?: Pick<LoginLinks, 'use'>;
  /** Plans and budgets. If absent, nothing is limited. */
  readonly limits?: Limits;
  /** Shared with the runtime. If absent, heavy work runs immediately. */
  readonly slices?: Pick<WorkSlices, 'run'>;
  /** Never receives a token, a payload or a URL. */
  readonly log: Log;
  readonly audit: AuditRecords;
  /** Version of Everstep. */
  readonly version: string;
  /** Base URL of the runtime API for apps. If absent, responses contain only paths. */
  readonly publicUrl?: () => string;
  /** Id of this node. If absent, this process is the only node. */
  readonly nodeId?: () => string;
  /** Nodes of the cluster. If absent, this process is the only node. */
  readonly nodes?: () => Promise<readonly NodeStatus[]>;
  /** Log level. If absent, changes have no effect. */
  readonly logLevel?: LogLevelSetting;
  /** Limits of open connections. If absent, connections are not limited. */
  readonly connectionLimits?: ConnectionLimits;
  /** Collects request bodies. If absent, the default limits apply. */
  readonly bodies?: RequestBodies;
  /** Delays for callers that ignore Retry-After. If absent, all refusals are sent immediately. */
  readonly refusalDelays?: RefusalDelays;
  /** Limits large responses, and is shared by all servers of a process. If absent, this server has its own budget. */
  readonly reads?: ReadBudget;
  /** While true, the readiness check fails, but requests are served. */
  readonly isStarting?: () => boolean;
  /** While true, requests are rejected with 503. */
  readonly isStopping?: () => boolean;
  /** Whether this node has its lease, in a cluster. Without a lease it accepts requests but is not ready. */
  readonly hasLease?: () => boolean;
  /** Returns why the store rejects writes, or null while it accepts them. If absent, it always accepts them. */
  readonly storeRefusal?: () => string | null;
  /** Checks workflow and callback URLs before a run is accepted. */
  readonly destinationPolicy?: DestinationPolicy;
  /** Decides who may receive email. If absent, there is no SMTP server. */
  readonly mailRecipients?: MailRecipients;
  /** Controls the virtual clock. If absent, the clock is real. */
  readonly virtualTime?: VirtualTime;
  /** Region of hosts without a region. Default: eu-central-1. */
  readonly defaultRegion?: Region;
  /** Operations of other dialects, by API. */
  readonly dialectOperations?: {
    readonly runtime: readonly Operation[];
    readonly management: readonly Operation[];
    /** API references of the runtime operations. */
    readonly references: readonly Reference[];
  };
  /** Addresses and CIDR ranges of proxies whose X-Forwarded-For is trusted. If absent, no proxy is trusted. */
  readonly trustedProxies?: readonly string[];
  /** Whether tokens in the query of a URL are accepted. Default: true. */
  readonly acceptsQueryTokens?: boolean;
  /** Whether each request is logged at `info` with its caller. Default: false. */
  readonly isAccessLogEnabled?: boolean;
  /** Whether clients use https, regardless of what a proxy reports. Default: false. */
  readonly usesHttps?: boolean;
  /** The connected workers. If absent, no worker can connect. */
  readonly workers?: {
    readonly pools: WorkerPools;
    readonly clock: Clock;
    /** Clock of elapsed time, for timeouts. */
    readonly elapsedClock: Clock;
    /** Memory for replies, shared with replies over HTTP. If absent, workers have a separate budget. */
    readonly replies?: ReplyBudget;
    /** Workers of all nodes. If absent, no other process uses the store. */
    readonly cluster?: ConnectionNodes & WorkerDirectory;
  };
  /** Metrics for the operator. If absent, they are not served. */
  readonly metrics?: MetricsEndpoint;
  /** Observes the requests. If absent, nothing is observed. */
  readonly observer?: Observer;
  /** TLS of the server. If absent, the server uses plain HTTP. */
  readonly tls?: TlsListener;
  /** Files of the dashboard; null when they were not built. If absent, no dashboard is served. */
  readonly dashboard?: DashboardFiles | null;
  /**
   * APIs to serve. Default: both. Each includes the health and readiness checks. The dashboard belongs to the management
   * API, which then also serves the parts of the runtime API that sessions use.
   */
  readonly serves?: 'both' | 'runtime' | 'management';
}

export interface HttpApi {
  /** Starts to listen. Port 0 selects a free port. Rejects with the error of the socket. */
  listen(address: { readonly host: string; readonly port: number }): Promise<{ readonly address: string; readonly port: number }>;
  /** Stops accepting requests, responds to waiting requests, and resolves when all connections are closed. */
  close(): Promise<void>;
  /** Sends a request without a socket, for tests. */
  inject(request: InjectOptions): Promise<LightMyRequestResponse>;
  /** All routes of the server. */
  readonly routes: readonly Route[];
}

/** Share of the connections that workers and requests that wait for a result may use. */
const HELD_CONNECTIONS_SHARE = 3 / 4;

interface ServedOperations {
  readonly operations: readonly Operation[];
  /** Operations among these that exist only for requests with a session. */
  readonly sessionOnlyOperations: readonly Operation[];
  /** Whether users can log in with their API key. Requires the management API. */
  readonly acceptsLogins: boolean;
}

function operationsServedBy({ serves = 'both', dialectOperations, dashboard }: HttpApiDependencies): ServedOperations {
  const runtimeOperations = [...OPERATIONS, ...SEARCH_OPERATIONS, ...(dialectOperations?.runtime ?? [])];
  const managementOperations = [...MANAGEMENT_OPERATIONS, ...(dialectOperations?.management ?? [])];
  const pageOperations = dashboard === undefined ? [] : dashboardOperations(dashboard);
  const runtimeReferences = [RUNTIME_REFERENCE, ...(dialectOperations?.references ?? [])];
  switch (serves) {
    case 'both': {
      const reference = referenceOperations([...runtimeReferences, MANAGEMENT_REFERENCE]);
      const operations = [...runtimeOperations, ...managementOperations, ...pageOperations, ...reference];
      return { operations, sessionOnlyOperations: [], acceptsLogins: true };
    }
    case 'runtime':
      return {
        operations: [...runtimeOperations, ...referenceOperations(runtimeReferences)],
        sessionOnlyOperations: [],
        acceptsLogins: false,
      };
    case 'management': {
      const healthChecks = [getHealth, getReadiness];
      const sessionOperations = [...OPERATIONS, ...SEARCH_OPERATIONS].filter(({ access }) => access !== 'open');
      const forSessions = dashboard === undefined ? [] : sessionOperations;
      const reference = referenceOperations([MANAGEMENT_REFERENCE]);
      return {
        operations: [...managementOperations, ...healthChecks, ...forSessions, ...pageOperations, ...reference],
        sessionOnlyOperations: forSessions,
        acceptsLogins: true,
      };
    }
  }
}

/** Returns a function that lists this process as the only node. */
function singleNodeList(
  service: Pick<WorkflowService, 'now' | 'workload'>,
  version: string,
): () => Promise<readonly NodeStatus[]> {
  const startedAt = service.now();
  return async () => {
    const { deliveriesInFlight, instances } = service.workload();
    const identity = { nodeId: SINGLE_NODE_ID, host: hostname(), version, startedAt };
    const lease = { leaseUntil: null, expired: false, leaving: false };
    return [{ ...identity, ...lease, self: true, runsClaimed: deliveriesInFlight, gates: instances }];
  };
}

/** Connections that stay open, of workers and of requests that wait for a result. */
interface HeldConnections {
  readonly maxHeldConnections: number;
  /** Counts the connections of both kinds. */
  readonly sharedCapacity: FairShare;
}

function createAcceptor(
  dependencies: HttpApiDependencies,
  { maxHeldConnections, sharedCapacity }: HeldConnections,
): WorkerAcceptor | null {
  const { workers, serves, service, authority, log, nodeId = () => SINGLE_NODE_ID } = dependencies;
  if (!workers || serves === 'management') return null;
  const owners = dependencies.limits?.owners ?? ONE_OWNER;
  const { maxReplyBytesInMemory: maxBytes, maxReplyBytes } = LIMITS;
  return new WorkerAcceptor({
    ...{ authority, log, nodeId, ...workers },
    defaultRegion: dependencies.defaultRegion ?? DEFAULT_REGION,
    openConnections: new HeldRequests({
      requestName: 'connected workers',
      maxTotal: Math.min(LIMITS.maxWorkers, maxHeldConnections),
      maxPerInstance: LIMITS.maxWorkersPerInstance,
      ...{ owners, sharedCapacity },
    }),
    replies: workers.replies ?? new ReplyBudget({ maxBytes, maxReplyBytes }, owners),
    slices: dependencies.slices ?? NO_SLICES,
    newId: () => service.newId('con'),
  });
}

const runtimeDocument = cacheDocument(openApiDocument);
const managementDocument = cacheDocument(managementOpenApiDocument);

export function createHttpApi(dependencies: HttpApiDependencies): HttpApi {
  const { service, store, authority, accounts, search, log, version } = dependencies;
  const owners = dependencies.limits?.owners ?? ONE_OWNER;
  // Keeps connections free for requests that do not wait.
  const maxConnections = dependencies.connectionLimits?.served ?? Number.POSITIVE_INFINITY;
  const maxHeldConnections = Math.min(
    LIMITS.maxResultWaits + LIMITS.maxWorkers,
    Math.floor(maxConnections * HELD_CONNECTIONS_SHARE),
  );
  const sharedCapacity = new FairShare(maxHeldConnections, owners);
  const { workers, nodeId = () => SINGLE_NODE_ID } = dependencies;
  const context: ApiContext = {
    service,
    reads: readsOf(store),
    authority,
    accounts,
    search,
    signIn: dependencies.signIn ?? null,
    loginLinks: dependencies.loginLinks ?? null,
    limits: dependencies.limits ?? null,
    log,
    version,
    cursors: createCursorSeal(store.accounts),
    liveStreams: new HeldRequests({
      requestName: 'live streams',
      maxTotal: LIMITS.maxLiveStreamsTotal,
      maxPerInstance: LIMITS.maxLiveStreams,
      owners,
    }),
    resultWaits: new HeldRequests({
      requestName: 'requests that wait for a result',
      maxTotal: Math.min(LIMITS.maxResultWaits, maxHeldConnections),
      ...{ owners, sharedCapacity },
    }),
    slices: dependencies.slices ?? NO_SLICES,
    nodes: dependencies.nodes ?? singleNodeList(service, version),
    nodeId,
    logLevel: dependencies.logLevel ?? detachedLogLevel(),
    workers: workers ? (workers.cluster ?? localDirectory(workers.pools, nodeId)) : NO_WORKERS,
    publicUrl: dependencies.publicUrl ?? (() => ''),
    isStarting: dependencies.isStarting ?? (() => false),
    isStopping: dependencies.isStopping ?? (() => false),
    hasLease: dependencies.hasLease ?? (() => true),
    storeRefusal: dependencies.storeRefusal ?? (() => null),
    destinationPolicy: dependencies.destinationPolicy ?? null,
    mailRecipients: dependencies.mailRecipients ?? null,
    virtualTime: dependencies.virtualTime ?? null,
    metrics: dependencies.metrics ?? null,
    openApi: () => runtimeDocument(version),
    managementOpenApi: () => managementDocument(version),
  };
  const routes: Route[] = [];
  const defaultRegion = dependencies.defaultRegion ?? DEFAULT_REGION;
  const app: FastifyInstance = createServer({
    context,
    auditRecorder: new AuditRecorder(dependencies.audit),
    onRoute: (route) => routes.push(route),
    readBudget: dependencies.reads ?? new ReadBudget({}, owners),
    refusalDelays: dependencies.refusalDelays,
    defaultRegion,
    workers: createAcceptor(dependencies, { maxHeldConnections, sharedCapacity }),
    trustedProxies: dependencies.trustedProxies ?? [],
    usesHttps: dependencies.usesHttps ?? false,
    tls: dependencies.tls ?? null,
    observer: dependencies.observer ?? NO_OBSERVER,
    acceptsQueryTokens: dependencies.acceptsQueryTokens ?? true,
    isAccessLogEnabled: dependencies.isAccessLogEnabled ?? false,
    ...(dependencies.connectionLimits ? { connectionLimits: dependencies.connectionLimits } : {}),
    ...(dependencies.bodies ? { bodies: dependencies.bodies } : {}),
    ...operationsServedBy(dependencies),
  });
  return {
    routes,
    async listen({ host, port }) {
      // The store may reject writes later, but it can still be read then.
      await context.cursors.prepare();
      await app.listen({ host, port });
      const address = app.server.address();
      if (address === null || typeof address === 'string') throw new Error('the server does not listen on a port');
      return { address: address.address, port: address.port };
    },
    close: () => app.close(),
    inject: (request) => app.inject(request),
  };
}
