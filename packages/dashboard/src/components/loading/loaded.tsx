/** The result of an API query, or its loading or failed state. */
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { ApiFailure } from '../../api/outcome.js';
import { ErrorState, FailureNotice, Skeleton } from '../states.js';

export interface NotLoadedProps {
  readonly query: Pick<UseQueryResult<unknown, ApiFailure>, 'error' | 'refetch'>;
  /** Number of gray lines while loading. Default: 3. */
  readonly lines?: number;
  /** What failed to load, such as `teams`. Without it, a failure is shown as one line. */
  readonly subject?: string;
  /** Whether the result fills a card to its edges. Its loading and failed states then get a padding. */
  readonly flush?: boolean;
}

/** The state of a query that has no result yet. */
export function NotLoaded({ query: { error, refetch }, lines = 3, subject, flush = false }: NotLoadedProps) {
  const onRetry = () => void refetch();
  const state =
    error === null ? (
      <Skeleton lines={lines} />
    ) : subject === undefined ? (
      <FailureNotice failure={error} onRetry={onRetry} />
    ) : (
      <ErrorState failure={error} onRetry={onRetry} subject={subject} />
    );
  return flush ? <div className="card-body">{state}</div> : state;
}

export interface LoadedProps<Body> extends NotLoadedProps {
  readonly query: UseQueryResult<Body, ApiFailure>;
  readonly children: (body: Body) => ReactNode;
}

/** Renders the result of a query. An earlier result stays while it is fetched again, also if that fails. */
export function Loaded<Body>({ children, ...props }: LoadedProps<Body>) {
  return props.query.data === undefined ? <NotLoaded {...props} /> : children(props.query.data);
}
