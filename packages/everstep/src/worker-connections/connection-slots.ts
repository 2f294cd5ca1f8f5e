/**
 * The slots of the connections that accept work. A delivery reserves a slot of a connection that serves its workflow before its
 * request is sent, so no two deliveries count on the same slot. The numbers of free slots are updated when a slot is taken or
 * released, in time proportional to the workflows of the connection: queries do not depend on the number of connections.
 */
import { workerUrl } from '@everstep/sdk/protocol';
import { type FreedSlots, type WorkerDelivery, workersOf } from '../ports/workers.js';
import type { WorkerLink } from './worker-link.js';

/** Maximum number of connections with a free slot of which the least loaded one is chosen. */
const MAX_COMPARED = 16;

/** The slots of the connections that serve a workflow. */
interface WorkflowSlots {
  readonly workers: string;
  /** Number of connections. */
  connections: number;
  free: number;
  /** Connections with a free slot. The one that was chosen longest ago is first. */
  readonly freeConnections: Set<Connection>;
}

/** The slots of one connection. */
interface Connection {
  readonly link: WorkerLink;
  readonly capacity: number;
  /** Names of the workers of each workflow that the connection serves. */
  readonly workers: ReadonlySet<string>;
  readonly workflows: readonly WorkflowSlots[];
  taken: number;
  isOpen: boolean;
  wasLastCounted: boolean;
}

const hasFreeSlot = ({ isOpen, taken, capacity }: Connection): boolean => isOpen && taken < capacity;

/** Of two connections with the same load, the one that serves fewer workflows is used first. */
const isLessLoaded = (a: Connection, b: Connection): boolean =>
  a.taken < b.taken || (a.taken === b.taken && a.workflows.length < b.workflows.length);

export class ConnectionSlots {
  private readonly workflows = new Map<string, WorkflowSlots>();
  private readonly connections = new Map<WorkerLink, Connection>();
  /** Connections with a reserved slot, by key of the reservation. */
  private readonly reservations = new Map<string, Connection>();
  private readonly freedConnections = new Set<Connection>();

  /** Adds the slots of a connection that accepts work. */
  add(link: WorkerLink): void {
    if (this.connections.has(link)) return;
    const { instanceId, profile } = link;
    const capacity = profile.maxConcurrency;
    const workers = new Set(profile.workflows.map((workflow) => workersOf(instanceId, workerUrl(profile.app, workflow))));
    const workflows = [...workers].map((name) => this.workflowOf(name));
    const connection = { link, capacity, workers, workflows, taken: 0, isOpen: true, wasLastCounted: false };
    this.connections.set(link, connection);
    for (const workflow of workflows) {
      workflow.connections++;
      workflow.free += capacity;
      workflow.freeConnections.add(connection);
    }
    this.freedConnections.add(connection);
  }

  /** Called when a connection accepts no more work. Its reserved slots remain until they are released. */
  remove(link: WorkerLink): void {
    const connection = this.connections.get(link);
    if (!connection) return;
    this.connections.delete(link);
    connection.isOpen = false;
    const { workflows, capacity, taken } = connection;
    for (const workflow of workflows) {
      workflow.connections--;
      workflow.free -= Math.max(0, capacity - taken);
      workflow.freeConnections.delete(connection);
      if (workflow.connections === 0) this.workflows.delete(workflow.workers);
    }
    this.freedConnections.add(connection);
  }

  freeSlots(workers: string): number {
    return this.workflows.get(workers)?.free ?? Number.POSITIVE_INFINITY;
  }

  /** Reserves a slot of this connection if possible, otherwise the held slot, otherwise one of the least loaded connection. */
  reserve({ key, workers, isCounted }: WorkerDelivery, holder: WorkerLink | undefined, heldKey = ''): boolean {
    const heldConnection = this.reservations.get(heldKey);
    this.reservations.delete(heldKey);
    const workflow = this.workflows.get(workers);
    const holderConnection = holder && this.connections.get(holder);
    const openHeldConnection = heldConnection?.isOpen ? heldConnection : null;
    const canUseHolder =
      holderConnection && (holderConnection === heldConnection || workflow?.freeConnections.has(holderConnection));
    const connection = canUseHolder ? holderConnection : (openHeldConnection ?? this.leastLoadedOf(workflow));
    if (connection !== heldConnection) {
      if (connection) this.take(connection);
      if (heldConnection) this.give(heldConnection);
    }
    if (!connection) return false;
    connection.wasLastCounted = isCounted;
    this.reservations.set(key, connection);
    return true;
  }

  /** Returns the connection with the reserved slot. */
  linkOf(key: string): WorkerLink | undefined {
    return this.reservations.get(key)?.link;
  }

  /** Called when the request of a delivery is sent over this connection. If the delivery has no slot, it gets one there. */
  noteSent(key: string, link: WorkerLink): void {
    const previousConnection = this.reservations.get(key);
    const connection = this.connections.get(link);
    if (previousConnection?.isOpen || !connection) return;
    this.take(connection);
    this.reservations.set(key, connection);
  }

  release(key: string): void {
    const connection = this.reservations.get(key);
    this.reservations.delete(key);
    if (connection) this.give(connection);
  }

  takeFreed(): readonly FreedSlots[] {
    if (this.freedConnections.size === 0) return [];
    const freedConnections = [...this.freedConnections];
    this.freedConnections.clear();
    return freedConnections
      .filter((connection) => !connection.isOpen || hasFreeSlot(connection))
      .map(({ link: { instanceId }, workers, wasLastCounted }) => ({ instanceId, workers, wasLastCounted }));
  }

  private workflowOf(workers: string): WorkflowSlots {
    let workflow = this.workflows.get(workers);
    if (!workflow) {
      workflow = { workers, connections: 0, free: 0, freeConnections: new Set() };
      this.workflows.set(workers, workflow);
    }
    return workflow;
  }

  private leastLoadedOf(workflow: WorkflowSlots | undefined): Connection | null {
    let leastLoaded: Connection | null = null;
    let comparedCount = 0;
    for (const connection of workflow?.freeConnections ?? []) {
      if (!leastLoaded || isLessLoaded(connection, leastLoaded)) leastLoaded = connection;
      if (++comparedCount === MAX_COMPARED) break;
    }
    if (leastLoaded && workflow?.freeConnections.delete(leastLoaded)) workflow.freeConnections.add(leastLoaded);
    return leastLoaded;
  }

  private take(connection: Connection): void {
    const hadFreeSlot = hasFreeSlot(connection);
    connection.taken++;
    if (!hadFreeSlot) return;
    const isFull = !hasFreeSlot(connection);
    for (const workflow of connection.workflows) {
      workflow.free--;
      if (isFull) workflow.freeConnections.delete(connection);
    }
  }

  private give(connection: Connection): void {
    const wasFull = !hasFreeSlot(connection);
    connection.taken--;
    if (!hasFreeSlot(connection)) return;
    for (const workflow of connection.workflows) {
      workflow.free++;
      if (wasFull) workflow.freeConnections.add(connection);
    }
    if (wasFull) this.freedConnections.add(connection);
  }
}
