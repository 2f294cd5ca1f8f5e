/** Badges with the states of repairs and their items. */
import { StatusBadge } from '../../components/status-badge.js';
import { type BadgeText, ITEM_STATES, type ItemState, REPAIR_STATES, type RepairState } from './repair-text.js';

export function TextBadge({ badge: { text, tone, icon } }: { readonly badge: BadgeText }) {
  return (
    <StatusBadge tone={tone} {...(icon === undefined ? {} : { icon })}>
      {text}
    </StatusBadge>
  );
}

export const RepairStateBadge = ({ state }: { readonly state: RepairState }) => <TextBadge badge={REPAIR_STATES[state]} />;
export const ItemStateBadge = ({ state }: { readonly state: ItemState }) => <TextBadge badge={ITEM_STATES[state]} />;
