/** Commands that the command palette offers for a text, best matches first. */
import type { SavedView } from '../../components/tables/saved-views.js';

export interface Command {
  readonly id: string;
  readonly text: string;
  /** Kind of command, shown after the text. */
  readonly kind: 'Page' | 'Action' | 'Saved view' | 'Instance' | 'Search';
  readonly href: string;
}

export interface CommandSources {
  /** Path of the instance, without a trailing slash. */
  readonly base: string;
  readonly pages: readonly { readonly text: string; readonly page: string }[];
  readonly instances: readonly { readonly id: string; readonly name: string }[];
  readonly views: readonly SavedView[];
}

const ACTIONS = [
  { text: 'Trigger run', page: 'runs?action=trigger' },
  { text: 'Send event', page: 'events?action=send' },
  { text: 'Send message', page: 'queues?action=send' },
  { text: 'New schedule', page: 'schedules?action=new' },
] as const;

/** Maximum number of commands that are shown. */
const MAX_SHOWN = 12;

/** Returns whether each word of the query occurs in the text. */
const matches = (text: string, words: readonly string[]): boolean => words.every((word) => text.toLowerCase().includes(word));

/** Returns the commands for the query. An id leads to its run or dead letter; any other text can be searched for. */
export function commandsFor(query: string, { base, pages, instances, views }: CommandSources): readonly Command[] {
  const trimmed = query.trim();
  const words = trimmed.toLowerCase().split(/\s+/).filter(Boolean);
  const matching: readonly Command[] = [
    ...pages.map(({ text, page }) => ({ id: `page ${page}`, text, kind: 'Page' as const, href: `${base}/${page}` })),
    ...ACTIONS.map(({ text, page }) => ({ id: `action ${page}`, text, kind: 'Action' as const, href: `${base}/${page}` })),
    ...views.map(({ page, name, search }) => ({
      id: `view ${page} ${name}`,
      text: name,
      kind: 'Saved view' as const,
      href: `${base}/${page}${search}`,
    })),
    ...instances.map(({ id, name }) => ({
      id: `instance ${id}`,
      text: name,
      kind: 'Instance' as const,
      href: `/q/${id}/overview`,
    })),
  ].filter(({ text }) => matches(text, words));
  if (trimmed === '') return matching.slice(0, MAX_SHOWN);
  const encoded = encodeURIComponent(trimmed);
  const isId = !/\s/.test(trimmed);
  const searches: readonly Command[] = [
    ...(isId && trimmed.startsWith('dlq_')
      ? [{ id: 'dead letter', text: `Dead letter ${trimmed}`, kind: 'Search' as const, href: `${base}/dead-letters/${encoded}` }]
      : isId && trimmed.startsWith('wfr_')
        ? [{ id: 'run', text: `Run ${trimmed}`, kind: 'Search' as const, href: `${base}/runs/${encoded}` }]
        : []),
    { id: 'search', text: `Search runs for “${trimmed}”`, kind: 'Search', href: `${base}/runs?q=${encoded}` },
  ];
  return /^(?:wfr|dlq)_/.test(trimmed)
    ? [...searches, ...matching].slice(0, MAX_SHOWN)
    : [...matching.slice(0, MAX_SHOWN - searches.length), ...searches];
}
