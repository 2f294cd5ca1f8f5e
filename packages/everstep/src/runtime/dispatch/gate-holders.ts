/**
 * Where several nodes share a store, the gates of an instance belong to one of
 * them at a time: what is limited over all deliveries (a flow control key, a
 * queue, the plan) is limited there, exactly. What nothing limits is
 * delivered by whoever comes to it.
 * Keeps invariant 25.
 */
import type { Clock } from '../../ports/clock.js';
import type { Cluster } from '../../ports/cluster.js';
import type { Log } from '../../ports/log.js';
import type { Passage, Ticket } from '../gates/delivery-gates.js';

export interface GateHoldersOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the plan of the instance limits how many of its deliveries are in flight. */
  readonly isLimited: (instanceId: string) => boolean;
  /** The gates are this node's: it passes them here. */
  readonly offer: (ticket: Ticket, passage: Passage) => void;
  /** The gates are this node's, and something is due at them that nobody has claimed. */
  readonly look: () => void;
  /** This node has to read again what it has claimed: something could not be handed over, or its gates are another's. */
  readonly onLost: () => void;
}

interface Waiting {
  readonly ticket: Ticket;
  readonly passage: Passage;
}

export class GateHolders {
  private readonly options: GateHoldersOptions;
  /** By instance. Another's claim may be old: who is handed something that is not his hands it on. */
  private holders = new Map<string, string>();
  /** Changes when what is known is forgotten: an answer to a question from before is stale. */
  private generation = 0;
  private readonly asking = new Map<string, Waiting[]>();
  private readonly handing = new Map<string, Ticket[]>();
  private under = 0;
  private readonly calling = new Set<string>();

  constructor(options: GateHoldersOptions) {
    this.options = options;
  }

  get idle(): boolean {
    return this.asking.size === 0 && this.handing.size === 0 && this.under === 0 && this.calling.size === 0;
  }

  /** Whether the gates of the instance are known to be this node's. */
  holds(instanceId: string): boolean {
    return this.holders.get(instanceId) === this.options.cluster.nodeId;
  }

  /** Instances whose gates are this node's. */
  get held(): readonly string[] {
    const { nodeId } = this.options.cluster;
    return [...this.holders].filter(([, holder]) => holder === nodeId).map(([instanceId]) => instanceId);
  }

  /** Whether something limits how many of the kind are in flight, or begin. */
  isLimited({ instanceId, flowControlKey, queue }: Passage): boolean {
    return flowControlKey !== null || queue !== undefined || this.options.isLimited(instanceId);
  }

  /** This node has claimed a queued message of the instance: only the holder of its gates can. */
  queuedClaimed(instanceId: string): void {
    this.holders.set(instanceId, this.options.cluster.nodeId);
  }

  /**
   * The delivery passes the gates here, or goes to the node to which they belong. A queued message is never handed over: the
   * holder claims all of them in their order.
   */
  offer(ticket: Ticket, passage: Passage): void {
    const { instanceId, queue } = passage;
    if (!this.isLimited(passage) || (queue !== undefined && this.holds(instanceId))) {
      this.options.offer(ticket, passage);
      return;
    }
    if (queue !== undefined) {
      this.options.onLost();
      return;
    }
    const holder = this.holders.get(passage.instanceId);
    if (holder === undefined) this.ask(ticket, passage);
    else this.to(holder, { ticket, passage });
  }

  /**
   * A message of a queue was written, and is nobody's: the node that has the gates takes all that are due in their order,
   * or what was written elsewhere before would be overtaken on its way.
   */
  call(instanceId: string): void {
    if (this.calling.has(instanceId)) return;
    this.calling.add(instanceId);
    const { cluster, clock, log, look } = this.options;
    clock.endOfTurn(() => {
      // What is written from now on calls again.
      this.calling.delete(instanceId);
      this.under++;
      const { generation } = this;
      const known = this.holders.get(instanceId);
      (known === undefined ? cluster.gateHolderOf(instanceId) : Promise.resolve(known))
        .then((holder) => {
          this.learn(instanceId, holder, generation);
          if (holder === cluster.nodeId) look();
          else cluster.wake(holder);
        })
        .catch((error: unknown) => {
          // Whoever has them looks again by itself.
          log.warn({ instanceId, error: String(error) }, 'could not look up the node that holds the gates, the holder polls');
        })
        .finally(() => {
          this.under--;
        });
    });
  }

  /** Others may hold them by now. Gates of this node stay its own for as long as it has its id. */
  forget(): void {
    const { nodeId } = this.options.cluster;
    this.generation++;
    this.holders = new Map([...this.holders].filter(([, holder]) => holder === nodeId));
  }

  private learn(instanceId: string, holder: string, generation: number): void {
    if (generation === this.generation) this.holders.set(instanceId, holder);
  }

  private to(holder: string, { ticket, passage }: Waiting): void {
    const { cluster, clock, offer } = this.options;
    if (holder === cluster.nodeId) {
      offer(ticket, passage);
      return;
    }
    const others = this.handing.get(holder);
    if (others) others.push(ticket);
    else {
      this.handing.set(holder, [ticket]);
      clock.endOfTurn(() => this.hand(holder));
    }
  }

  private ask(ticket: Ticket, passage: Passage): void {
    const { instanceId } = passage;
    const asked = this.asking.get(instanceId);
    if (asked) {
      asked.push({ ticket, passage });
      return;
    }
    this.asking.set(instanceId, [{ ticket, passage }]);
    const { generation } = this;
    this.options.cluster.gateHolderOf(instanceId).then(
      (holder) => {
        this.learn(instanceId, holder, generation);
        const waiting = this.asking.get(instanceId) ?? [];
        this.asking.delete(instanceId);
        for (const each of waiting) this.to(holder, each);
      },
      (error: unknown) => {
        this.asking.delete(instanceId);
        this.options.log.warn(
          { instanceId, error: String(error) },
          'could not look up the node that holds the gates, releasing its tasks',
        );
        this.options.onLost();
      },
    );
  }

  private hand(holder: string): void {
    const tickets = this.handing.get(holder) ?? [];
    this.handing.delete(holder);
    this.under++;
    this.options.cluster
      .handOver(tickets, holder)
      .catch((error: unknown) => {
        this.options.log.warn({ toNode: holder, error: String(error) }, 'could not hand tasks to another node, releasing them');
        this.options.onLost();
      })
      .finally(() => {
        this.under--;
      });
  }
}
