/**
 * The workers of all nodes. Each node publishes its pools when they change, notifies the others, and keeps the pools of the
 * others in memory. Nodes also poll, because a notification can be lost.
 */
import { type ConnectionNode, workerUrl } from '@everstep/sdk/protocol';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { ClusterMember, NodeWorkers, PoolKey, PublishedPool } from '../ports/node-workers.js';
import {
  type FreedSlots,
  poolName,
  poolOf,
  type WorkerChange,
  type WorkerDelivery,
  type WorkerDirectory,
  type WorkerNodes,
  type WorkerPresence,
  type WorkerStatus,
  workersOf,
} from '../ports/workers.js';
import { chooseNode } from './choose-node.js';
import { localDirectory, statusOf } from './local-directory.js';
import { type RemotePool, RemoteSlots } from './remote-slots.js';
import { LostWorkflows } from './served-workflows.js';
import type { WorkerPools } from './worker-pools.js';

/** Minimum interval at which a node publishes. */
const PUBLISH_EVERY_MS = 100;
/** Interval at which the requests in flight and the last errors are published for display. */
const STATUS_EVERY_MS = 5_000;
const POLL_MS = 2_000;
const RETRY_MS = 1_000;

interface OtherNode {
  readonly workersVersion: number;
  readonly pools: readonly RemotePool[];
}

/** The published state of a pool. */
interface PublishedPoolState extends PoolKey {
  readonly visibleJson: string;
  readonly connectionsJson: string;
}

export interface ClusterWorkersOptions {
  readonly local: WorkerPools;
  readonly board: NodeWorkers;
  readonly clock: Clock;
  readonly log: Log;
}

export class ClusterWorkers implements WorkerPresence, WorkerNodes, WorkerDirectory {
  readonly nodes: WorkerNodes = this;
  private readonly options: ClusterWorkersOptions;
  private readonly listeners: ((change: WorkerChange) => void)[] = [];
  private readonly nodeListeners: (() => void)[] = [];
  private members: readonly ClusterMember[] = [];
  private otherNodes = new Map<string, OtherNode>();
  /** The pools of other nodes, by pool name. */
  private remotePools = new Map<string, readonly RemotePool[]>();
  private readonly remoteSlots = new RemoteSlots();
  /** The workflows that lost their last worker on another node. */
  private readonly lostWorkflows = new LostWorkflows();
  private readonly publishedPools = new Map<string, PublishedPoolState>();
  private publishedNodeId = '';
  /** Pools that may have changed since they were published. */
  private readonly dirtyPools = new Map<string, PoolKey>();
  private publishing: Promise<void> | null = null;
  private reading: Promise<void> | null = null;
  private mustReadAgain = false;
  private cancelPublish: (() => void) | null = null;
  private cancelPoll: () => void = () => {};
  private nextStatusAt = 0;
  private nextPublishAt = 0;
  private isRunning = false;

  constructor(options: ClusterWorkersOptions) {
    this.options = options;
    options.local.onChange((change) => {
      this.dirtyPools.set(poolName(change.instanceId, change.app), change);
      this.publishSoon();
      this.notify(change);
    });
  }

  /** Starts to publish and to poll. The node must have joined the cluster. */
  async start(): Promise<void> {
    this.isRunning = true;
    await this.refresh();
    this.options.board.notify({ kind: 'workers' });
    this.publishSoon();
    this.poll();
  }

  async stop(): Promise<void> {
    this.isRunning = false;
    this.cancelPublish?.();
    this.cancelPoll();
    await Promise.all([this.publishing, this.reading]);
  }

  onChange(listener: (change: WorkerChange) => void): void {
    this.listeners.push(listener);
  }

  /** Calls the listener when `connectionNodes` has changed. */
  onNodesChange(listener: () => void): void {
    this.nodeListeners.push(listener);
  }

  /** The nodes that workers connect to, including this one. */
  get connectionNodes(): readonly ConnectionNode[] {
    return this.members.map(({ nodeId, url }) => (url === null ? { nodeId } : { nodeId, url }));
  }

  missingSince(instanceId: string, url: string): number | null {
    const localSince = this.options.local.missingSince(instanceId, url);
    const workers = workersOf(instanceId, url);
    if (localSince === null || this.poolsServing(workers).length > 0) return null;
    return Math.max(localSince, this.lostWorkflows.timeOf(workers) ?? 0);
  }

  /**
   * While workers that are connected to this node serve the workflow, only their slots count: this node sends its deliveries to
   * them.
   */
  freeSlots(workers: string): number {
    const localSlots = this.options.local.freeSlots(workers);
    if (localSlots !== Number.POSITIVE_INFINITY) return localSlots;
    const pools = this.poolsServing(workers);
    return pools.length === 0 ? Number.POSITIVE_INFINITY : this.remoteSlots.freeSlots(pools);
  }

  reserve(delivery: WorkerDelivery, heldKey?: string): boolean {
    const { key, workers, runKey, isCounted } = delivery;
    const isHeld = heldKey !== undefined && this.remoteSlots.release(heldKey);
    if (this.options.local.freeSlots(workers) !== Number.POSITIVE_INFINITY) return this.options.local.reserve(delivery, heldKey);
    if (heldKey !== undefined) this.options.local.release(heldKey);
    const pools = this.poolsServing(workers);
    // A pool may have got fewer slots since the slot was held.
    if (!isHeld && this.remoteSlots.freeSlots(pools) === 0) return false;
    const nodeId = chooseNode(pools, runKey);
    const pool = pools.find((each) => each.nodeId === nodeId);
    if (pool) this.remoteSlots.reserve(key, pool, isCounted);
    return pool !== undefined;
  }

  release(key: string): void {
    this.options.local.release(key);
    this.remoteSlots.release(key);
  }

  takeFreed(): readonly FreedSlots[] {
    return [...this.options.local.takeFreed(), ...this.remoteSlots.takeFreed()];
  }

  isServedHere(instanceId: string, url: string): boolean {
    return this.options.local.missingSince(instanceId, url) === null;
  }

  nodeFor(instanceId: string, url: string, runKey: string): string | null {
    return chooseNode(this.poolsServing(workersOf(instanceId, url)), runKey);
  }

  /**
   * Returns the connections of an instance. Those of other nodes are in the state that was published last, up to a few seconds
   * ago.
   */
  async connectionsOf(instanceId: string): Promise<readonly WorkerStatus[]> {
    const { local, board } = this.options;
    const localConnections = await localDirectory(local, () => board.nodeId).connectionsOf(instanceId);
    return [...localConnections, ...(await board.connectionsElsewhere(instanceId))];
  }

  /** Reads the pools that other nodes have published. Never rejects. */
  refresh(): Promise<void> {
    this.mustReadAgain = true;
    this.reading ??= this.readAll().finally(() => {
      this.reading = null;
    });
    return this.reading;
  }

  /** Returns the pools of other nodes that serve the workflow of these workers. */
  private poolsServing(workers: string): readonly RemotePool[] {
    return this.remotePools.get(poolOf(workers))?.filter((pool) => pool.workers.has(workers)) ?? [];
  }

  private notify(change: WorkerChange): void {
    for (const listener of this.listeners) listener(change);
  }

  private poll(): void {
    const { clock } = this.options;
    if (!this.isRunning) return;
    this.cancelPoll = clock.setTimer(clock.now() + POLL_MS, () => {
      this.publishSoon();
      void this.refresh().then(() => this.poll());
    });
  }

  // ---------------------------------------------------------------- other nodes

  private async readAll(): Promise<void> {
    try {
      while (this.mustReadAgain && this.isRunning) {
        this.mustReadAgain = false;
        await this.readOnce();
      }
    } catch (error) {
      this.options.log.warn({ error: String(error) }, 'could not read the workers of other nodes, retrying within 2 s');
    }
  }

  private async readOnce(): Promise<void> {
    const { board } = this.options;
    const members = await board.members();
    const otherMembers = members.filter(({ nodeId }) => nodeId !== board.nodeId);
    const changedMembers = otherMembers.filter(
      ({ nodeId, workersVersion }) => this.otherNodes.get(nodeId)?.workersVersion !== workersVersion,
    );
    const nodePools = changedMembers.length === 0 ? [] : await board.poolsOf(changedMembers.map(({ nodeId }) => nodeId));
    const pools = nodePools.map(({ workflows, ...pool }): RemotePool => {
      const { instanceId, app } = pool;
      return { ...pool, workers: new Set(workflows.map((workflow) => workersOf(instanceId, workerUrl(app, workflow)))) };
    });
    const nextNodes = new Map<string, OtherNode>();
    for (const { nodeId, workersVersion } of otherMembers) {
      const previous = this.otherNodes.get(nodeId);
      const isSame = previous?.workersVersion === workersVersion;
      nextNodes.set(nodeId, isSame ? previous : { workersVersion, pools: pools.filter((pool) => pool.nodeId === nodeId) });
    }
    this.apply(nextNodes);
    const previousNodes = JSON.stringify(this.connectionNodes);
    this.members = members;
    if (JSON.stringify(this.connectionNodes) !== previousNodes) for (const listener of this.nodeListeners) listener();
  }

  private apply(nextNodes: ReadonlyMap<string, OtherNode>): void {
    const changedPools = new Map<string, PoolKey>();
    const addPools = (node: OtherNode): void => {
      for (const pool of node.pools) {
        changedPools.set(poolName(pool.instanceId, pool.app), pool);
        this.remoteSlots.poolChanged(pool);
      }
    };
    for (const [nodeId, node] of this.otherNodes) if (nextNodes.get(nodeId) !== node) addPools(node);
    for (const [nodeId, node] of nextNodes) if (this.otherNodes.get(nodeId) !== node) addPools(node);
    this.otherNodes = new Map(nextNodes);
    if (changedPools.size === 0) return;
    const remotePools = new Map<string, RemotePool[]>();
    for (const { pools } of nextNodes.values())
      for (const pool of pools) {
        const name = poolName(pool.instanceId, pool.app);
        const poolsOfName = remotePools.get(name);
        if (poolsOfName) poolsOfName.push(pool);
        else remotePools.set(name, [pool]);
      }
    const previousPools = this.remotePools;
    this.remotePools = remotePools;
    for (const [name, change] of changedPools) {
      this.recordLost(previousPools.get(name) ?? []);
      this.notify(change);
    }
  }

  /** Records the workflows that the pools of other nodes served before, and no longer serve. */
  private recordLost(previousPools: readonly RemotePool[]): void {
    const now = this.options.clock.now();
    for (const name of new Set(previousPools.flatMap(({ workers }) => [...workers])))
      if (this.poolsServing(name).length === 0) this.lostWorkflows.record(name, now);
  }

  // ---------------------------------------------------------------- this node

  private publishSoon(): void {
    if (!this.isRunning || this.cancelPublish || this.publishing) return;
    const { clock } = this.options;
    this.cancelPublish = clock.setTimer(Math.max(clock.now(), this.nextPublishAt), () => {
      this.cancelPublish = null;
      this.publishing = this.publish().finally(() => {
        this.publishing = null;
        if (this.dirtyPools.size > 0) this.publishSoon();
      });
    });
  }

  /** Publishes the pools that have changed. Never rejects. */
  private async publish(): Promise<void> {
    const { board, clock, local, log } = this.options;
    const { nodeId } = board;
    const isNewNode = nodeId !== this.publishedNodeId;
    // The pools that were published under an earlier id of this node were removed together with its lease.
    if (isNewNode) this.publishedPools.clear();
    this.publishedNodeId = nodeId;
    const isStatusDue = clock.now() >= this.nextStatusAt;
    if (isStatusDue) this.nextStatusAt = clock.now() + STATUS_EVERY_MS;
    this.nextPublishAt = clock.now() + PUBLISH_EVERY_MS;
    if (isNewNode || isStatusDue)
      for (const pool of local.poolNames) this.dirtyPools.set(poolName(pool.instanceId, pool.app), pool);
    const poolsToCheck = [...this.dirtyPools];
    this.dirtyPools.clear();
    const changedPools: PublishedPool[] = [];
    const removedPools: PoolKey[] = [];
    let othersMustReload = false;
    const newStates = new Map<string, PublishedPoolState | null>();
    for (const [name, { instanceId, app }] of poolsToCheck) {
      const pool = this.poolToPublish({ instanceId, app });
      const previous = this.publishedPools.get(name);
      if (!pool) {
        if (!previous) continue;
        removedPools.push({ instanceId, app });
        newStates.set(name, null);
        othersMustReload = true;
        continue;
      }
      const { slots, workflows, connections } = pool;
      const newState = {
        instanceId,
        app,
        visibleJson: JSON.stringify({ slots, workflows }),
        connectionsJson: JSON.stringify(connections),
      };
      if (previous?.visibleJson === newState.visibleJson && previous.connectionsJson === newState.connectionsJson) continue;
      othersMustReload ||= previous?.visibleJson !== newState.visibleJson;
      changedPools.push(pool);
      newStates.set(name, newState);
    }
    if (newStates.size === 0) return;
    try {
      await board.publishPools({ put: changedPools, removed: removedPools, othersMustReload });
      for (const [name, state] of newStates) {
        if (state) this.publishedPools.set(name, state);
        else this.publishedPools.delete(name);
      }
      if (othersMustReload) board.notify({ kind: 'workers' });
    } catch (error) {
      log.warn({ error: String(error) }, 'could not publish the workers of this node, retrying in 1 s');
      for (const [name, pool] of poolsToCheck) this.dirtyPools.set(name, pool);
      this.nextPublishAt = clock.now() + RETRY_MS;
    }
  }

  private poolToPublish({ instanceId, app }: PoolKey): PublishedPool | null {
    const { local, board } = this.options;
    const name = poolName(instanceId, app);
    const links = local.linksOfPool(name);
    const openLinks = links.filter(({ isOpen }) => isOpen);
    if (openLinks.length === 0) return null;
    return {
      ...{ instanceId, app },
      slots: openLinks.reduce((sum, { profile }) => sum + profile.maxConcurrency, 0),
      workflows: local.servedWorkflows.namesOf(name),
      connections: links.map((link) => statusOf(link, board.nodeId)),
    };
  }
}
