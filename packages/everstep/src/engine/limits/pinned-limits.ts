/** The stored form of pinned flow control limits. */
import type { FlowControlState } from '../runs/run.js';

/**
 * Returns the only pinned limit, or null if both or neither are pinned. Stores keep it next to a flag that states whether any
 * limit is pinned. Earlier versions, which always pin both limits together, read and write only the flag.
 */
export function onlyPinnedLimit({
  parallelismPinned,
  ratePinned,
}: Pick<FlowControlState, 'parallelismPinned' | 'ratePinned'>): 'parallelism' | 'rate' | null {
  if (parallelismPinned === ratePinned) return null;
  return parallelismPinned ? 'parallelism' : 'rate';
}
