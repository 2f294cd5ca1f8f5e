/** Badge with the state of a flow control key. */
import type { FlowControlEntry } from '../../../../everstep/src/contract/service.js';
import { StatusBadge } from '../../components/status-badge.js';

/** Polling interval: counts change with every delivery and have no live hints. */
export const REFRESH_MS = 2_000;

export function KeyState({ entry }: { readonly entry: FlowControlEntry }) {
  if (entry.isPaused) return <StatusBadge tone="warn">Paused</StatusBadge>;
  if (entry.waitListSize > 0) return <StatusBadge tone="info">Waiting</StatusBadge>;
  return <StatusBadge tone="quiet">Idle</StatusBadge>;
}
