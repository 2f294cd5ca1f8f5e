/** The beginning of the pages: providers, router, styles. */
import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/components.css';
import './styles/table.css';
import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { whenSessionIsLost } from './api/client.js';
import { ApiFailure } from './api/outcome.js';
import { sessionQuery } from './api/session.js';
import { Toasts } from './components/toasts.js';
import { makeRouter } from './routes.js';

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // What the service refuses, it refuses again; what did not come through may come through.
      retry: (failures, error) => failures < 2 && error instanceof ApiFailure && (error.status === 0 || error.status >= 500),
      refetchOnWindowFocus: true,
    },
  },
});
const router = makeRouter(client);

// What the page that most begin with needs is fetched side by side with who is logged in, not after it.
if (/^\/(?:q\/[^/]+(?:\/runs)?\/?)?$/.test(window.location.pathname)) void import('./pages/runs/runs-page.js');

whenSessionIsLost(() => {
  if (client.getQueryData(sessionQuery.queryKey) === null) return;
  client.setQueryData(sessionQuery.queryKey, null);
  void router.navigate({ to: '/login', search: { to: router.state.location.href } });
});

const place = document.getElementById('root');
if (place === null) throw new Error('the page has no #root');
createRoot(place).render(
  <StrictMode>
    {/* The policy of the pages allows no style elements: what the components would put into them stands in our sheets. */}
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
        <Toasts />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
