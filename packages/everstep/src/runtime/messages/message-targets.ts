/**
 * Queues and groups of URLs. Changes of one instance happen one after the
 * other, so that none writes over what another has read; what another process
 * has read and changed meanwhile is refused, and read and decided again.
 * Keeps invariant 28.
 */
import type { GroupEndpoint, Queue, UrlGroup } from '../../engine/runs/run.js';
import type { CommitResult, CommitUnit, ControlWrite, StoreGuard } from '../../engine/writes.js';
import type { Store } from '../../ports/stores/store.js';
import type { MessageService, QueueStatus } from '../services/workflow-service.js';

/** Messages of a deleted queue that are canceled in one go. */
const PAGE = 500;

export interface MessageTargetsOptions {
  readonly store: Pick<
    Store,
    'findQueue' | 'listQueues' | 'countQueued' | 'findUrlGroup' | 'listUrlGroups' | 'listRuns' | 'runHorizon'
  >;
  readonly now: () => number;
  /** Makes a unit durable; rejects when that may not have happened. */
  readonly commit: (unit: CommitUnit) => Promise<CommitResult>;
  /** What was set of a queue is durable; null: it was deleted. */
  readonly queueChanged: (instanceId: string, name: string, queue: Queue | null) => void;
  readonly cancel: (runKey: string) => Promise<boolean>;
}

type Methods =
  | 'putQueue'
  | 'queue'
  | 'queues'
  | 'deleteQueue'
  | 'addEndpoints'
  | 'removeEndpoints'
  | 'urlGroup'
  | 'urlGroups'
  | 'deleteUrlGroup';
type Named = Parameters<MessageService['queue']>[0];
type EndpointName = Parameters<MessageService['removeEndpoints']>[0]['endpoints'][number];

const isNamed = (endpoint: GroupEndpoint, { name, url }: EndpointName): boolean =>
  (name !== undefined && endpoint.name === name) || (url !== undefined && endpoint.url === url);

/** Those that are new take the place of those with their name or URL. */
function joined(before: readonly GroupEndpoint[], added: readonly GroupEndpoint[]): readonly GroupEndpoint[] {
  let endpoints = before;
  for (const { name, url } of added) {
    const known = name === null ? { url } : { name, url };
    const place = endpoints.findIndex((endpoint) => isNamed(endpoint, known));
    const others = endpoints.filter((endpoint) => !isNamed(endpoint, known));
    const at = place < 0 ? others.length : Math.min(place, others.length);
    endpoints = [...others.slice(0, at), { name, url }, ...others.slice(at)];
  }
  return endpoints;
}

export class MessageTargets implements Pick<MessageService, Methods> {
  private readonly options: MessageTargetsOptions;
  private readonly last = new Map<string, Promise<unknown>>();

  constructor(options: MessageTargetsOptions) {
    this.options = options;
  }

  putQueue(command: Parameters<MessageService['putQueue']>[0]): Promise<QueueStatus> {
    const { instanceId, name, parallelism, paused } = command;
    return this.inTurn(instanceId, async () => {
      const { store, now, queueChanged } = this.options;
      for (;;) {
        const was = await store.findQueue({ instanceId, name });
        const queue: Queue = {
          name,
          parallelism: parallelism ?? was?.parallelism ?? 1,
          paused: paused ?? was?.paused ?? false,
          createdAt: was?.createdAt ?? now(),
          updatedAt: now(),
        };
        if (!(await this.write({ kind: 'put-queue', instanceId, queue }, { kind: 'queue-unchanged', instanceId, name, was })))
          continue;
        queueChanged(instanceId, name, queue);
        return this.statusOf(instanceId, queue);
      }
    });
  }

  async queue({ instanceId, name }: Named): Promise<QueueStatus | null> {
    const queue = await this.options.store.findQueue({ instanceId, name });
    return queue && this.statusOf(instanceId, queue);
  }

  async queues({ instanceId }: { readonly instanceId: string }): Promise<readonly QueueStatus[]> {
    const queues = await this.options.store.listQueues({ instanceId });
    return Promise.all(queues.map((queue) => this.statusOf(instanceId, queue)));
  }

  deleteQueue({ instanceId, name }: Named): Promise<boolean> {
    return this.inTurn(instanceId, async () => {
      const { store, queueChanged } = this.options;
      for (;;) {
        const was = await store.findQueue({ instanceId, name });
        if (!was) return false;
        const horizon = await store.runHorizon({ instanceId });
        if (!(await this.write({ kind: 'delete-queue', instanceId, name }, { kind: 'queue-unchanged', instanceId, name, was })))
          continue;
        await this.cancelAll({ instanceId, name }, horizon);
        queueChanged(instanceId, name, null);
        return true;
      }
    });
  }

  addEndpoints(command: Parameters<MessageService['addEndpoints']>[0]): Promise<UrlGroup> {
    const { instanceId, name, endpoints } = command;
    return this.inTurn(instanceId, async () => {
      for (;;) {
        const was = await this.options.store.findUrlGroup({ instanceId, name });
        const group = await this.putGroup(instanceId, name, was, joined(was?.endpoints ?? [], endpoints));
        if (group) return group;
      }
    });
  }

  removeEndpoints(command: Parameters<MessageService['removeEndpoints']>[0]): Promise<UrlGroup | null> {
    const { instanceId, name, endpoints } = command;
    return this.inTurn(instanceId, async () => {
      for (;;) {
        const was = await this.options.store.findUrlGroup({ instanceId, name });
        if (!was) return null;
        const left = was.endpoints.filter((endpoint) => !endpoints.some((named) => isNamed(endpoint, named)));
        const group = await this.putGroup(instanceId, name, was, left);
        if (group) return group;
      }
    });
  }

  urlGroup(query: Named): Promise<UrlGroup | null> {
    return this.options.store.findUrlGroup(query);
  }

  urlGroups(query: { readonly instanceId: string }): Promise<readonly UrlGroup[]> {
    return this.options.store.listUrlGroups(query);
  }

  deleteUrlGroup({ instanceId, name }: Named): Promise<boolean> {
    return this.inTurn(instanceId, async () => {
      for (;;) {
        const was = await this.options.store.findUrlGroup({ instanceId, name });
        if (!was) return false;
        const guard = { kind: 'url-group-unchanged', instanceId, name, was } as const;
        if (await this.write({ kind: 'delete-url-group', instanceId, name }, guard)) return true;
      }
    });
  }

  /** Null when another process has changed it since. */
  private async putGroup(
    instanceId: string,
    name: string,
    was: UrlGroup | null,
    endpoints: readonly GroupEndpoint[],
  ): Promise<UrlGroup | null> {
    const now = this.options.now();
    const group: UrlGroup = { name, endpoints, createdAt: was?.createdAt ?? now, updatedAt: now };
    const guard = { kind: 'url-group-unchanged', instanceId, name, was } as const;
    return (await this.write({ kind: 'put-url-group', instanceId, group }, guard)) ? group : null;
  }

  private async statusOf(instanceId: string, queue: Queue): Promise<QueueStatus> {
    return { ...queue, lag: await this.options.store.countQueued({ instanceId, name: queue.name }) };
  }

  /** Those that were there; the last ones first, so that none of them is let through because one before it went. */
  private async cancelAll({ instanceId, name }: Named, horizon: string): Promise<void> {
    const { store, cancel } = this.options;
    const filter = { kind: 'message', queues: [name], statuses: ['active'] } as const;
    for (let after: string | null = null; ; ) {
      const page = await store.listRuns({ instanceId, filter, order: 'newest-first', after, horizon, limit: PAGE });
      await Promise.all(page.items.map(({ key }) => cancel(key)));
      if (page.next === null) return;
      after = page.next;
    }
  }

  /** False when the guard did not hold. */
  private async write(write: ControlWrite, guard: StoreGuard): Promise<boolean> {
    return (await this.options.commit({ guards: [guard], writes: [write] })).kind === 'applied';
  }

  /** After all that was begun before it for the instance. */
  private inTurn<Result>(instanceId: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.last.get(instanceId) ?? Promise.resolve();
    const result = before.then(work);
    const settled = result.then(
      () => {},
      () => {},
    );
    this.last.set(instanceId, settled);
    void settled.then(() => {
      if (this.last.get(instanceId) === settled) this.last.delete(instanceId);
    });
    return result;
  }
}
