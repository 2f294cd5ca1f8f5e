/** Page at `/`: redirects to the overview of the instance that was opened last, or of the first instance. */
import { useQuery } from '@tanstack/react-query';
import { Navigate } from '@tanstack/react-router';
import { instancesQuery } from '../api/instances.js';
import { ApiFailure } from '../api/outcome.js';
import { EmptyState, ErrorState, Skeleton } from '../components/states.js';
import { lastInstance } from './last-instance.js';

export function Home() {
  const { data, error, refetch } = useQuery(instancesQuery);
  if (error instanceof ApiFailure)
    return <ErrorState failure={error} subject="your queue instances" onRetry={() => void refetch()} />;
  if (data === undefined) return <Skeleton lines={6} />;
  const lastId = lastInstance();
  const instance = data.find(({ id }) => id === lastId) ?? data[0];
  if (instance === undefined)
    return (
      <EmptyState title="No queue instances">
        Create one with <code>npx everstep admin instances create orders --region eu-central-1</code>, or ask for an invitation to
        a team that has one.
      </EmptyState>
    );
  return <Navigate to="/q/$instanceId/overview" params={{ instanceId: instance.id }} replace />;
}
