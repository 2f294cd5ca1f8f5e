/** Placeholders for missing content: empty, failed and loading states. */
import type { ReactNode } from 'react';
import type { Failure } from '../api/outcome.js';
import { Icon } from './icons.js';

export interface EmptyStateProps {
  readonly title: string;
  /** What makes content appear here, or which filter hides it. */
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
  /** What failed to load, such as `runs` or `this run`. */
  readonly subject: string;
}

export function ErrorState({ failure, onRetry, subject }: ErrorStateProps) {
  return (
    <div className="state" role="alert">
      <p className="state-title">Couldn't load {subject}</p>
      <p>
        {failure.text} <span className="mono">({failure.code})</span>
      </p>
      {onRetry ? (
        <button type="button" className="button" onClick={onRetry}>
          <Icon name="refresh" />
          Retry
        </button>
      ) : null}
    </div>
  );
}

/** A failure in one line, beside other content. */
export function FailureNotice({ failure, onRetry }: Omit<ErrorStateProps, 'subject'>) {
  return (
    <div className="notice" data-tone="bad" role="alert">
      <span>
        {failure.text} <span className="mono">({failure.code})</span>
      </span>
      {onRetry ? (
        <button type="button" className="button button-small" onClick={onRetry}>
          Retry
        </button>
      ) : null}
    </div>
  );
}

/** Gray lines in place of text that is loading. */
export function Skeleton({ lines = 3 }: { readonly lines?: number }) {
  return (
    <div className="stack" aria-busy="true">
      <span className="visually-hidden">Loading</span>
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines differ only in their index
        <span key={line} className="skeleton" data-line={line % 3} aria-hidden="true" />
      ))}
    </div>
  );
}
