/** Layout of every page of an instance: navigation, page content and the state of live updates. */
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { instancesQuery, useInstanceId } from '../api/instances.js';
import { useLive, useLiveState } from '../api/live.js';
import { useUnreachableSince } from '../api/reachable.js';
import { useSession } from '../api/session.js';
import { Brand } from '../components/brand.js';
import { Icon } from '../components/icons.js';
import { loadAfterPage } from '../components/loading/load-after-page.js';
import { exactTime } from '../components/times/formats.js';
import { TimeTooltip } from '../components/times/time-tooltip.js';
import { BacklogCount, useBacklog, useBacklogInTab } from './backlog.js';
import { InstanceSwitch } from './instance-switch.js';
import { NAVIGATION } from './navigation.js';
import { UnknownInstance } from './not-found.js';
import { Shortcuts } from './shortcuts.js';
import { UserMenu } from './user-menu.js';

const Drawer = loadAfterPage(() => import('./drawer.js'));

const HomeLink = () => (
  <Link to="/" className="brand-link">
    <Brand />
  </Link>
);

function Navigation() {
  const instanceId = useInstanceId();
  const backlog = useBacklog();
  const { is_operator: isOperator } = useSession();
  return (
    <nav aria-label="Pages">
      {NAVIGATION.map(({ heading, entries }) => (
        <div key={heading} className="nav-group">
          <p className="nav-heading">{heading}</p>
          <ul>
            {entries
              .filter(({ forOperators }) => isOperator || !forOperators)
              .map(({ to, text, icon, counts }) => (
                <li key={to}>
                  <Link to={to} params={{ instanceId }} className="nav-link" activeOptions={{ includeSearch: false }}>
                    <Icon name={icon} />
                    {text}
                    {counts === 'backlog' ? <BacklogCount backlog={backlog} /> : null}
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
  const isUnreachable = useUnreachableSince() !== null;
  return (
    <p className="live-state" data-state={state}>
      <span className="live-dot" aria-hidden="true" />
      {isUnreachable ? 'No connection' : LIVE_TEXTS[state]}
    </p>
  );
}

function SidebarContent() {
  return (
    <>
      <HomeLink />
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
  useBacklogInTab();
  const pathname = useRouterState({ select: ({ location }) => location.pathname });
  const { data: instances, isFetching } = useQuery(instancesQuery);
  const isUnknown = instances !== undefined && !isFetching && !instances.some(({ id }) => id === instanceId);
  const [open, setOpen] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the drawer closes when another page is shown
  useEffect(() => setOpen(false), [pathname]);
  return (
    <div className="shell">
      <a className="skip" href="#page">
        Skip to content
      </a>
      <aside className="shell-side" aria-label="Everstep">
        <SidebarContent />
      </aside>
      <div className="shell-main">
        <header className="shell-bar">
          <button
            type="button"
            className="button button-quiet"
            aria-label="Open navigation"
            aria-haspopup="dialog"
            aria-expanded={open}
            onClick={() => setOpen(true)}
          >
            <Icon name="menu" />
          </button>
          <Drawer open={open} onClose={() => setOpen(false)}>
            <SidebarContent />
          </Drawer>
          <HomeLink />
        </header>
        <UnreachableNotice />
        <Shortcuts />
        <TimeTooltip />
        <main id="page" className="shell-page" tabIndex={-1}>
          {/* The key discards the state of a page, such as removed rows, when the user switches to another instance. */}
          {isUnknown ? <UnknownInstance /> : <Outlet key={instanceId} />}
        </main>
      </div>
    </div>
  );
}
