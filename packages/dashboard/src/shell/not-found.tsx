import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { request } from '../api/client.js';
import { ApiFailure, type Failure } from '../api/outcome.js';
import { PageTitle } from '../components/page-title.js';
import { EmptyState, ErrorState } from '../components/states.js';
import { FilesNotHad } from './page-files.js';

export function NotFound() {
  return (
    <main className="login">
      <PageTitle title="There is no such page" />
      <EmptyState
        title="Nothing is at this address"
        action={
          <Link to="/" className="button">
            To the runs
          </Link>
        }
      />
    </main>
  );
}

function asFailure(error: unknown): Failure {
  if (error instanceof ApiFailure) return error;
  const known = { status: 0, retryAfterMs: null };
  if (error instanceof FilesNotHad)
    return { ...known, code: 'unreachable', text: 'The files of this page could not be had: the service does not answer.' };
  const message = error instanceof Error ? error.message : String(error);
  return { ...known, code: 'page-failed', text: `The page could not be shown: ${message}. Load it again.` };
}

/** What is shown in the place of a page that failed. */
export function Lost({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const [silence, setSilence] = useState<Failure | null>(null);
  const retry = async () => {
    if (error instanceof ApiFailure) {
      reset();
      void router.invalidate();
      return;
    }
    // Loaded again from nobody, the page would be gone with all its ways on.
    const asked = await request('/v2/session');
    if (asked.ok || asked.failure.status > 0) window.location.reload();
    else setSilence(asked.failure);
  };
  return <ErrorState failure={silence ?? asFailure(error)} onRetry={() => void retry()} />;
}
