/** What the navigation shows, in its order. Each entry is a route in routes.tsx. */
import type { IconName } from '../components/icons.js';

export interface NavigationEntry {
  readonly to:
    | '/q/$queueId/runs'
    | '/q/$queueId/dead-letters'
    | '/q/$queueId/repairs'
    | '/q/$queueId/events'
    | '/q/$queueId/flow-control'
    | '/q/$queueId/schedules'
    | '/q/$queueId/queues'
    | '/q/$queueId/instance'
    | '/q/$queueId/team'
    | '/q/$queueId/account'
    | '/q/$queueId/users'
    | '/q/$queueId/search'
    | '/q/$queueId/audit'
    | '/q/$queueId/nodes';
  readonly text: string;
  readonly icon: IconName;
  /** Not shown to others. */
  readonly forOperators?: true;
}

export interface NavigationGroup {
  readonly heading: string;
  readonly entries: readonly NavigationEntry[];
}

export const NAVIGATION: readonly NavigationGroup[] = [
  {
    heading: 'Look',
    entries: [
      { to: '/q/$queueId/runs', text: 'Runs', icon: 'runs' },
      { to: '/q/$queueId/dead-letters', text: 'Dead letters', icon: 'dlq' },
      { to: '/q/$queueId/repairs', text: 'Repairs', icon: 'repairs' },
      { to: '/q/$queueId/events', text: 'Events', icon: 'events' },
    ],
  },
  {
    heading: 'Steer',
    entries: [
      { to: '/q/$queueId/flow-control', text: 'Flow control', icon: 'flow' },
      { to: '/q/$queueId/schedules', text: 'Schedules', icon: 'schedules' },
      { to: '/q/$queueId/queues', text: 'Queues & messages', icon: 'queues' },
    ],
  },
  {
    heading: 'Account',
    entries: [
      { to: '/q/$queueId/instance', text: 'Instance', icon: 'instance' },
      { to: '/q/$queueId/team', text: 'Team', icon: 'team' },
      { to: '/q/$queueId/account', text: 'Your account', icon: 'user' },
      { to: '/q/$queueId/users', text: 'Users', icon: 'team', forOperators: true },
      { to: '/q/$queueId/search', text: 'Search indexes', icon: 'search' },
      { to: '/q/$queueId/audit', text: 'Audit log', icon: 'audit' },
      { to: '/q/$queueId/nodes', text: 'Nodes', icon: 'nodes' },
    ],
  },
];
