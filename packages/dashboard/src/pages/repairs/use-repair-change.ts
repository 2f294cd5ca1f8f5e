/** Starts, pauses, continues or aborts a repair. The response is the changed repair, which is shown immediately. */
import { useQueryClient } from '@tanstack/react-query';
import type { ContinueRepair, RepairEntry, StartRepair } from '../../../../everstep/src/contract/repairs.js';
import { path } from '../../api/client.js';
import { useInstanceId } from '../../api/instances.js';
import type { Outcome } from '../../api/outcome.js';
import { useChange } from '../../api/queries.js';

export type RepairChange =
  | { readonly kind: 'start'; readonly body: StartRepair }
  | { readonly kind: 'continue'; readonly body: ContinueRepair }
  | { readonly kind: 'pause' | 'abort' };

export function useRepairChange(repairId: string): (repairChange: RepairChange) => Promise<Outcome<RepairEntry>> {
  const change = useChange();
  const client = useQueryClient();
  const instanceId = useInstanceId();
  return async (repairChange) => {
    const url = path`/v2/workflows/repairs/${repairId}`;
    const outcome = await change<RepairEntry>({
      url: `${url}/${repairChange.kind}`,
      method: 'POST',
      topics: ['repairs', 'dlq'],
      ...('body' in repairChange ? { body: repairChange.body } : {}),
    });
    if (outcome.ok) client.setQueryData([instanceId, 'repairs', 'repair', url, null], outcome.value);
    return outcome;
  };
}
