/** Makes this process one of the nodes on a database. Holds its lease, and sends and receives notices. */
import type {
  ClaimQuery,
  Cluster,
  ClusterEvents,
  GateStatus,
  Loan,
  NodeStatus,
  QueuedQuery,
  SharedChange,
  TaskId,
  WorkInProgress,
} from '../../../ports/cluster.js';
import type { Log } from '../../../ports/log.js';
import type { ClusterMember, NodePool, NodeWorkers, PoolChanges } from '../../../ports/node-workers.js';
import type { DueTask } from '../../../ports/stores/store.js';
import type { WorkerStatus } from '../../../ports/workers.js';
import type { BatchWriter, CommittingNode } from '../commit/batch-writer.js';
import { Confirmations, readOtherNodes } from '../commit/confirmations.js';
import { Database } from '../connection/connection.js';
import { DatabaseTime } from '../connection/database-time.js';
import { Primary } from '../connection/primary.js';
import type { FlowKeyId } from '../control/flow-control-records.js';
import { RunInstances } from '../runs/run-instances.js';
import { joinWithDetectedEngine } from '../sharding/detection.js';
import { claimDue, handOver, readOpenLoans, releaseClaims, releaseLostClaims } from './claims.js';
import { ExclusiveWork } from './exclusive-work.js';
import { gateHolderOf, gateHolderOnServers, gateStatusOf, publishGateStatus } from './gate-leases.js';
import { LeaseWatch } from './lease-watch.js';
import { LimitNotices } from './limit-notices.js';
import { NodeLease, type NodeProperties, type Renewal, readTime } from './node-lease.js';
import { type Notice, Notices, readNotice } from './notices.js';
import { claimQueued, claimQueuedOnServers } from './queue-claims.js';
import { publishPools, readConnections, readMembers, readPools } from './worker-pools.js';

/** Time after which a silent node loses its claims. */
export const DEFAULT_LEASE_MS = 5_000;
/** Number of renewals of a lease within its duration. */
const RENEWALS_PER_LEASE = 3;
/** Delay after the expected end of another node's lease before this node checks whether that lease has ended. */
const TAKEOVER_DELAY_MS = 20;
/** Maximum error of this node's time. While the error is larger, the time of the database is read again. */
const MAX_UNCERTAINTY_MS = 1;
/** Maximum number of reads of the database's time, at the start and at each renewal. */
const SAMPLES_AT_START = 8;
const SAMPLES_AT_RENEWAL = 4;
/** Each kind of background work of a node (retention, groups, removals, alerts) has one, so that none waits for another. */
const BACKGROUND_WORK_CONNECTIONS = 4;
const WORK = 'work';

export interface PostgresClusterOptions {
  readonly url: string;
  readonly log: Log;
  /** Finds the primary among the servers in the URL. By default, a new `Primary` is created. */
  readonly primary?: Primary;
  readonly facts: NodeProperties;
  /** Time after which a silent node loses its claims; at least one second. */
  readonly leaseMs?: number;
  /** Called with the number of nodes whose lease expired and whose work this node has taken over. */
  readonly onTakeover?: (nodes: number) => void;
}

const NO_EVENTS: ClusterEvents = { onWork: () => {}, onSuspended: () => {}, onResumed: () => {}, onChanged: () => {} };

export class PostgresCluster implements Cluster, NodeWorkers {
  private readonly database: Database;
  private readonly log: Log;
  private readonly onTakeover: (nodes: number) => void;
  private readonly lease: NodeLease;
  private readonly leaseWatch: LeaseWatch;
  /** A separate connection, so that the lease does not expire because all other connections are in use. */
  private readonly leaseDatabase: Database;
  private readonly exclusiveWork: ExclusiveWork;
  private readonly time = new DatabaseTime();
  private readonly notices: Notices;
  private readonly confirmations = new Confirmations();
  private readonly limitNotices = new LimitNotices((keys) =>
    this.sendAll(keys.map((flowKey) => ({ from: this.nodeId, change: { kind: 'flow-control', ...flowKey } }))),
  );
  private events: ClusterEvents = NO_EVENTS;
  private renewTimer: NodeJS.Timeout | undefined;
  private takeoverTimer: NodeJS.Timeout | undefined;
  private pendingRenewal: Promise<void> | null = null;
  private pendingSampling: Promise<void> | null = null;
  private pendingRelease: Promise<void> | null = null;
  private batches: Pick<BatchWriter, 'settled'> | null = null;
  private instances: RunInstances;
  private clockNow = () => this.now();
  private isSuspended = false;
  /** Whether the node is leaving and claims no more tasks. */
  private isLeaving = false;
  private hasLeft = false;
  /** Whether the node has joined, so that other nodes may have found it in the table of nodes. */
  private hasJoined = false;

  constructor(database: Database, options: PostgresClusterOptions) {
    const { url, log, facts, leaseMs = DEFAULT_LEASE_MS, onTakeover = () => {} } = options;
    const primary = options.primary ?? new Primary({ url, log });
    this.database = database;
    this.instances = new RunInstances(database);
    this.log = log;
    this.onTakeover = onTakeover;
    this.exclusiveWork = new ExclusiveWork(database, BACKGROUND_WORK_CONNECTIONS);
    // A response that arrives after the end of the lease is useless.
    const limits = { maxConnections: 1, timeoutMs: leaseMs, idleTransactionMs: leaseMs };
    this.leaseDatabase = new Database({ url, log, primary, ...limits, skipsConfirmation: true });
    this.lease = new NodeLease({ leaseDatabase: this.leaseDatabase, database }, leaseMs, facts);
    this.leaseWatch = new LeaseWatch(this.lease, () => this.onLeaseExpired());
    this.notices = new Notices(database, {
      primary,
      log,
      onReceived: (payload) => this.onNotice(payload),
      onMissed: () => {
        this.events.onWork();
        this.events.onChanged({ kind: 'everything' });
      },
    });
  }

  get nodeId(): string {
    return this.lease.nodeId;
  }
  get canStartWork(): boolean {
    return !this.isSuspended && this.lease.isValid;
  }

  now(): number {
    return this.time.now();
  }

  /** Sets the writer of this node's batches. Batches in progress are finished before the node releases its claims. */
  setBatchWriter(batches: Pick<BatchWriter, 'settled' | 'instances'>): void {
    this.batches = batches;
    this.instances = batches.instances;
  }

  /**
   * Sets the clock from which the due times of written tasks come. It can be ahead of `now` of this cluster, because it never goes
   * backward: neither when the time of the database is set back, nor behind the latest time that the store has recorded.
   */
  setClock(now: () => number): void {
    this.clockNow = now;
  }

  /** The node and the time with which current writes claim their tasks. */
  get committing(): CommittingNode {
    return { claimant: this.canClaim ? this.nodeId : null, now: this.clockNow() };
  }

  private get canClaim(): boolean {
    return !this.isLeaving && this.lease.isValid;
  }

  /** Samples the time of the database until it is precise enough, so that it is available when it is first needed. */
  async readTime(): Promise<void> {
    await this.sampleTime(SAMPLES_AT_START);
  }

  /** Maximum error of this node's time, in milliseconds. */
  get uncertaintyMs(): number {
    return this.time.uncertaintyMs;
  }

  async join(events: ClusterEvents): Promise<void> {
    await this.notices.listen();
    this.hasJoined = true;
    this.time.addSample(await joinWithDetectedEngine(this.database, () => this.lease.join()));
    this.events = events;
    this.watchExpiry();
    this.renewSoon(this.lease.leaseMs / RENEWALS_PER_LEASE);
    await this.takeOver();
    this.log.info({ node: this.nodeId, leaseMs: this.lease.leaseMs }, 'joined the cluster');
  }

  async claimDue(query: ClaimQuery): Promise<readonly DueTask[]> {
    if (!this.canClaim) return [];
    return this.instances.rememberFrom(await claimDue(this.database, this.nodeId, query));
  }

  async claimQueued(query: QueuedQuery): Promise<readonly DueTask[]> {
    if (!this.canClaim) return [];
    const { database, nodeId } = this;
    const claimedTasks = database.engine.isDistributed
      ? claimQueuedOnServers(database, (work) => database.transaction(work), nodeId, query)
      : claimQueued(database, nodeId, query);
    return this.instances.rememberFrom(await claimedTasks);
  }

  async handOver(tasks: readonly TaskId[], to: string, options: { readonly isLent?: boolean } = {}): Promise<void> {
    if (tasks.length === 0) return;
    if (await handOver(this.database, this.instances, tasks, { from: this.nodeId, to, ...options })) {
      this.send({ [WORK]: to });
      return;
    }
    // That node is gone, so this node's cached state of the cluster is outdated.
    this.events.onChanged({ kind: 'everything' });
    this.events.onWork();
  }

  openLoans(loans: readonly Loan[]): Promise<readonly Loan[]> {
    return readOpenLoans(this.database, this.instances, loans);
  }

  members(): Promise<readonly ClusterMember[]> {
    return readMembers(this.database);
  }

  poolsOf(nodeIds: readonly string[]): Promise<readonly NodePool[]> {
    return readPools(this.database, nodeIds);
  }

  connectionsElsewhere(instanceId: string): Promise<readonly WorkerStatus[]> {
    return readConnections(this.database, instanceId, this.nodeId);
  }

  publishPools(changes: PoolChanges): Promise<void> {
    return this.database.transaction((session) => publishPools(session, this.nodeId, changes));
  }

  wake(nodeId: string): void {
    this.send({ [WORK]: nodeId });
  }

  gateHolderOf(instanceId: string): Promise<string> {
    const find = this.database.engine.isDistributed ? gateHolderOnServers : gateHolderOf;
    return find(this.database, instanceId, this.nodeId);
  }

  publishGateStatus(instanceId: string, status: GateStatus): Promise<void> {
    return publishGateStatus(this.database, instanceId, this.nodeId, status);
  }

  gateStatusOf(instanceId: string): Promise<GateStatus | null> {
    return gateStatusOf(this.database, instanceId);
  }

  nodes(): Promise<readonly NodeStatus[]> {
    return this.lease.nodes();
  }

  notify(change: SharedChange): void {
    this.send({ from: this.nodeId, change });
  }

  /**
   * Called when commits of this node have changed limits. The node that holds the gates of the instance, which may be this one,
   * then reads the limits again, so that it applies the ones that were committed last.
   */
  publishLimitChanges(keys: readonly FlowKeyId[]): void {
    if (keys.length === 0) return;
    this.limitNotices.add(keys);
    for (const flowKey of keys) void this.events.onChanged({ kind: 'flow-control', ...flowKey });
  }

  tryExclusively(name: string, work: () => Promise<void>): Promise<boolean> {
    return this.exclusiveWork.tryExclusively(name, work);
  }

  async confirm(change: SharedChange): Promise<void> {
    try {
      const otherNodes = await readOtherNodes(this.database, this.nodeId);
      if (otherNodes.length === 0) return;
      const { requestNumber, confirmed } = this.confirmations.request(otherNodes);
      this.send({ from: this.nodeId, change, ask: requestNumber });
      await confirmed;
    } catch (error) {
      this.notify(change);
      this.log.warn({ error: String(error) }, 'could not confirm a change with the other nodes');
    }
  }

  async release(workInProgress: WorkInProgress): Promise<void> {
    this.isLeaving = true;
    await this.batches?.settled();
    const hasReleasedGates = await this.database.transaction((session) => releaseClaims(session, this.nodeId, workInProgress));
    this.send({ [WORK]: '*', from: this.nodeId, ...(hasReleasedGates ? { change: { kind: 'everything' } } : {}) });
  }

  async leave(): Promise<void> {
    if (this.hasLeft) return;
    this.hasLeft = true;
    this.isLeaving = true;
    for (const timer of [this.renewTimer, this.takeoverTimer]) clearTimeout(timer);
    this.leaseWatch.stop();
    await Promise.all([this.pendingRenewal, this.pendingSampling, this.pendingRelease, this.batches?.settled()]);
    this.events = NO_EVENTS;
    if (this.hasJoined) await this.giveUpLease();
    await this.notices.close();
    await this.leaseDatabase.close();
  }

  private async giveUpLease(): Promise<void> {
    try {
      await this.lease.leave();
      const change: SharedChange = { kind: 'everything' };
      await this.notices.notify(JSON.stringify({ [WORK]: '*', from: this.nodeId, change } satisfies Notice));
    } catch (error) {
      // Other nodes take over when the lease has ended.
      this.log.warn({ error: String(error) }, 'could not release the lease, other nodes take over when it ends');
    }
  }

  // ---------------------------------------------------------------- the time

  private async sampleTime(maxSamples: number): Promise<void> {
    for (let n = 0; n < maxSamples && !this.hasLeft && this.time.uncertaintyMs > MAX_UNCERTAINTY_MS; n++) {
      this.time.addSample(await readTime(this.leaseDatabase));
    }
  }

  /** Reads the time separately from the renewals of the lease, which wait for the disk. */
  private sampleTimeSoon(): void {
    this.pendingSampling ??= this.sampleTime(SAMPLES_AT_RENEWAL)
      .catch((error: unknown) => this.log.warn({ error: String(error) }, 'could not read the database clock'))
      .finally(() => {
        this.pendingSampling = null;
      });
  }

  // ---------------------------------------------------------------- the lease

  private renewSoon(afterMs: number): void {
    clearTimeout(this.renewTimer);
    if (this.hasLeft) return;
    this.renewTimer = setTimeout(() => {
      this.pendingRenewal = this.renew().finally(() => {
        this.pendingRenewal = null;
      });
    }, afterMs);
  }

  private async renew(): Promise<void> {
    try {
      const renewal = await this.lease.renew();
      this.time.addSample(renewal);
      if (renewal.isRenewed) this.onLeaseRenewed(renewal);
      else await this.joinAgain();
      this.sampleTimeSoon();
      this.releaseLostClaimsSoon();
      this.renewSoon(this.lease.leaseMs / RENEWALS_PER_LEASE);
    } catch (error) {
      const retryAfterMs = this.lease.leaseMs / RENEWALS_PER_LEASE / 4;
      this.log.warn({ retryAfterMs, error: String(error) }, 'lease renewal failed, retrying');
      // The timer at the end of the lease handles an expired lease.
      this.renewSoon(retryAfterMs);
    }
  }

  private onLeaseRenewed({ now, nextEndAt }: Renewal): void {
    this.watchExpiry();
    if (this.isSuspended) {
      this.isSuspended = false;
      this.log.info({ node: this.nodeId }, 'lease renewed, node starts work again');
      this.events.onResumed({ isNewNode: false });
    }
    clearTimeout(this.takeoverTimer);
    if (nextEndAt !== null)
      this.takeoverTimer = setTimeout(() => void this.takeOver(), Math.max(0, nextEndAt - now) + TAKEOVER_DELAY_MS);
  }

  private async joinAgain(): Promise<void> {
    const previousNode = this.nodeId;
    // Work is suspended first, because the claims of this node now belong to other nodes.
    if (!this.isSuspended) this.events.onSuspended();
    this.isSuspended = true;
    this.time.addSample(await this.lease.join());
    this.isSuspended = false;
    this.watchExpiry();
    this.log.warn({ previousNode, node: this.nodeId }, 'lease was taken over, node joined again');
    this.events.onResumed({ isNewNode: true });
  }

  private watchExpiry(): void {
    if (!this.hasLeft) this.leaseWatch.start();
  }

  private onLeaseExpired(): void {
    if (this.isSuspended || this.hasLeft) return;
    this.isSuspended = true;
    this.log.warn({ node: this.nodeId }, 'lease expired, node starts no work until it is renewed');
    this.events.onSuspended();
  }

  private async takeOver(): Promise<void> {
    if (this.hasLeft) return;
    try {
      const removedCount = await this.lease.removeExpiredNodes();
      if (removedCount === 0) return;
      this.log.warn({ nodes: removedCount }, 'took over the work of nodes whose lease expired');
      this.onTakeover(removedCount);
      this.events.onWork();
      this.events.onChanged({ kind: 'everything' });
      this.send({ [WORK]: '*', from: this.nodeId, change: { kind: 'everything' } });
      this.releaseLostClaimsSoon();
    } catch (error) {
      const retryAfterMs = this.lease.leaseMs / RENEWALS_PER_LEASE;
      this.log.warn({ retryAfterMs, error: String(error) }, 'takeover of expired nodes failed, retrying');
      this.takeoverTimer = setTimeout(() => void this.takeOver(), retryAfterMs);
    }
  }

  /** Releases claims of removed nodes: those beyond the first, and those that were written while other nodes took over. */
  private releaseLostClaimsSoon(): void {
    if (this.hasLeft) return;
    this.pendingRelease ??= this.releaseLostClaims().finally(() => {
      this.pendingRelease = null;
    });
  }

  /** Never rejects. */
  private async releaseLostClaims(): Promise<void> {
    try {
      while (!this.hasLeft && (await releaseLostClaims(this.database))) {
        this.log.warn({ node: this.nodeId }, 'released tasks claimed by a removed node');
        this.events.onWork();
        this.send({ [WORK]: '*', from: this.nodeId });
      }
    } catch (error) {
      this.log.warn({ error: String(error) }, 'scan for tasks of removed nodes failed');
    }
  }

  // ---------------------------------------------------------------- notices

  private send(notice: Notice): void {
    void this.sendAll([notice]);
  }

  private async sendAll(notices: readonly Notice[]): Promise<void> {
    try {
      await this.notices.notify(...notices.map((notice) => JSON.stringify(notice)));
    } catch (error) {
      this.log.warn({ error: String(error) }, 'could not notify other nodes of a change, they find it by polling');
    }
  }

  private onNotice(payload: string): void {
    const { work, from, change, ask: requestNumber, to, heard: confirmedNumber } = readNotice(payload);
    if (work === '*' || work === this.nodeId) this.events.onWork();
    if (to === this.nodeId && confirmedNumber !== undefined && from !== undefined)
      this.confirmations.confirm(confirmedNumber, from);
    if (!change || from === this.nodeId) return;
    const changeApplied = Promise.resolve(this.events.onChanged(change));
    if (requestNumber !== undefined && from !== undefined) {
      void changeApplied.then(() => this.send({ from: this.nodeId, to: from, heard: requestNumber }));
    }
  }
}
