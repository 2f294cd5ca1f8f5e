/** The runtime API and the management API over HTTP. */

import { hostname } from 'node:os';
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import type { AccountService } from '../accounts/account-service.js';
import type { Authority } from '../accounts/authority.js';
import type { Limits } from '../accounts/limits.js';
import type { AuditRecords } from '../audit/audit-records.js';
import type { ConnectionLimits } from '../config/connection-limits.js';
import { LIMITS } from '../config/limits.js';
import { DEFAULT_REGION, type Region } from '../config/regions.js';
import { AT_ONCE, type WorkSlices } from '../fairness/work-slices.js';
import type { NodeStanding } from '../ports/cluster.js';
import { ONE_OWNER } from '../ports/instance-owners.js';
import type { Log } from '../ports/log.js';
import type { Store } from '../ports/store.js';
import type { VirtualTime } from '../ports/virtual-time.js';
import type { WorkflowService } from '../runtime/workflow-service.js';
import type { SearchService } from '../search/search-service.js';
import type { SignIn } from '../sign-in/sign-in.js';
import { documentOnce } from './api-document.js';
import { Recording } from './audited/recording.js';
import { createCursorSeal } from './cursor.js';
import { type DashboardFiles, dashboardOperations } from './dashboard/index.js';
import { HeldRequests } from './held-requests.js';
import { MANAGEMENT_OPERATIONS } from './management/index.js';
import { managementOpenApiDocument } from './management/openapi.js';
import { openApiDocument } from './openapi.js';
import type { ApiContext, DestinationPolicy, Operation } from './operation.js';
import { OPERATIONS } from './operations/index.js';
import { getHealth, getReadiness } from './operations/service.js';
import { ReadBudget } from './read-budget.js';
import { MANAGEMENT_REFERENCE, type Reference, RUNTIME_REFERENCE, referenceOperations } from './reference/index.js';
import type { RequestBodies } from './request-bodies.js';
import { SEARCH_OPERATIONS } from './search/index.js';
import { createServer, type Route } from './server.js';
import type { TlsListener } from './tls/tls-listener.js';

export { type DashboardFiles, readDashboard } from './dashboard/index.js';
export type { DestinationPolicy } from './operation.js';
export { ReadBudget } from './read-budget.js';

/** The id of a node that has no others. */
const ALONE = 'n_alone';

export interface HttpApiDependencies {
  readonly service: WorkflowService;
  readonly store: Store;
  readonly authority: Authority;
  readonly accounts: AccountService;
  readonly search: SearchService;
  /** Absent: users have API keys alone. */
  readonly signIn?: SignIn | null;
  /** Plans and budgets; nothing is limited when absent. */
  readonly limits?: Limits;
  /** Shared with the runtime. Heavy work is done at once when absent. */
  readonly slices?: Pick<WorkSlices, 'run'>;
  /** Never given a token, a payload or a URL. */
  readonly log: Log;
  readonly audit: AuditRecords;
  /** Of the service. */
  readonly version: string;
  /** Where apps reach the runtime API; answers name paths alone when absent. */
  readonly publicUrl?: () => string;
  /** The nodes on the store; this process alone when absent. */
  readonly nodes?: () => Promise<readonly NodeStanding[]>;
  /** How many connections each server accepts; no limit when absent. */
  readonly connectionLimits?: ConnectionLimits;
  /** Bodies of requests, with the limits of the service when absent. */
  readonly bodies?: RequestBodies;
  /** Bounds long answers; shared by all servers of a process. One of its own when absent. */
  readonly reads?: ReadBudget;
  /** While true, the service is not ready, but answers requests. */
  readonly isStarting?: () => boolean;
  /** While true, requests are answered with 503. */
  readonly isStopping?: () => boolean;
  /** Where several nodes share the store: whether this one has its lease. It takes requests without, and is not ready. */
  readonly hasLease?: () => boolean;
  /** Why the store takes no writes, for the operator; null while it takes them. Absent: it always takes them. */
  readonly storeRefusal?: () => string | null;
  /** Asked about workflow and callback URLs before a run is accepted. */
  readonly addressPolicy?: DestinationPolicy;
  /** When the clock is virtual: moves it. */
  readonly virtualTime?: VirtualTime;
  /** Of hosts that name none; eu-central-1 when absent. */
  readonly defaultRegion?: Region;
  /** Operations of dialects beside the native one, of the runtime API and of the management API. */
  readonly dialectOperations?: {
    readonly runtime: readonly Operation[];
    readonly management: readonly Operation[];
    /** API references of the runtime operations. */
    readonly references: readonly Reference[];
  };
  /** Addresses and CIDRs of proxies whose X-Forwarded-For says who calls; nobody is believed when absent. */
  readonly trustedProxies?: readonly string[];
  /** Whether a token in the query of a URL is taken; true when absent. */
  readonly queryTokens?: boolean;
  /** Whether each request is logged at `info`, with who asked; false when absent. */
  readonly accessLog?: boolean;
  /** Whether the public URL is https; false when absent. */
  readonly isPublicHttps?: boolean;
  /** Plain HTTP when absent. */
  readonly tls?: TlsListener;
  /** The files of the dashboard; null: they were not built. No dashboard is served when absent. */
  readonly dashboard?: DashboardFiles | null;
  /**
   * Both APIs unless one is chosen; each tells in any case whether the service is alive and ready. The dashboard goes with
   * the management API, and with it, for those who have a session, what it needs of the runtime API.
   */
  readonly serves?: 'both' | 'runtime' | 'management';
}

export interface HttpApi {
  /** Port 0 takes a free one. Rejects with the error of the socket. */
  listen(address: { readonly host: string; readonly port: number }): Promise<{ readonly address: string; readonly port: number }>;
  /** Takes no more requests, answers those that wait for a result, and resolves when all connections are closed. */
  close(): Promise<void>;
  /** A request without a socket, for tests. */
  inject(request: InjectOptions): Promise<LightMyRequestResponse>;
  /** All that is there to be asked for. */
  readonly routes: readonly Route[];
}

/** Of the connections whose requests are served. */
const RESULT_WAITS_SHARE = 3 / 4;

interface Served {
  readonly operations: readonly Operation[];
  /** Of them, those that are not there for requests without a session. */
  readonly forSessions: readonly Operation[];
  /** Whether users may log in with their API key: where the management API is. */
  readonly takesLogins: boolean;
}

function servedBy({ serves = 'both', dialectOperations, dashboard }: HttpApiDependencies): Served {
  const runtime = [...OPERATIONS, ...SEARCH_OPERATIONS, ...(dialectOperations?.runtime ?? [])];
  const management = [...MANAGEMENT_OPERATIONS, ...(dialectOperations?.management ?? [])];
  const pages = dashboard === undefined ? [] : dashboardOperations(dashboard);
  const runtimeReferences = [RUNTIME_REFERENCE, ...(dialectOperations?.references ?? [])];
  switch (serves) {
    case 'both': {
      const reference = referenceOperations([...runtimeReferences, MANAGEMENT_REFERENCE]);
      return { operations: [...runtime, ...management, ...pages, ...reference], forSessions: [], takesLogins: true };
    }
    case 'runtime':
      return { operations: [...runtime, ...referenceOperations(runtimeReferences)], forSessions: [], takesLogins: false };
    case 'management': {
      const open = [getHealth, getReadiness];
      const wanted = [...OPERATIONS, ...SEARCH_OPERATIONS].filter(({ access }) => access !== 'open');
      const forSessions = dashboard === undefined ? [] : wanted;
      const reference = referenceOperations([MANAGEMENT_REFERENCE]);
      return { operations: [...management, ...open, ...forSessions, ...pages, ...reference], forSessions, takesLogins: true };
    }
  }
}

/** This process as the only node. */
function aloneSince(service: Pick<WorkflowService, 'now' | 'underWay'>, version: string): () => Promise<readonly NodeStanding[]> {
  const startedAt = service.now();
  return async () => {
    const { deliveries, instances } = service.underWay();
    const facts = { nodeId: ALONE, host: hostname(), version, startedAt };
    return [{ ...facts, leaseUntil: null, leaving: false, self: true, runsClaimed: deliveries, gates: instances }];
  };
}

const runtimeDocument = documentOnce(openApiDocument);
const managementDocument = documentOnce(managementOpenApiDocument);

export function createHttpApi(dependencies: HttpApiDependencies): HttpApi {
  const { service, store, authority, accounts, search, log, version } = dependencies;
  const owners = dependencies.limits?.owners ?? ONE_OWNER;
  // Connections are left for those who do not wait.
  const served = dependencies.connectionLimits?.served ?? Number.POSITIVE_INFINITY;
  const maxResultWaits = Math.min(LIMITS.maxResultWaits, Math.floor(served * RESULT_WAITS_SHARE));
  const context: ApiContext = {
    service,
    store,
    authority,
    accounts,
    search,
    signIn: dependencies.signIn ?? null,
    limits: dependencies.limits ?? null,
    log,
    recording: new Recording(dependencies.audit),
    version,
    cursors: createCursorSeal(store.accounts),
    liveStreams: new HeldRequests({
      what: 'live streams',
      total: LIMITS.maxLiveStreamsInAll,
      perInstance: LIMITS.maxLiveStreams,
      owners,
    }),
    resultWaits: new HeldRequests({ what: 'requests that wait for a result', total: maxResultWaits, owners }),
    slices: dependencies.slices ?? AT_ONCE,
    nodes: dependencies.nodes ?? aloneSince(service, version),
    publicUrl: dependencies.publicUrl ?? (() => ''),
    isStarting: dependencies.isStarting ?? (() => false),
    isStopping: dependencies.isStopping ?? (() => false),
    hasLease: dependencies.hasLease ?? (() => true),
    storeRefusal: dependencies.storeRefusal ?? (() => null),
    addressPolicy: dependencies.addressPolicy ?? null,
    virtualTime: dependencies.virtualTime ?? null,
    openApi: () => runtimeDocument(version),
    managementOpenApi: () => managementDocument(version),
  };
  const routes: Route[] = [];
  const app: FastifyInstance = createServer({
    context,
    onRoute: (route) => routes.push(route),
    reads: dependencies.reads ?? new ReadBudget(),
    defaultRegion: dependencies.defaultRegion ?? DEFAULT_REGION,
    trustedProxies: dependencies.trustedProxies ?? [],
    isPublicHttps: dependencies.isPublicHttps ?? false,
    tls: dependencies.tls ?? null,
    queryTokens: dependencies.queryTokens ?? true,
    accessLog: dependencies.accessLog ?? false,
    ...(dependencies.connectionLimits ? { connectionLimits: dependencies.connectionLimits } : {}),
    ...(dependencies.bodies ? { bodies: dependencies.bodies } : {}),
    ...servedBy(dependencies),
  });
  return {
    routes,
    async listen({ host, port }) {
      // Later the store may take no writes; it can be read then all the same.
      await context.cursors.prepare();
      await app.listen({ host, port });
      const address = app.server.address();
      if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
      return { address: address.address, port: address.port };
    },
    close: () => app.close(),
    inject: (request) => app.inject(request),
  };
}
