/** Entry point of the dashboard: providers, router and styles. */
import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/controls.css';
import './styles/components.css';
import './components/json/json.css';
import './styles/overlays.css';
import './styles/table.css';
import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { createRoot } from 'preact/compat/client';
import { StrictMode } from 'react';
import { setSessionLostListener, setSessionRenewer } from './api/client.js';
import { ApiFailure } from './api/outcome.js';
import { sessionQuery, sessionRenewer } from './api/session.js';
import { Toasts } from './components/toasts.js';
import { createDashboardRouter } from './routes.js';

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // Retries network failures and server errors only: a rejected request would be rejected again.
      retry: (failures, error) => failures < 2 && error instanceof ApiFailure && (error.status === 0 || error.status >= 500),
      refetchOnWindowFocus: true,
    },
  },
});
const router = createDashboardRouter(client);

// Load the code of the page in parallel with the session instead of after it. The home page leads to the overview.
const { pathname } = router.latestLocation;
if (/^\/(?:q\/[^/]+\/?)?$/.test(pathname)) void import('./pages/insights/overview-page.js');
const [matchedRoutes] = router.getMatchedRoutes(pathname);
for (const { options } of matchedRoutes) void options.component?.preload?.();

setSessionLostListener(() => {
  if (client.getQueryData(sessionQuery.queryKey) === null) return;
  // The next user must not see data of this one.
  client.clear();
  client.setQueryData(sessionQuery.queryKey, null);
  void router.navigate({ to: '/login', search: { to: router.state.location.href } });
});

setSessionRenewer(sessionRenewer(client, () => window.location.reload()));

const container = document.getElementById('root');
if (container === null) throw new Error('the page has no #root');
createRoot(container).render(
  <StrictMode>
    {/* The content security policy forbids style elements. Our style sheets contain what the components would inject. */}
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
        <Toasts />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
