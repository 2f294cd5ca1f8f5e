/** Attention items, as rows that keep their positions while a page is open. */
import type { AttentionItem } from '../../../../everstep/src/contract/insights/insights.js';
import { path } from '../../api/client.js';
import type { Tone } from '../../components/status-badge.js';
import { quantity } from '../../components/times/formats.js';
import { stringifySearch } from '../../search-parameters.js';

interface AttentionKind {
  readonly name: string;
  readonly tone: Tone;
  /** Returns the title of the item. */
  readonly titleOf: (item: AttentionItem) => string;
  readonly countOf: (item: AttentionItem) => string;
  /** Returns the path of the page with details, below the path of the instance. */
  readonly pageOf: (item: AttentionItem) => string;
}

const waitingText = ({ count }: AttentionItem): string => quantity(count, 'waiting delivery', 'waiting deliveries');
const titleWithReason = ({ subject, text }: AttentionItem): string => (text === '' ? subject : `${subject}: ${text}`);

export const ATTENTION_KINDS: Readonly<Record<AttentionItem['kind'], AttentionKind>> = {
  'dead-letter-group': {
    name: 'Error',
    tone: 'bad',
    titleOf: ({ text, subject }) => (text === '' ? subject : text),
    countOf: ({ count }) => quantity(count, 'dead letter'),
    pageOf: ({ subject }) => `/dead-letters${stringifySearch({ view: 'entries', fingerprint: subject })}`,
  },
  'held-destination': {
    name: 'Held',
    tone: 'warn',
    titleOf: titleWithReason,
    countOf: waitingText,
    pageOf: () => '/flow-control',
  },
  'no-worker': { name: 'No worker', tone: 'warn', titleOf: titleWithReason, countOf: waitingText, pageOf: () => '/workers' },
  'paused-key': {
    name: 'Paused',
    tone: 'warn',
    titleOf: titleWithReason,
    countOf: waitingText,
    pageOf: ({ subject }) => path`/flow-control/${subject}`,
  },
  'oldest-pending': {
    name: 'Overdue',
    tone: 'warn',
    titleOf: () => 'A delivery has been due for more than five minutes',
    countOf: () => '',
    pageOf: () => `/runs${stringifySearch({ state: 'RUN_STARTED' })}`,
  },
  'store-unavailable': {
    name: 'Store',
    tone: 'bad',
    titleOf: ({ text }) => `The store rejects writes: ${text}`,
    countOf: () => '',
    pageOf: () => '/nodes',
  },
};

/** Returns the number of error groups that need attention but are not in the list. */
export const unlistedErrorCount = (items: readonly AttentionItem[], errorGroupCount: number): number =>
  Math.max(0, errorGroupCount - items.filter(({ kind }) => kind === 'dead-letter-group').length);

export interface ShownItem {
  readonly item: AttentionItem;
  /** Whether the item no longer needs attention. */
  readonly isResolved: boolean;
}

export const idOf = ({ kind, subject }: AttentionItem): string => `${kind} ${subject}`;

/** Maximum number of resolved items that stay in place. */
const MAX_RESOLVED = 20;

/**
 * Returns the items to show. Items that were shown before keep their positions, resolved or not, and new ones are added at the end.
 * Resolved items are dropped if there are too many, or if only resolved items remain.
 */
export function updateShownItems(before: readonly ShownItem[], items: readonly AttentionItem[]): readonly ShownItem[] {
  const remaining = new Map(items.map((item) => [idOf(item), item]));
  const knownItems = before.map((shown): ShownItem => {
    const item = remaining.get(idOf(shown.item));
    remaining.delete(idOf(shown.item));
    return item === undefined ? { item: shown.item, isResolved: true } : { item, isResolved: false };
  });
  const allItems = [...knownItems, ...[...remaining.values()].map((item): ShownItem => ({ item, isResolved: false }))];
  const resolvedCount = allItems.filter((shown) => shown.isResolved).length;
  return resolvedCount > MAX_RESOLVED || resolvedCount === allItems.length
    ? allItems.filter((shown) => !shown.isResolved)
    : allItems;
}
