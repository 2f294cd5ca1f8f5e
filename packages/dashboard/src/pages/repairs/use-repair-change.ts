/** Start, pause, continue and abort. The answer is the repair as it is afterwards, and is shown at once. */
import { useQueryClient } from '@tanstack/react-query';
import type { ContinueRepair, RepairEntry, StartRepair } from '../../../../everstep/src/contract/repairs.js';
import { path } from '../../api/client.js';
import { useQueueId } from '../../api/instances.js';
import type { Outcome } from '../../api/outcome.js';
import { useChange } from '../../api/queries.js';

export type RepairChange =
  | { readonly kind: 'start'; readonly body: StartRepair }
  | { readonly kind: 'continue'; readonly body: ContinueRepair }
  | { readonly kind: 'pause' | 'abort' };

export function useRepairChange(repairId: string): (asked: RepairChange) => Promise<Outcome<RepairEntry>> {
  const change = useChange();
  const client = useQueryClient();
  const queueId = useQueueId();
  return async (asked) => {
    const url = path`/v2/workflows/repairs/${repairId}`;
    const outcome = await change<RepairEntry>({
      url: `${url}/${asked.kind}`,
      method: 'POST',
      topics: ['repairs', 'dlq'],
      ...('body' in asked ? { body: asked.body } : {}),
    });
    if (outcome.ok) client.setQueryData([queueId, 'repairs', 'repair', url, null], outcome.value);
    return outcome;
  };
}
