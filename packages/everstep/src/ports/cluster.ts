/**
 * What processes that share a store, the nodes, have of each other. A process
 * that is alone on its store has none of it. Claims and leases say who acts
 * first; that nothing is decided twice is kept by the versions of runs, and
 * by the guards of units, whatever a node believes.
 */
import type { LiveHint } from './live-hints.js';
import type { DueTask, TaskReference } from './store.js';

/** Something that other nodes may keep in memory was changed. Each is a hint: nodes look again by themselves after a while. */
export type SharedChange =
  /** Tokens, keys, plan, budget or owner of an instance. */
  | { readonly kind: 'account'; readonly instanceId: string }
  /** Settings or holds of an instance. */
  | { readonly kind: 'settings'; readonly instanceId: string }
  /** What is kept of a flow control key, or of a queue. `reset`: its rate window was ended. */
  | { readonly kind: 'flow-control'; readonly instanceId: string; readonly key: string; readonly reset?: true }
  | { readonly kind: 'queue'; readonly instanceId: string; readonly name: string }
  /** It has ended otherwise than by an answer: what is out for it may be given up. */
  | { readonly kind: 'run-canceled'; readonly runKey: string }
  /** Somebody looks on at these instances, at the node that says so. */
  | { readonly kind: 'live-wanted'; readonly instanceIds: readonly string[] }
  /** What has changed in the instance, for those who look on from other nodes. */
  | ({ readonly kind: 'live'; readonly instanceId: string } & LiveHint)
  /** Perhaps all of that: what was told for a while did not arrive. */
  | { readonly kind: 'everything' };

export interface ClusterEvents {
  /** Tasks were handed to this node, or have become nobody's: look for them. */
  work(): void;
  /** The lease has ended: nothing may be started, and what is out is to be given up. */
  suspended(): void;
  /**
   * There is a lease again. `anew`: under another id, because others have taken over what this node had, and all that it
   * knows of it is to be forgotten.
   */
  resumed(how: { readonly anew: boolean }): void;
  /** Resolves when what this node does from then on goes by it. Never rejects. */
  changed(change: SharedChange): void | Promise<void>;
}

/** A page of due tasks to claim: of all instances, or of one. */
export interface ClaimQuery {
  /** Unix ms; tasks due later are left. */
  readonly before: number;
  readonly limit: number;
  readonly instanceId?: string;
}

/** A page of queued messages to claim. */
export interface QueuedQuery {
  /** Unix ms; messages due later are left. */
  readonly before: number;
  /** Unix ms; messages due then or earlier are left. Null: none is. */
  readonly after: number | null;
  /** Whether messages that this node has claimed already are returned again: of all instances. */
  readonly anew: boolean;
  /** Of this instance alone; absent: of all. */
  readonly instanceId?: string;
  /** Messages in the page; more when several are due in the millisecond of the last one. */
  readonly limit: number;
}

/** What a node that is about to leave has not ended yet. */
export interface Kept {
  /** Their deliveries are out. */
  readonly tasks: readonly Pick<TaskReference, 'runKey' | 'slot'>[];
  /** Instances of which limited deliveries are out. */
  readonly gates: readonly string[];
}

/** What goes on at the gates of an instance, as its node last told. */
export interface GateStanding {
  /** By flow control key. */
  readonly keys: Readonly<Record<string, { readonly waiting: number; readonly inFlight: number }>>;
}

/** A process on the store, as others see it. */
export interface NodeStanding {
  readonly nodeId: string;
  readonly host: string;
  readonly version: string;
  /** Unix ms. */
  readonly startedAt: number;
  /** Unix ms; null: it is alone, and nobody would take over. */
  readonly leaseUntil: number | null;
  readonly leaving: boolean;
  /** It is this process. */
  readonly self: boolean;
  /** Deliveries that it has taken on and not ended. */
  readonly runsClaimed: number;
  /** Instances of which it has the gates. */
  readonly gates: number;
}

export interface Cluster {
  /** Of this node, as long as it has its lease. */
  readonly nodeId: string;
  /** False from the moment at which the lease may have ended, by this machine's monotonic clock. */
  readonly mayAct: boolean;
  /** Unix ms by the clock that all nodes share. */
  now(): number;
  /** Rejects when the store cannot be reached. */
  join(events: ClusterEvents): Promise<void>;
  /** Takes tasks that are due and nobody's, or that were handed to this node; in the order of their due times. No queued messages. */
  claimDue(query: ClaimQuery): Promise<readonly DueTask[]>;
  /**
   * Claims queued messages that are due, of instances whose gates belong to this node, or to none: then this node takes them.
   * Returns them in the order of their queues, none left out that was written before one that is returned.
   */
  claimQueued(query: QueuedQuery): Promise<readonly DueTask[]>;
  /** Gives tasks of this node to another one. */
  handOver(tasks: readonly Pick<TaskReference, 'runKey' | 'slot'>[], to: string): Promise<void>;
  /** Has a node look for what is due. Never rejects, and need not arrive. */
  wake(nodeId: string): void;
  /** The node to which the gates of the instance belong: this one when they were nobody's. */
  holderOfGates(instanceId: string): Promise<string>;
  /** Tells what goes on at gates that belong to this node. */
  tellStanding(instanceId: string, standing: GateStanding): Promise<void>;
  /** Null when the gates of the instance are nobody's. */
  standingOf(instanceId: string): Promise<GateStanding | null>;
  /** Those that have a lease, or had one a moment ago; by the time they joined. */
  nodes(): Promise<readonly NodeStanding[]>;
  /** Never rejects, and need not arrive. */
  tell(change: SharedChange): void;
  /** The same; resolves when every node that has its lease goes by it, or after a second without an answer of one. */
  confirm(change: SharedChange): Promise<void>;
  /** Does the work unless another node does some under the same name: then this resolves with false, and nothing was done. */
  unlessBusy(name: string, work: () => Promise<void>): Promise<boolean>;
  /**
   * It is about to leave: from now on it takes nothing, what it writes is nobody's, and all that it has but `kept` is the
   * others', who are told. To be called again as long as something is kept.
   */
  giveBack(kept: Kept): Promise<void>;
  /** Gives back everything at once. */
  leave(): Promise<void>;
}
