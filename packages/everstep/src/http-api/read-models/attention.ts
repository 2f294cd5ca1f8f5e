/** Lists the items of a queue instance that need attention now, most urgent first. */
import { truncateText } from '@everstep/sdk/protocol';
import type { AttentionItem } from '../../contract/insights/insights.js';
import { needingAttention } from '../../engine/dead-letters/group-triage.js';
import type { WorkflowService } from '../../runtime/services/workflow-service.js';
import type { Reads } from './reads.js';

const MAX_ITEMS = 20;
const MAX_GROUPS = 8;
const MAX_TEXT_LENGTH = 300;
/** A delivery that has been due for longer than this needs attention. */
const OVERDUE_MS = 5 * 60_000;

export interface Attention {
  readonly items: AttentionItem[];
  /** Number of dead letter groups that need attention. `items` may contain fewer. */
  readonly groupCount: number;
}

export interface AttentionSources {
  readonly reads: Pick<Reads, 'deadLetterGroups'>;
  readonly service: Pick<WorkflowService, 'destinations' | 'flowControl' | 'now'>;
  readonly storeRefusal: () => string | null;
}

/** Returns what needs attention. `oldestDueAt` is the due time of the oldest pending delivery in Unix ms, or null. */
export async function attentionOf(
  { reads, service, storeRefusal }: AttentionSources,
  instanceId: string,
  oldestDueAt: number | null,
): Promise<Attention> {
  const now = service.now();
  const allItems: AttentionItem[] = [];
  const add = (kind: AttentionItem['kind'], item: Partial<AttentionItem>): void => {
    const { subject = '', text = '', count = 0, since = null } = item;
    allItems.push({ kind, subject, text: truncateText(text, MAX_TEXT_LENGTH), count, since });
  };
  const refusal = storeRefusal();
  if (refusal !== null) add('store-unavailable', { text: refusal });
  for (const { origin, hold, noWorkerSince, waiting } of await service.destinations.list({ instanceId })) {
    if (hold) add('held-destination', { subject: origin, text: hold.reason, count: waiting, since: hold.since });
    else if (noWorkerSince !== undefined && waiting > 0)
      add('no-worker', { subject: origin, count: waiting, since: noWorkerSince });
  }
  const query = { instanceId, kind: 'workflow', now } as const;
  const urgentGroups = await reads.deadLetterGroups.needingAttention({ ...query, limit: MAX_GROUPS });
  for (const { fingerprint, message, latest, entries, firstSeenAt, regressedAt } of urgentGroups)
    add('dead-letter-group', {
      subject: fingerprint,
      text: latest?.message ?? message,
      count: entries,
      since: regressedAt ?? firstSeenAt,
    });
  for (const { key, paused, waiting } of await service.flowControl.list({ instanceId }))
    if (paused && waiting > 0) add('paused-key', { subject: key, count: waiting });
  if (oldestDueAt !== null && now - oldestDueAt > OVERDUE_MS) add('oldest-pending', { count: 1, since: oldestDueAt });
  const items = allItems.slice(0, MAX_ITEMS);
  // Most instances have few groups, so all of them were read.
  const groupCount =
    urgentGroups.length < MAX_GROUPS ? urgentGroups.length : needingAttention(await reads.deadLetterGroups.totals(query));
  return { items, groupCount };
}
