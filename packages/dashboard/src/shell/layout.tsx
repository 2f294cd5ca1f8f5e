/** Layout of every page of an instance: navigation, page content and the state of live updates. */
import { Dialog } from '@base-ui/react/dialog';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useInstanceId } from '../api/instances.js';
import { useLive, useLiveState } from '../api/live.js';
import { useUnreachableSince } from '../api/reachable.js';
import { useSession } from '../api/session.js';
import { Icon } from '../components/icons.js';
import { exactTime } from '../components/times/formats.js';
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
  const instanceId = useInstanceId();
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
                  <Link to={to} params={{ instanceId }} className="nav-link" activeOptions={{ includeSearch: false }}>
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
  waiting: 'Polling every 5 s',
} as const;

/** Overlay above the page; showing it does not move the content. */
function UnreachableNotice() {
  const since = useUnreachableSince();
  return (
    <div className="unreachable-notice" role="status">
      {since === null ? null : (
        <p>
          The server hasn't responded since {exactTime(since, 'local').slice(11)}. The data on this page may be out of date.
          Retrying every few seconds.
        </p>
      )}
    </div>
  );
}

function LiveState() {
  const state = useLiveState();
  const unreachable = useUnreachableSince() !== null;
  return (
    <p className="live-state" data-state={state}>
      <span className="live-dot" aria-hidden="true" />
      {unreachable ? 'No connection' : LIVE_TEXTS[state]}
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
  const instanceId = useInstanceId();
  useLive(instanceId);
  const pathname = useRouterState({ select: ({ location }) => location.pathname });
  const [open, setOpen] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the drawer closes when another page is shown
  useEffect(() => setOpen(false), [pathname]);
  return (
    <div className="shell">
      <a className="skip" href="#page">
        Skip to content
      </a>
      <aside className="shell-side" aria-label="Everstep">
        <SideContents />
      </aside>
      <div className="shell-main">
        <header className="shell-bar">
          <Dialog.Root open={open} onOpenChange={setOpen}>
            <Dialog.Trigger className="button button-quiet" aria-label="Open navigation">
              <Icon name="menu" />
            </Dialog.Trigger>
            <Dialog.Portal>
              <Dialog.Backdrop className="backdrop" />
              <Dialog.Popup className="drawer">
                <Dialog.Title className="visually-hidden">Navigation</Dialog.Title>
                <Dialog.Close className="button button-quiet drawer-close" aria-label="Close navigation">
                  <Icon name="cross" />
                </Dialog.Close>
                <SideContents />
              </Dialog.Popup>
            </Dialog.Portal>
          </Dialog.Root>
          <Brand />
        </header>
        <UnreachableNotice />
        <main id="page" className="shell-page" tabIndex={-1}>
          <Outlet />
        </main>
      </div>
    </div>
  );
}
