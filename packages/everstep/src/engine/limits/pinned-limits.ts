/** The stored form of pinned flow control limits. */
import type { FlowControlState } from '../runs/run.js';

/**
 * Returns the only pinned limit, or null if both or neither are pinned. Stores keep it beside a flag that says whether anything
 * is pinned. Versions that always pin both limits together read and write only that flag.
 */
export function pinnedOnly({
  parallelismPinned,
  ratePinned,
}: Pick<FlowControlState, 'parallelismPinned' | 'ratePinned'>): 'parallelism' | 'rate' | null {
  if (parallelismPinned === ratePinned) return null;
  return parallelismPinned ? 'parallelism' : 'rate';
}
