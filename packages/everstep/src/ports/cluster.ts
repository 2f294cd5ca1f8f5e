/**
 * The interface between nodes, which are processes that share a store. A process that has its store to itself does not use this
 * interface. Claims and leases decide which node acts first. Versions of runs and guards of units ensure that nothing is decided
 * twice, even if a node has stale state.
 */
import type { LiveHint } from './live-hints.js';
import type { DueTask, TaskReference } from './stores/store.js';

/**
 * A notification from one node to the others, usually about data that they may have cached. Notices of changes are only hints: nodes
 * also refresh their caches periodically.
 */
export type SharedChange =
  /** Tokens, keys, plan, budget or owner of an instance. */
  | { readonly kind: 'account'; readonly instanceId: string }
  /** Settings or holds of an instance. */
  | { readonly kind: 'settings'; readonly instanceId: string }
  /** The stored state of a flow control key or of a queue. `reset` is set if the change ended its rate window. */
  | { readonly kind: 'flow-control'; readonly instanceId: string; readonly key: string; readonly reset?: true }
  | { readonly kind: 'queue'; readonly instanceId: string; readonly name: string }
  /** The run was canceled: its waiting deliveries are obsolete, and its deliveries in flight can be aborted. */
  | { readonly kind: 'run-canceled'; readonly runKey: string }
  /** The run ended while other tasks of it were due: their waiting deliveries are obsolete. */
  | { readonly kind: 'run-ended'; readonly runKey: string }
  /** A client of the sending node listens to live changes of these instances. */
  | { readonly kind: 'live-wanted'; readonly instanceIds: readonly string[] }
  /** A live change in the instance, for clients of other nodes. */
  | ({ readonly kind: 'live'; readonly instanceId: string } & LiveHint)
  /** The workers or the address of a node have changed, or a node has joined. */
  | { readonly kind: 'workers' }
  /** State of the tasks that node `to` has lent to the sending node. */
  | ({ readonly kind: 'loans'; readonly to: string } & LoanReport)
  /** Any of the above may have changed, because notifications may have been lost. */
  | { readonly kind: 'everything' };

/** Identifies a task among those of all nodes. */
export type TaskId = Pick<TaskReference, 'runKey' | 'slot'>;

/** A task that the gates of its node have admitted, and that another node delivers. */
export interface Loan extends TaskId {
  /** The node that delivers it. */
  readonly to: string;
}

/** A task whose delivery has ended at the node that borrowed it. */
export interface EndedLoan extends TaskId {
  /**
   * What the delivery showed about its destination: its error, or null if the destination works. Nodes of earlier versions do not
   * report it.
   */
  readonly error?: string | null;
}

export interface LoanReport {
  /** Tasks whose requests were sent. */
  readonly sent: readonly TaskId[];
  /** Tasks whose deliveries have ended. */
  readonly ended: readonly EndedLoan[];
  /** Tasks that were handed back because nothing was sent for them. */
  readonly returned: readonly TaskId[];
}

/** Events that the cluster reports to this node. */
export interface ClusterEvents {
  /** Called when tasks were handed to this node or became unclaimed. The node must scan for them. */
  onWork(): void;
  /** Called when the lease has expired. The node must not start work, and must abort deliveries in flight. */
  onSuspended(): void;
  /**
   * Called when the lease is valid again. If `isNewNode` is true, this node has a new id, because other nodes have taken over
   * its work. All its state must then be discarded.
   */
  onResumed(lease: { readonly isNewNode: boolean }): void;
  /**
   * Called when shared data has changed. Resolves when this node applies the change to all work that it starts afterward. Never
   * rejects.
   */
  onChanged(change: SharedChange): void | Promise<void>;
}

/** A page of due tasks to claim, of all instances or of one. */
export interface ClaimQuery {
  /** Latest due time, Unix ms; tasks that are due later are skipped. */
  readonly before: number;
  readonly limit: number;
  readonly instanceId?: string;
}

/** A page of queued messages to claim. */
export interface QueuedQuery {
  /** Latest due time, Unix ms; messages that are due later are skipped. */
  readonly before: number;
  /** Due time, Unix ms; messages that are due then or earlier are skipped. Null skips no messages. */
  readonly after: number | null;
  /** Whether messages that this node has already claimed are also returned. If so, `instanceId` is ignored. */
  readonly includesClaimed: boolean;
  /** Instance of the messages; all instances if absent. */
  readonly instanceId?: string;
  /** Number of messages per page; more if several are due in the millisecond of the last one. */
  readonly limit: number;
}

/** Work in progress of a node that is leaving. */
export interface WorkInProgress {
  /** Tasks whose deliveries are in flight. */
  readonly tasks: readonly Pick<TaskReference, 'runKey' | 'slot'>[];
  /** Instances with limited deliveries in flight. */
  readonly gates: readonly string[];
}

/** State of the gates of an instance, as last reported by the node that holds them. */
export interface GateStatus {
  /** Keyed by flow control key. */
  readonly keys: Readonly<Record<string, { readonly waiting: number; readonly inFlight: number }>>;
}

/** A node as other nodes see it. */
export interface NodeStatus {
  readonly nodeId: string;
  readonly host: string;
  readonly version: string;
  /** Time when the node started, Unix ms. */
  readonly startedAt: number;
  /** Time when the lease ends, Unix ms; null if no other process uses the store, so that no other node would take over. */
  readonly leaseUntil: number | null;
  /** Whether the lease has ended, by the clock that all nodes share. */
  readonly expired: boolean;
  readonly leaving: boolean;
  /** Whether the node is this process. */
  readonly self: boolean;
  /** Number of claimed deliveries that have not ended. */
  readonly runsClaimed: number;
  /** Number of instances whose gates the node holds. */
  readonly gates: number;
}

/** The connection of this node to the other nodes. */
export interface Cluster {
  /** Id of this node. It does not change as long as the node has its lease. */
  readonly nodeId: string;
  /** Whether the node may start work: false once the lease may have expired, by this machine's monotonic clock. */
  readonly canStartWork: boolean;
  /** Returns the time of the clock that all nodes share, Unix ms. */
  now(): number;
  /** Joins the cluster. Rejects if the store cannot be reached. */
  join(events: ClusterEvents): Promise<void>;
  /**
   * Claims due tasks that are unclaimed or were handed to this node, in the order of their due times. Excludes queued
   * messages.
   */
  claimDue(query: ClaimQuery): Promise<readonly DueTask[]>;
  /**
   * Claims due queued messages of instances whose gates this node holds. Also takes over gates that no node holds. Returns the
   * messages in the order of their queues, and never skips a message that was written before a returned message.
   */
  claimQueued(query: QueuedQuery): Promise<readonly DueTask[]>;
  /**
   * Hands tasks of this node to another node. If `isLent` is true, the gates of this node have admitted the tasks and count
   * them until the other node reports their end. The gates of the other node do not limit them.
   */
  handOver(tasks: readonly TaskId[], to: string, options?: { readonly isLent?: boolean }): Promise<void>;
  /** Returns the loans that have not ended, as far as the database shows. */
  openLoans(loans: readonly Loan[]): Promise<readonly Loan[]>;
  /** Makes a node scan for due tasks. Never rejects; the notification can be lost. */
  wake(nodeId: string): void;
  /** Returns the node that holds the gates of the instance. If no node holds them, this node takes them over. */
  gateHolderOf(instanceId: string): Promise<string>;
  /** Reports the state of gates that this node holds. */
  publishGateStatus(instanceId: string, status: GateStatus): Promise<void>;
  /** Returns the last published state of the gates of the instance; null if no node holds them. */
  gateStatusOf(instanceId: string): Promise<GateStatus | null>;
  /** Returns the nodes that have a lease or recently had one, in the order in which they joined. */
  nodes(): Promise<readonly NodeStatus[]>;
  /** Notifies other nodes of a change. Never rejects; the notification can be lost. */
  notify(change: SharedChange): void;
  /**
   * Notifies other nodes of a change. Resolves when every node with a lease applies the change, or after one second without a
   * response from a node.
   */
  confirm(change: SharedChange): Promise<void>;
  /**
   * Runs `work` unless another node is running work with the same name. In that case, resolves with false without running `work`.
   */
  tryExclusively(name: string, work: () => Promise<void>): Promise<boolean>;
  /**
   * Prepares to leave: from now on this node claims no tasks, and tasks that it writes are unclaimed. All its claims except those
   * of `workInProgress` are released, and the other nodes are notified. Must be called repeatedly until no work is in progress.
   */
  release(workInProgress: WorkInProgress): Promise<void>;
  /** Releases all claims immediately. */
  leave(): Promise<void>;
}
