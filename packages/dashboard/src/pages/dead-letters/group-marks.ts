/** Acknowledges or resolves dead letter groups: one request per group, one toast for all. */
import { path } from '../../api/client.js';
import type { Outcome } from '../../api/outcome.js';
import { useChange } from '../../api/queries.js';
import { quantity } from '../../components/times/formats.js';
import { toastFailure, toastSuccess } from '../../components/toasts.js';

export type Mark = 'acknowledge' | 'resolve';

const PAST_TENSE: Readonly<Record<Mark, string>> = { acknowledge: 'Acknowledged', resolve: 'Resolved' };

/** Returns a function that marks groups. It stops at the first failure and shows it; groups marked before stay marked. */
export function useMarkGroups(): (mark: Mark, fingerprints: readonly string[]) => Promise<Outcome<unknown>> {
  const change = useChange();
  return async (mark, fingerprints) => {
    for (const [markedCount, fingerprint] of fingerprints.entries()) {
      const url = `${path`/v2/workflows/dlq/groups/${fingerprint}`}/${mark}`;
      const outcome = await change({ url, method: 'POST', topics: ['dlq'] });
      if (outcome.ok) continue;
      if (markedCount > 0) toastSuccess(`${PAST_TENSE[mark]} ${quantity(markedCount, 'group')}`);
      toastFailure(outcome.failure);
      return outcome;
    }
    toastSuccess(`${PAST_TENSE[mark]} ${quantity(fingerprints.length, 'group')}`);
    return { ok: true, value: null };
  };
}
