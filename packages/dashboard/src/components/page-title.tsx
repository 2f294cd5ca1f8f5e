/** The heading of a page. It gets the focus when the page was come to, so that a reader is where the page begins. */
import { type ReactNode, useEffect, useRef } from 'react';

export interface PageTitleProps {
  readonly title: string;
  /** Shown instead of the title, where it has parts. */
  readonly children?: ReactNode;
  /** What this page is for, in a sentence. */
  readonly lead?: ReactNode;
  /** Buttons at the right. */
  readonly actions?: ReactNode;
}

let isFirstPage = true;

export function PageTitle({ title, children, lead, actions }: PageTitleProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Everstep`;
  }, [title]);
  useEffect(() => {
    // The first page begins at the top of the document, where the way to skip the navigation is.
    if (!isFirstPage) heading.current?.focus({ preventScroll: true });
    isFirstPage = false;
  }, []);
  return (
    <div className="page-head">
      <div>
        <h1 ref={heading} tabIndex={-1}>
          {children ?? title}
        </h1>
        {lead === undefined ? null : <p className="page-lead">{lead}</p>}
      </div>
      {actions === undefined ? null : <div className="line">{actions}</div>}
    </div>
  );
}
