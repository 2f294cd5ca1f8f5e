import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router';
import { ApiFailure, type Failure } from '../api/outcome.js';
import { PageTitle } from '../components/page-title.js';
import { EmptyState, ErrorState } from '../components/states.js';

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

const asFailure = (error: unknown): Failure =>
  error instanceof ApiFailure
    ? error
    : {
        code: 'page-failed',
        status: 0,
        // A page whose files are gone: the service was upgraded while it was open.
        text: `The page could not be shown: ${error instanceof Error ? error.message : String(error)}. Load it again.`,
        retryAfterMs: null,
      };

/** What is shown in the place of a page that failed. */
export function Lost({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const retry = () => {
    if (error instanceof ApiFailure) {
      reset();
      void router.invalidate();
    } else window.location.reload();
  };
  return <ErrorState failure={asFailure(error)} onRetry={retry} />;
}
