/**
 * Components that no page shows at first, such as menus. They are loaded once the page shows its data and the browser is idle,
 * or when they are used.
 */
import { type ComponentType, lazy, type ReactNode, Suspense, useState } from 'react';
import { loadPageFiles } from '../../api/page-files.js';

/** Interval at which the page is checked, ms. */
const CHECK_MS = 200;
/** Maximum time to wait for an idle browser, ms. */
const IDLE_TIMEOUT_MS = 3_000;

const callbacks: (() => void)[] = [];

const isPageShown = (): boolean => document.querySelector('h1') !== null && document.querySelector('[aria-busy="true"]') === null;

function checkPage(): void {
  if (!isPageShown()) return void setTimeout(checkPage, CHECK_MS);
  for (const run of callbacks.splice(0)) {
    // Safari has no requestIdleCallback.
    if ('requestIdleCallback' in window) window.requestIdleCallback(run, { timeout: IDLE_TIMEOUT_MS });
    else run();
  }
}

/** Calls the function when the page shows its data and the browser is idle. */
function afterPage(run: () => void): void {
  if (callbacks.push(run) === 1) setTimeout(checkPage, CHECK_MS);
}

const isClosed = (props: object): boolean => 'open' in props && props.open === false;

/**
 * Returns a component whose files are loaded after the page. Until then, it shows nothing. A component with a property `open` is
 * first rendered when it opens.
 */
export function loadAfterPage<Props extends object>(files: () => Promise<{ default: (props: Props) => ReactNode }>) {
  // A failure is reported when the component is shown, which loads its files again.
  afterPage(() => void files().catch(() => {}));
  const Part: ComponentType<Props> = lazy(() => loadPageFiles(files()));
  return function LoadedAfterPage(props: Props) {
    const [hasOpened, setHasOpened] = useState(!isClosed(props));
    if (!hasOpened && !isClosed(props)) setHasOpened(true);
    // A closed component stays rendered, so that closing it returns the focus.
    if (!hasOpened) return null;
    return (
      <Suspense>
        <Part {...props} />
      </Suspense>
    );
  };
}
