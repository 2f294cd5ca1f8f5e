/** The frame of every page of an instance: navigation, the page, and what is said about live updates. */
import { Dialog } from '@base-ui/react/dialog';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useQueueId } from '../api/instances.js';
import { useLive, useLiveState } from '../api/live.js';
import { useSilentSince } from '../api/reachable.js';
import { useSession } from '../api/session.js';
import { exactTime } from '../components/formats.js';
import { Icon } from '../components/icons.js';
import { InstanceSwitch } from './instance-switch.js';
import { NAVIGATION } from './navigation.js';
import { UserMenu } from './user-menu.js';

function Brand() {
  return (
    <Link to="/" className="brand">
      <svg className="brand-mark" viewBox="0 0 32 32" fill="none" aria-hidden="true">
        <path d="M5 26h8v-8h7v-8h7" stroke="currentColor" strokeWidth="4.5" strokeLinecap="round" strokeLinejoin="round" />
      </svg>
      Everstep
    </Link>
  );
}

function Navigation() {
  const queueId = useQueueId();
  const { is_operator: isOperator } = useSession();
  return (
    <nav aria-label="Pages">
      {NAVIGATION.map(({ heading, entries }) => (
        <div key={heading} className="nav-group">
          <p className="nav-heading">{heading}</p>
          <ul>
            {entries
              .filter(({ forOperators }) => isOperator || !forOperators)
              .map(({ to, text, icon }) => (
                <li key={to}>
                  <Link to={to} params={{ queueId }} className="nav-link" activeOptions={{ includeSearch: false }}>
                    <Icon name={icon} />
                    {text}
                  </Link>
                </li>
              ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

const LIVE_TEXTS = {
  connecting: 'Connecting',
  connected: 'Live',
  waiting: 'Asking every 5 s',
} as const;

/** Above the page, which does not move. */
function SilenceNotice() {
  const since = useSilentSince();
  return (
    <div className="silence" role="status">
      {since === null ? null : (
        <p>
          The service does not answer since {exactTime(since, 'local').slice(11)}. What is shown is from before; it is asked again
          every few seconds.
        </p>
      )}
    </div>
  );
}

function LiveState() {
  const state = useLiveState();
  const silent = useSilentSince() !== null;
  return (
    <p className="live-state" data-state={state}>
      <span className="live-dot" aria-hidden="true" />
      {silent ? 'No connection' : LIVE_TEXTS[state]}
    </p>
  );
}

function SideContents() {
  return (
    <>
      <Brand />
      <InstanceSwitch />
      <Navigation />
      <div className="shell-foot">
        <LiveState />
        <UserMenu />
      </div>
    </>
  );
}

export function Layout() {
  const queueId = useQueueId();
  useLive(queueId);
  const pathname = useRouterState({ select: ({ location }) => location.pathname });
  const [open, setOpen] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the drawer closes when another page is shown
  useEffect(() => setOpen(false), [pathname]);
  return (
    <div className="shell">
      <a className="skip" href="#page">
        Skip to the page
      </a>
      <aside className="shell-side" aria-label="Everstep">
        <SideContents />
      </aside>
      <div className="shell-main">
        <header className="shell-bar">
          <Dialog.Root open={open} onOpenChange={setOpen}>
            <Dialog.Trigger className="button button-quiet" aria-label="Open the navigation">
              <Icon name="menu" />
            </Dialog.Trigger>
            <Dialog.Portal>
              <Dialog.Backdrop className="veil" />
              <Dialog.Popup className="drawer">
                <Dialog.Title className="visually-hidden">Navigation</Dialog.Title>
                <Dialog.Close className="button button-quiet drawer-close" aria-label="Close the navigation">
                  <Icon name="cross" />
                </Dialog.Close>
                <SideContents />
              </Dialog.Popup>
            </Dialog.Portal>
          </Dialog.Root>
          <Brand />
        </header>
        <SilenceNotice />
        <main id="page" className="shell-page" tabIndex={-1}>
          <Outlet />
        </main>
      </div>
    </div>
  );
}
