import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { request } from '../api/client.js';
import { ApiFailure, type Failure } from '../api/outcome.js';
import { PageFilesUnavailable } from '../api/page-files.js';
import { Brand } from '../components/brand.js';
import { PageTitle } from '../components/page-title.js';
import { ErrorState } from '../components/states.js';

export function NotFound() {
  return (
    <main className="sign-in">
      <div className="sign-in-card">
        <Brand />
        <PageTitle title="Page not found" lead="No page exists at this address." />
        <Link to="/" className="button">
          Go to the overview
        </Link>
      </div>
    </main>
  );
}

/** Shown instead of each page of an instance that does not exist or that the user has no access to. */
export function UnknownInstance() {
  return (
    <>
      <PageTitle title="Queue instance not found" lead="It was deleted, the address is wrong, or you are not in its team." />
      <Link to="/" className="button">
        Go to the overview
      </Link>
    </>
  );
}

function asFailure(error: unknown): Failure {
  if (error instanceof ApiFailure) return error;
  const details = { status: 0, retryAfterMs: null };
  if (error instanceof PageFilesUnavailable) return { ...details, code: 'unreachable', text: 'The server did not respond.' };
  const message = error instanceof Error ? error.message : String(error);
  return { ...details, code: 'page-failed', text: `A script error occurred: ${message}. Reload the page.` };
}

/** Shown instead of a page that failed to load or render. */
export function ErrorPage({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const [unreachable, setUnreachable] = useState<Failure | null>(null);
  const retry = async () => {
    if (error instanceof ApiFailure) {
      reset();
      void router.invalidate();
      return;
    }
    // Reload only if the server responds: otherwise the browser would replace the dashboard with its own error page.
    const outcome = await request('/v2/session');
    if (outcome.ok || outcome.failure.status > 0) window.location.reload();
    else setUnreachable(outcome.failure);
  };
  return <ErrorState failure={unreachable ?? asFailure(error)} subject="this page" onRetry={() => void retry()} />;
}
