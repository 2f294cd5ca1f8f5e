/** Number of dead letters and of new error groups: beside the navigation entry, in the title of the tab and in its icon. */
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { DeadLetterGroupPage } from '../../../everstep/src/contract/dead-letter-groups.js';
import { request } from '../api/client.js';
import { useInstanceId } from '../api/instances.js';
import { valueIn } from '../api/outcome.js';
import { setTitlePrefix } from '../components/page-title.js';
import { countText, quantity } from '../components/times/formats.js';

/** Polling interval. Live hints are not used, so that a burst of failures does not make every open page send many requests. */
const REFRESH_MS = 5_000;
const HIDDEN_REFRESH_MS = 60_000;

export interface Backlog {
  readonly deadLetters: number;
  /** Groups that need attention: new or regressed ones, and those whose snooze has ended. */
  readonly newGroups: number;
}

const backlogOf = ({ totals: { deadLetters, needAttention } }: DeadLetterGroupPage): Backlog => ({
  deadLetters,
  newGroups: needAttention,
});

export function useBacklog(): Backlog | null {
  const instanceId = useInstanceId();
  const { data } = useQuery({
    queryKey: [instanceId, 'backlog'],
    queryFn: async ({ signal }) =>
      backlogOf(
        valueIn(
          // The totals do not depend on the page.
          await request<DeadLetterGroupPage>('/v2/workflows/dlq/groups', { instanceId, query: { count: 1 }, signal }),
        ),
      ),
    refetchInterval: ({ state }) => (document.hidden || state.error !== null ? HIDDEN_REFRESH_MS : REFRESH_MS),
    refetchIntervalInBackground: true,
  });
  return data ?? null;
}

const compact = new Intl.NumberFormat('en', { notation: 'compact' });
const MAX_LENGTH = 10;

/** Returns the counts in the space that the navigation has: `69 · 6 new`, `1.2K · 12`. */
export function compactText({ deadLetters, newGroups }: Backlog): string {
  const count = compact.format(deadLetters);
  if (newGroups === 0) return count;
  const text = `${count} · ${compact.format(newGroups)}`;
  return text.length + ' new'.length > MAX_LENGTH ? text : `${text} new`;
}

/** Shows the counts beside a navigation entry. */
export function BacklogCount({ backlog }: { readonly backlog: Backlog | null }) {
  if (backlog === null || backlog.deadLetters === 0) return null;
  const { deadLetters, newGroups } = backlog;
  return (
    // Each text gets a new element: a growing one would count as a layout shift.
    <span key={titleOf(backlog)} className="nav-count" data-new={newGroups > 0 ? '' : undefined} title={titleOf(backlog)}>
      <span aria-hidden="true">{compactText(backlog)}</span>
      <span className="visually-hidden">
        ({quantity(deadLetters, 'dead letter')}
        {newGroups === 0 ? '' : `, ${quantity(newGroups, 'new group')}`})
      </span>
    </span>
  );
}

const titleOf = ({ deadLetters, newGroups }: Backlog): string =>
  `${quantity(deadLetters, 'dead letter')}${newGroups === 0 ? '' : `, ${quantity(newGroups, 'new group')}`}`;

/** Shows the counts in the title and the icon of the browser tab. */
export function useBacklogInTab(): void {
  const backlog = useBacklog();
  const prefix =
    backlog === null || backlog.deadLetters === 0
      ? ''
      : `(${countText(backlog.deadLetters)}${backlog.newGroups === 0 ? '' : `, ${countText(backlog.newGroups)} new`}) `;
  const newGroups = backlog?.newGroups ?? 0;
  useEffect(() => {
    setTitlePrefix(prefix);
    return () => setTitlePrefix('');
  }, [prefix]);
  useEffect(() => {
    showIcon(newGroups);
    return () => showIcon(0);
  }, [newGroups]);
}

const PLAIN_ICON = '/favicon.svg';
const MAX_IN_ICON = 9;

/** Returns the icon with a red badge that contains the number of new groups. */
const badgeIcon = (count: number): string =>
  `data:image/svg+xml,${encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#2456c9"/><path d="M7 24h6v-6h6v-6h6" fill="none" stroke="#fff" stroke-width="3.5" stroke-linecap="round" stroke-linejoin="round"/><circle cx="22" cy="10" r="10" fill="#c0261f"/><text x="22" y="15.500" font-family="sans-serif" font-size="16" font-weight="700" text-anchor="middle" fill="#fff">${count > MAX_IN_ICON ? `${MAX_IN_ICON}+` : count}</text></svg>`,
  )}`;

function showIcon(newGroups: number): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  const href = newGroups === 0 ? PLAIN_ICON : badgeIcon(newGroups);
  if (link !== null && link.getAttribute('href') !== href) link.setAttribute('href', href);
}
