/**
 * Parts of pages that no page shows at first, such as menus. They are loaded once the page shows its data
 * and the browser is idle, or when they are used.
 */
import { type ComponentType, lazy, type ReactNode, Suspense, useState } from 'react';
import { loadPageFiles } from '../../api/page-files.js';

/** Interval at which the page is checked, and within which time the browser must then load the parts, even if it is not idle. */
const CHECK_MS = 200;
const IDLE_TIMEOUT_MS = 3_000;

const waiting: (() => void)[] = [];

const isPageShown = (): boolean => document.querySelector('h1') !== null && document.querySelector('[aria-busy="true"]') === null;

function checkPage(): void {
  if (!isPageShown()) return void setTimeout(checkPage, CHECK_MS);
  for (const run of waiting.splice(0)) {
    // Safari has no requestIdleCallback.
    if ('requestIdleCallback' in window) window.requestIdleCallback(run, { timeout: IDLE_TIMEOUT_MS });
    else run();
  }
}

/** Calls the function when the page shows its data and the browser is idle. */
function afterPage(run: () => void): void {
  if (waiting.push(run) === 1) setTimeout(checkPage, CHECK_MS);
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
