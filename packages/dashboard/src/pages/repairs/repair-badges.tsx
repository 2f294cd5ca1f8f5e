/** States of repairs and of their items, each in a word with a sign. */
import { StatusBadge } from '../../components/status-badge.js';
import { ITEM_STATES, type ItemState, REPAIR_STATES, type RepairState, type Words } from './repair-words.js';

export function WordsBadge({ words: { text, tone, icon } }: { readonly words: Words }) {
  return (
    <StatusBadge tone={tone} {...(icon === undefined ? {} : { icon })}>
      {text}
    </StatusBadge>
  );
}

export const RepairStateBadge = ({ state }: { readonly state: RepairState }) => <WordsBadge words={REPAIR_STATES[state]} />;
export const ItemStateBadge = ({ state }: { readonly state: ItemState }) => <WordsBadge words={ITEM_STATES[state]} />;
