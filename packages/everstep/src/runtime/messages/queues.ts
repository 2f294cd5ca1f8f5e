/**
 * Queues of messages. Changes of one instance run one after the other. A change that another process made since the queue was
 * read is detected by a guard; the queue is then read and changed again.
 *
 * Keeps invariant 28.
 */
import type { Queue } from '../../engine/runs/run.js';
import type { CommitResult, CommitUnit, ControlWrite } from '../../engine/writes.js';
import type { Cluster } from '../../ports/cluster.js';
import type { ControlStore } from '../../ports/stores/control-store.js';
import type { RunStore } from '../../ports/stores/run-store.js';
import type { DeliveryGates } from '../gates/delivery-gates.js';
import type { QueueService, QueueStatus, ResourceName } from '../interface/messages.js';
import { InstanceLocks } from '../services/instance-locks.js';

/** Maximum number of messages of a deleted queue that are canceled at once. */
const PAGE_SIZE = 500;

export interface QueuesOptions {
  readonly store: ControlStore & RunStore;
  readonly now: () => number;
  /** Makes a unit durable. Rejects if the unit may not be durable. */
  readonly commit: (unit: CommitUnit) => Promise<CommitResult>;
  readonly gates: Pick<DeliveryGates, 'onQueueChanged' | 'reloadQueue'>;
  /** The connection to other nodes; null if no other process uses the store. */
  readonly cluster: Pick<Cluster, 'notify' | 'confirm'> | null;
  readonly cancel: (runKey: string) => Promise<boolean>;
}

export class Queues implements QueueService {
  private readonly options: QueuesOptions;
  private readonly locks = new InstanceLocks();

  constructor(options: QueuesOptions) {
    this.options = options;
  }

  async put(command: Parameters<QueueService['put']>[0]): Promise<QueueStatus> {
    const { instanceId, name } = command;
    const status = await this.locks.run(instanceId, () => this.putNow(command));
    await this.options.cluster?.confirm({ kind: 'queue', instanceId, name });
    return status;
  }

  async find({ instanceId, name }: ResourceName): Promise<QueueStatus | null> {
    const queue = await this.options.store.findQueue({ instanceId, name });
    return queue && this.statusOf(instanceId, queue);
  }

  async list({ instanceId }: { readonly instanceId: string }): Promise<readonly QueueStatus[]> {
    const queues = await this.options.store.listQueues({ instanceId });
    return Promise.all(queues.map((queue) => this.statusOf(instanceId, queue)));
  }

  /** The queue is paused first and deleted last, so a deletion that was interrupted sends nothing and can be repeated. */
  delete({ instanceId, name }: ResourceName): Promise<boolean> {
    return this.locks.run(instanceId, async () => {
      const { store, now } = this.options;
      for (;;) {
        const current = await store.findQueue({ instanceId, name });
        if (!current) return false;
        const queue: Queue = { ...current, paused: true, updatedAt: now() };
        if (!(await this.write(instanceId, current, { kind: 'put-queue', instanceId, queue }))) continue;
        const horizon = await store.runHorizon({ instanceId });
        await this.cancelAll({ instanceId, name }, horizon);
        if (!(await this.write(instanceId, queue, { kind: 'delete-queue', instanceId, name }))) continue;
        await this.registerIfUsed({ instanceId, name });
        return true;
      }
    });
  }

  /** Registers a deleted queue again if it contains messages. They were published during the deletion and are sent. */
  private async registerIfUsed({ instanceId, name }: ResourceName): Promise<void> {
    const { store, commit, now } = this.options;
    if ((await store.countQueued({ instanceId, name })) === 0) return;
    await commit({ guards: [], writes: [{ kind: 'register-queue', instanceId, name, at: now() }] });
  }

  private async putNow(command: Parameters<QueueService['put']>[0]): Promise<QueueStatus> {
    const { instanceId, name, parallelism, paused } = command;
    const { store, now } = this.options;
    for (;;) {
      const current = await store.findQueue({ instanceId, name });
      const queue: Queue = {
        name,
        parallelism: parallelism ?? current?.parallelism ?? 1,
        paused: paused ?? current?.paused ?? false,
        createdAt: current?.createdAt ?? now(),
        updatedAt: now(),
      };
      if (await this.write(instanceId, current, { kind: 'put-queue', instanceId, queue }))
        return this.statusOf(instanceId, queue);
    }
  }

  private async statusOf(instanceId: string, queue: Queue): Promise<QueueStatus> {
    return { ...queue, lag: await this.options.store.countQueued({ instanceId, name: queue.name }) };
  }

  /** Cancels the messages that existed at the horizon, newest first, so that none is sent because an older one was canceled. */
  private async cancelAll({ instanceId, name }: ResourceName, horizon: string): Promise<void> {
    const { store, cancel } = this.options;
    const filter = { kind: 'message', queues: [name], statuses: ['active'] } as const;
    for (let after: string | null = null; ; ) {
      const page = await store.listRuns({ instanceId, filter, order: 'newest-first', after, horizon, limit: PAGE_SIZE });
      await Promise.all(page.items.map(({ key }) => cancel(key)));
      if (page.next === null) return;
      after = page.next;
    }
  }

  /**
   * Writes the change, applies it to the gates and reports it to other nodes. Returns false if another process changed the queue
   * since it was read.
   */
  private async write(
    instanceId: string,
    current: Queue | null,
    write: Extract<ControlWrite, { kind: 'put-queue' | 'delete-queue' }>,
  ): Promise<boolean> {
    const { commit, gates, cluster } = this.options;
    const [name, queue] = write.kind === 'put-queue' ? [write.queue.name, write.queue] : [write.name, null];
    const guard = { kind: 'queue-unchanged', instanceId, name, was: current } as const;
    const change = { kind: 'queue', instanceId, name } as const;
    try {
      const { kind } = await commit({ guards: [guard], writes: [write] });
      if (kind !== 'applied') return false;
    } catch (error) {
      // The change is durable if only the response was lost. The request does not wait until the store can be read.
      void gates.reloadQueue(instanceId, name);
      cluster?.notify(change);
      throw error;
    }
    gates.onQueueChanged(instanceId, name, queue);
    cluster?.notify(change);
    return true;
  }
}
