/** Entries of the navigation, in display order. Each entry is a route in routes.tsx. */
import type { IconName } from '../components/icons.js';

export interface NavigationEntry {
  readonly to:
    | '/q/$instanceId/overview'
    | '/q/$instanceId/runs'
    | '/q/$instanceId/dead-letters'
    | '/q/$instanceId/repairs'
    | '/q/$instanceId/events'
    | '/q/$instanceId/workers'
    | '/q/$instanceId/alerts'
    | '/q/$instanceId/flow-control'
    | '/q/$instanceId/schedules'
    | '/q/$instanceId/queues'
    | '/q/$instanceId/instance'
    | '/q/$instanceId/team'
    | '/q/$instanceId/account'
    | '/q/$instanceId/users'
    | '/q/$instanceId/search'
    | '/q/$instanceId/audit'
    | '/q/$instanceId/nodes';
  readonly text: string;
  readonly icon: IconName;
  /** Count shown beside the text. */
  readonly counts?: 'backlog';
  /** Shown only to operators. */
  readonly forOperators?: true;
}

export interface NavigationGroup {
  readonly heading: string;
  readonly entries: readonly NavigationEntry[];
}

export const NAVIGATION: readonly NavigationGroup[] = [
  {
    heading: 'Monitor',
    entries: [
      { to: '/q/$instanceId/overview', text: 'Overview', icon: 'overview' },
      { to: '/q/$instanceId/runs', text: 'Runs', icon: 'runs' },
      { to: '/q/$instanceId/dead-letters', text: 'Dead letters', icon: 'dlq', counts: 'backlog' },
      { to: '/q/$instanceId/repairs', text: 'Repairs', icon: 'repairs' },
      { to: '/q/$instanceId/events', text: 'Events', icon: 'events' },
      { to: '/q/$instanceId/workers', text: 'Workers', icon: 'workers' },
      { to: '/q/$instanceId/alerts', text: 'Alerts', icon: 'alerts' },
    ],
  },
  {
    heading: 'Control',
    entries: [
      { to: '/q/$instanceId/flow-control', text: 'Flow control', icon: 'flow' },
      { to: '/q/$instanceId/schedules', text: 'Schedules', icon: 'schedules' },
      { to: '/q/$instanceId/queues', text: 'Queues & messages', icon: 'queues' },
    ],
  },
  {
    heading: 'Settings',
    entries: [
      { to: '/q/$instanceId/instance', text: 'Instance', icon: 'instance' },
      { to: '/q/$instanceId/team', text: 'Team', icon: 'team' },
      { to: '/q/$instanceId/account', text: 'Your account', icon: 'user' },
      { to: '/q/$instanceId/users', text: 'Users', icon: 'team', forOperators: true },
      { to: '/q/$instanceId/search', text: 'Search indexes', icon: 'search' },
      { to: '/q/$instanceId/audit', text: 'Audit log', icon: 'audit' },
      { to: '/q/$instanceId/nodes', text: 'Nodes', icon: 'nodes' },
    ],
  },
];
