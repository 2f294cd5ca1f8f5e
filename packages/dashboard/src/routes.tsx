/** The route of every page. The code of a page is in its own folder under pages/ and is loaded on navigation. */
import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { loadPageFiles } from './api/page-files.js';
import { sessionQuery } from './api/session.js';
import { parseSearch, type SearchParameters, stringifySearch } from './search-parameters.js';
import { Home } from './shell/home.js';
import { storeLastInstance } from './shell/last-instance.js';
import { Layout } from './shell/layout.js';
import { ErrorPage, NotFound } from './shell/not-found.js';

interface RouterContext {
  readonly client: QueryClient;
}

const root = createRootRouteWithContext<RouterContext>()({
  validateSearch: (search: Record<string, unknown>): SearchParameters =>
    Object.fromEntries(Object.entries(search).map(([name, value]) => [name, String(value)])),
  component: Outlet,
  notFoundComponent: NotFound,
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/login',
  component: lazyRouteComponent(() => loadPageFiles(import('./shell/sign-in.js'))),
});

/** Parent of all pages that require a session. */
const authenticated = createRoute({
  getParentRoute: () => root,
  id: 'authenticated',
  beforeLoad: async ({ context, location }) => {
    const session = await context.client.ensureQueryData(sessionQuery);
    if (session === null) throw redirect({ to: '/login', search: { to: location.href } });
  },
  component: Outlet,
  errorComponent: ErrorPage,
});

const home = createRoute({ getParentRoute: () => authenticated, path: '/', component: Home });

const instance = createRoute({
  getParentRoute: () => authenticated,
  path: '/q/$instanceId',
  beforeLoad: ({ params }) => storeLastInstance(params.instanceId),
  component: Layout,
});

const toOverview = createRoute({
  getParentRoute: () => instance,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/q/$instanceId/overview', params, replace: true });
  },
});

const overview = createRoute({
  getParentRoute: () => instance,
  path: '/overview',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/insights/overview-page.js'))),
});
const workflow = createRoute({
  getParentRoute: () => instance,
  path: '/workflow',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/insights/workflow-page.js'))),
});

const runs = createRoute({
  getParentRoute: () => instance,
  path: '/runs',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/runs/runs-page.js'))),
});
const run = createRoute({
  getParentRoute: () => instance,
  path: '/runs/$runId',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/runs/run-page.js'))),
});
const compare = createRoute({
  getParentRoute: () => instance,
  path: '/runs/$runId/compare',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/runs/compare-page.js'))),
});
const deadLetters = createRoute({
  getParentRoute: () => instance,
  path: '/dead-letters',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/dead-letters/dead-letters-page.js'))),
});
const deadLetter = createRoute({
  getParentRoute: () => instance,
  path: '/dead-letters/$dlqId',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/dead-letters/dead-letter-page.js'))),
});
const repairs = createRoute({
  getParentRoute: () => instance,
  path: '/repairs',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/repairs/repairs-page.js'))),
});
const newRepair = createRoute({
  getParentRoute: () => instance,
  path: '/repairs/new',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/repairs/new-repair-page.js'))),
});
const repair = createRoute({
  getParentRoute: () => instance,
  path: '/repairs/$repairId',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/repairs/repair-page.js'))),
});
const events = createRoute({
  getParentRoute: () => instance,
  path: '/events',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/events/events-page.js'))),
});
const workers = createRoute({
  getParentRoute: () => instance,
  path: '/workers',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/workers/workers-page.js'))),
});
const alerts = createRoute({
  getParentRoute: () => instance,
  path: '/alerts',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/alerts/alerts-page.js'))),
});
const flowControl = createRoute({
  getParentRoute: () => instance,
  path: '/flow-control',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/flow-control/flow-control-page.js'))),
});
const flowControlKey = createRoute({
  getParentRoute: () => instance,
  path: '/flow-control/$key',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/flow-control/flow-control-key-page.js'))),
});
const schedules = createRoute({
  getParentRoute: () => instance,
  path: '/schedules',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/schedules/schedules-page.js'))),
});
const schedule = createRoute({
  getParentRoute: () => instance,
  path: '/schedules/$scheduleId',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/schedules/schedule-page.js'))),
});
const queues = createRoute({
  getParentRoute: () => instance,
  path: '/queues',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/queues/queues-page.js'))),
});
const instanceSettings = createRoute({
  getParentRoute: () => instance,
  path: '/instance',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/instance/instance-page.js'))),
});
const team = createRoute({
  getParentRoute: () => instance,
  path: '/team',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/team/team-page.js'))),
});
const account = createRoute({
  getParentRoute: () => instance,
  path: '/account',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/account/account-page.js'))),
});
const users = createRoute({
  getParentRoute: () => instance,
  path: '/users',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/users/users-page.js'))),
});
const search = createRoute({
  getParentRoute: () => instance,
  path: '/search',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/search/search-page.js'))),
});
const searchIndex = createRoute({
  getParentRoute: () => instance,
  path: '/search/$indexId',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/search/search-index-page.js'))),
});
const audit = createRoute({
  getParentRoute: () => instance,
  path: '/audit',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/audit/audit-page.js'))),
});
const nodes = createRoute({
  getParentRoute: () => instance,
  path: '/nodes',
  component: lazyRouteComponent(() => loadPageFiles(import('./pages/nodes/nodes-page.js'))),
});

const tree = root.addChildren([
  signIn,
  authenticated.addChildren([
    home,
    instance.addChildren([
      toOverview,
      overview,
      workflow,
      runs,
      run,
      compare,
      deadLetters,
      deadLetter,
      repairs,
      newRepair,
      repair,
      events,
      workers,
      alerts,
      flowControl,
      flowControlKey,
      schedules,
      schedule,
      queues,
      instanceSettings,
      team,
      account,
      users,
      search,
      searchIndex,
      audit,
      nodes,
    ]),
  ]),
]);

export const createDashboardRouter = (client: QueryClient) =>
  createRouter({
    routeTree: tree,
    context: { client },
    parseSearch,
    stringifySearch,
    scrollRestoration: true,
    defaultPreload: 'intent',
    defaultPreloadStaleTime: 0,
    defaultErrorComponent: ErrorPage,
  });

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createDashboardRouter>;
  }
}
