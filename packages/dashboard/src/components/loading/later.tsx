/** Parts of pages that no page shows at first, such as menus. They are loaded once the browser is idle, or when they are used. */
import { type ComponentType, lazy, type ReactNode, Suspense, useState } from 'react';
import { loadPageFiles } from '../../api/page-files.js';

/** Within which time the browser is asked to load them, even if it is not idle. */
const IDLE_TIMEOUT_MS = 3_000;

function whenIdle(run: () => void): void {
  // Safari has no requestIdleCallback.
  if ('requestIdleCallback' in window) window.requestIdleCallback(run, { timeout: IDLE_TIMEOUT_MS });
  else setTimeout(run, IDLE_TIMEOUT_MS);
}

function afterPage(run: () => void): void {
  if (document.readyState === 'complete') whenIdle(run);
  else window.addEventListener('load', () => whenIdle(run), { once: true });
}

const isClosed = (props: object): boolean => 'open' in props && props.open === false;

/**
 * Returns a component whose files are loaded after the page. Until they are, it shows nothing. If it has a property `open`, it is
 * first rendered when it opens.
 */
export function later<Props extends object>(files: () => Promise<{ default: (props: Props) => ReactNode }>) {
  // A failure is reported when the component is shown, which loads its files again.
  afterPage(() => void files().catch(() => {}));
  const Part: ComponentType<Props> = lazy(() => loadPageFiles(files()));
  return function Later(props: Props) {
    const [opened, setOpened] = useState(!isClosed(props));
    if (!opened && !isClosed(props)) setOpened(true);
    // A closed one stays rendered, so that closing it returns the focus.
    if (!opened) return null;
    return (
      <Suspense>
        <Part {...props} />
      </Suspense>
    );
  };
}
