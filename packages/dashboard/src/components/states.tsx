/** What stands where there is nothing to show: nothing yet, nothing at all, or something that went wrong. */
import type { ReactNode } from 'react';
import type { Failure } from '../api/outcome.js';
import { Icon } from './icons.js';

export interface EmptyStateProps {
  readonly title: string;
  /** What would make something appear here, or which filter hides it. */
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}

export function EmptyState({ title, children, action }: EmptyStateProps) {
  return (
    <div className="state">
      <p className="state-title">{title}</p>
      {children ? <p>{children}</p> : null}
      {action}
    </div>
  );
}

export interface ErrorStateProps {
  readonly failure: Failure;
  readonly onRetry?: () => void;
  /** What could not be had, such as `The runs`. */
  readonly what?: string;
}

export function ErrorState({ failure, onRetry, what }: ErrorStateProps) {
  return (
    <div className="state" role="alert">
      <p className="state-title">{what === undefined ? 'This did not work' : `${what} could not be had`}</p>
      <p>
        {failure.text} <span className="mono">({failure.code})</span>
      </p>
      {onRetry ? (
        <button type="button" className="button" onClick={onRetry}>
          <Icon name="refresh" />
          Try again
        </button>
      ) : null}
    </div>
  );
}

/** A failure in a line, where something else is shown besides. */
export function FailureNotice({ failure, onRetry }: ErrorStateProps) {
  return (
    <div className="notice" data-tone="bad" role="alert">
      <span>
        {failure.text} <span className="mono">({failure.code})</span>
      </span>
      {onRetry ? (
        <button type="button" className="button button-small" onClick={onRetry}>
          Try again
        </button>
      ) : null}
    </div>
  );
}

/** Lines where text will be. */
export function Skeleton({ lines = 3 }: { readonly lines?: number }) {
  return (
    <div className="stack" aria-busy="true">
      <span className="visually-hidden">Loading</span>
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have nothing else that tells them apart
        <span key={line} className="skeleton" data-line={line % 3} aria-hidden="true" />
      ))}
    </div>
  );
}
