/** Which limits of a flow control key are pinned, as stores keep it. */
import type { FlowControlState } from './run.js';

/**
 * The one limit that is pinned alone; null when both are, or none is. Stores keep it beside a flag that says whether anything is
 * pinned, which versions that pin both limits together read and write on its own.
 */
export function pinnedOnly({
  parallelismPinned,
  ratePinned,
}: Pick<FlowControlState, 'parallelismPinned' | 'ratePinned'>): 'parallelism' | 'rate' | null {
  if (parallelismPinned === ratePinned) return null;
  return parallelismPinned ? 'parallelism' : 'rate';
}
