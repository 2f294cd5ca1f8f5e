/** Heading of a page. It receives focus after navigation, so that screen readers continue at the start of the page. */
import { type ReactNode, useEffect, useLayoutEffect, useRef } from 'react';

export interface PageTitleProps {
  readonly title: string;
  /** Shown instead of the title, for headings with markup. */
  readonly children?: ReactNode;
  /** One sentence about the purpose of the page. */
  readonly lead?: ReactNode;
  /** Buttons on the right. */
  readonly actions?: ReactNode;
}

let isFirstPage = true;
let pageTitle = '';
let titlePrefix = '';
const updateTitle = (): void => {
  document.title = `${titlePrefix}${pageTitle === '' ? '' : `${pageTitle} · `}Everstep`;
};

/** Sets a text in front of the title of the browser tab, such as `(3) `. */
export function setTitlePrefix(prefix: string): void {
  titlePrefix = prefix;
  updateTitle();
}

export function PageTitle({ title, children, lead, actions }: PageTitleProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    pageTitle = title;
    updateTitle();
  }, [title]);
  useLayoutEffect(() => {
    // After the first load, the focus stays at the top of the document, where the "Skip to content" link is.
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
