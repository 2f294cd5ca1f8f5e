/** Links in table rows, and clicks elsewhere in rows with a link. */
import { useRouter } from '@tanstack/react-router';
import { type MouseEvent, type ReactNode, useCallback } from 'react';

type Click = Pick<MouseEvent, 'button' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'altKey'>;

const opensTab = ({ button, ctrlKey, metaKey }: Click): boolean => button === 1 || ctrlKey || metaKey;

/** Returns a function that opens a path of the dashboard, in a new tab if the click requests one. */
export function useOpenHref(): (href: string, click?: Click) => void {
  const router = useRouter();
  return useCallback(
    (href, click) => {
      if (click !== undefined && opensTab(click)) window.open(href, '_blank', 'noopener');
      else void router.navigate({ href });
    },
    [router],
  );
}

export interface RowLinkProps {
  readonly href: string;
  readonly title?: string | undefined;
  readonly className?: string;
  readonly children: ReactNode;
}

/** A link without the state that each router link tracks, because scrolling renders hundreds of rows. */
export function RowLink({ href, title, className = 'row-link', children }: RowLinkProps) {
  const open = useOpenHref();
  const onClick = (event: MouseEvent) => {
    // The browser opens tabs and windows itself.
    if (event.defaultPrevented || event.button !== 0 || opensTab(event) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    open(href);
  };
  return (
    <a href={href} className={className} title={title} tabIndex={-1} onClick={onClick}>
      {children}
    </a>
  );
}
