/**
 * Reads pages of messages. No index supports the host and path of a destination, so the messages are compared with these filters
 * in slices, up to a limit for each request. The caller continues at the position where the scan stopped.
 */
import { LIMITS } from '../../config/limits.js';
import { runKeyOfMessage } from '../../engine/ids.js';
import { hasDestination, matchesDestination } from '../../engine/messages/destination-filter.js';
import type { WorkSlices } from '../../fairness/work-slices.js';
import type { RunStore } from '../../ports/stores/run-store.js';
import type { Listing, Position } from '../../ports/stores/store.js';
import type { ListedMessage, MessageEventQuery } from '../interface/messages.js';
import { isMessageRun } from './message-log.js';

interface MessagePagesOptions {
  readonly store: Pick<RunStore, 'listRuns' | 'listSearchableRuns'>;
  readonly slices: Pick<WorkSlices, 'run'>;
}

/** The pages of one request. */
export class MessagePages {
  private readonly options: MessagePagesOptions;
  private scannedCount = 0;

  constructor(options: MessagePagesOptions) {
    this.options = options;
  }

  /** Whether the limit of one request is reached. The next page is then empty. */
  get isSpent(): boolean {
    return this.scannedCount >= LIMITS.maxRunsSearched;
  }

  /** Reads the next page. It can be short or empty although more pages follow. */
  async read(query: Omit<MessageEventQuery, 'states'>): Promise<Listing<ListedMessage>> {
    const { instanceId, order, limit } = query;
    const { messageIds, hosts, paths, ...storeFilter } = query.filter;
    const runKeys = messageIds?.map(runKeyOfMessage).filter((key) => key !== null);
    const filter = { ...storeFilter, kind: 'message', ...(runKeys ? { runKeys } : {}) } as const;
    const destination = { ...(hosts && { hosts }), ...(paths && { paths }) };
    const page = { instanceId, filter, order, horizon: null } as const;
    const { store, slices } = this.options;
    if (!hasDestination(destination)) return messagesOf(await store.listRuns({ ...page, after: query.after, limit }));
    let after: Position | null = query.after;
    while (!this.isSpent) {
      const scanPage = { ...page, after, limit: LIMITS.runsSearchedAtOnce };
      const { items, next } = await slices.run(instanceId, () => store.listSearchableRuns(scanPage));
      this.scannedCount += items.length;
      const matching = items.filter(({ workflowUrl }) => matchesDestination(workflowUrl, destination));
      const selected = matching.slice(0, limit);
      const selectedKeys = selected.map(({ runKey }) => runKey);
      if (selected.length > 0) {
        const selectedFilter = { kind: 'message', runKeys: selectedKeys } as const;
        const listing = await store.listRuns({ ...page, filter: selectedFilter, after: null, limit: selected.length });
        const last = selected.length < matching.length ? selected.at(-1) : undefined;
        return messagesOf({ items: listing.items, next: last?.position ?? next });
      }
      if (next === null) return { items: [], next: null };
      after = next;
    }
    return { items: [], next: after };
  }
}

const messagesOf = ({ items, next }: Awaited<ReturnType<RunStore['listRuns']>>): Listing<ListedMessage> => ({
  items: items.filter((run): run is ListedMessage => isMessageRun(run)),
  next,
});
