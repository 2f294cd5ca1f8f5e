/**
 * Several nodes: the gates of an instance belong to one node at a time. Limits over all deliveries (a flow control key, a
 * queue, the plan) are therefore exact. A delivery without such a limit is sent by the node that has its task.
 *
 * Keeps invariant 25.
 */
import type { InstanceLimits } from '../../ports/stores/instance-limits.js';
import type { Delivery, DeliveryLimits } from '../gates/delivery.js';
import type { HandOverDeps, HandOvers } from './handovers.js';

export interface GateHoldersDeps extends HandOverDeps {
  readonly limits: Pick<InstanceLimits, 'maxParallelism'>;
}

/** The gates of this node. */
export interface LocalGates {
  offer(delivery: Delivery): void;
}

export class GateHolders {
  private readonly deps: GateHoldersDeps;
  private readonly localGates: LocalGates;
  /** The last known holders, by instance. A node that receives a delivery for gates that it does not hold forwards it. */
  private holders = new Map<string, string>();
  /** Changes when the holders are forgotten: responses to earlier look-ups are stale. */
  private generation = 0;
  /** Deliveries that wait for a look-up, by instance. */
  private readonly lookups = new Map<string, Delivery[]>();
  private readonly handOvers: HandOvers;
  /** Instances with new messages whose holder is notified at the end of the turn. */
  private readonly instancesToNotify = new Set<string>();

  constructor(deps: GateHoldersDeps, localGates: LocalGates, handOvers: HandOvers) {
    this.deps = deps;
    this.localGates = localGates;
    this.handOvers = handOvers;
  }

  /** Returns whether this node is known to hold the gates of the instance. */
  holds(instanceId: string): boolean {
    return this.holders.get(instanceId) === this.deps.cluster.nodeId;
  }

  /** Instances whose gates this node holds. */
  get heldInstances(): readonly string[] {
    const { nodeId } = this.deps.cluster;
    return [...this.holders].filter(([, holder]) => holder === nodeId).map(([instanceId]) => instanceId);
  }

  /** Returns whether a limit over all deliveries of the instance applies to this delivery and is not counted by another node. */
  isLimited({ instanceId, flowControlKey, queue, lentBy }: DeliveryLimits): boolean {
    if (lentBy !== undefined) return false;
    return flowControlKey !== null || queue !== undefined || this.deps.limits.maxParallelism(instanceId) !== null;
  }

  /** Called when this node has claimed a queued message of the instance, which only the holder of its gates can do. */
  queuedMessageClaimed(instanceId: string): void {
    this.holders.set(instanceId, this.deps.cluster.nodeId);
  }

  /**
   * Offers the delivery to the gates here, or hands it to the node that holds them. A queued message is never handed over:
   * the holder claims all messages in their order.
   */
  offer(delivery: Delivery): void {
    const { instanceId, queue } = delivery.limits;
    if (!this.isLimited(delivery.limits) || (queue !== undefined && this.holds(instanceId))) {
      this.localGates.offer(delivery);
      return;
    }
    if (queue !== undefined) {
      this.deps.due.restart();
      return;
    }
    const holder = this.holders.get(instanceId);
    if (holder === undefined) this.findHolder(delivery);
    else this.sendTo(holder, delivery);
  }

  /**
   * Called when a message was written to a queue and is unclaimed. Notifies the holder of the gates, which claims all due
   * messages in their order. A message that was written earlier on another node could otherwise be overtaken.
   */
  messageQueued(instanceId: string): void {
    if (this.instancesToNotify.has(instanceId)) return;
    this.instancesToNotify.add(instanceId);
    const { cluster, clock, log, due } = this.deps;
    clock.endOfTurn(() => {
      // Messages that are written from now on need another notice.
      this.instancesToNotify.delete(instanceId);
      const { generation } = this;
      const knownHolder = this.holders.get(instanceId);
      (knownHolder === undefined ? cluster.gateHolderOf(instanceId) : Promise.resolve(knownHolder))
        .then((holder) => {
          this.recordHolder(instanceId, holder, generation);
          if (holder === cluster.nodeId) due.startScan();
          else cluster.wake(holder);
        })
        .catch((error: unknown) => {
          log.warn(
            { instanceId, error: String(error) },
            'could not look up the node that holds the gates, it finds the work by polling',
          );
        });
    });
  }

  /**
   * Forgets the other holders of gates, because they may have changed. This node keeps its own gates for as long as it keeps
   * its id.
   */
  forget(): void {
    const { nodeId } = this.deps.cluster;
    this.generation++;
    this.holders = new Map([...this.holders].filter(([, holder]) => holder === nodeId));
  }

  private recordHolder(instanceId: string, holder: string, generation: number): void {
    if (generation === this.generation) this.holders.set(instanceId, holder);
  }

  private sendTo(holder: string, delivery: Delivery): void {
    if (holder === this.deps.cluster.nodeId) this.localGates.offer(delivery);
    else void this.handOvers.add(delivery, holder);
  }

  private findHolder(delivery: Delivery): void {
    const { instanceId } = delivery.limits;
    const waitingDeliveries = this.lookups.get(instanceId);
    if (waitingDeliveries) {
      waitingDeliveries.push(delivery);
      return;
    }
    this.lookups.set(instanceId, [delivery]);
    const { cluster, log, due } = this.deps;
    const { generation } = this;
    cluster.gateHolderOf(instanceId).then(
      (holder) => {
        this.recordHolder(instanceId, holder, generation);
        const deliveries = this.lookups.get(instanceId) ?? [];
        this.lookups.delete(instanceId);
        for (const waitingDelivery of deliveries) this.sendTo(holder, waitingDelivery);
      },
      (error: unknown) => {
        this.lookups.delete(instanceId);
        log.warn({ instanceId, error: String(error) }, 'could not look up the node that holds the gates, releasing its tasks');
        due.restart();
      },
    );
  }
}
