/** What a node does when it loses its lease, gets one again, or hears of others. Keeps invariant 15. */
import type { FlowControl } from '../../engine/runs/run.js';
import type { Clock } from '../../ports/clock.js';
import type { Cluster, ClusterEvents, SharedChange } from '../../ports/cluster.js';
import type { Log } from '../../ports/log.js';
import type { Store } from '../../ports/stores/store.js';
import type { LiveChanges } from '../commits/live-changes.js';
import type { Deliveries } from '../dispatch/deliveries.js';
import type { Departures } from '../dispatch/departures.js';
import { GateHolders, type GateHoldersOptions } from '../dispatch/gate-holders.js';
import type { DueTasks } from '../due/due-tasks.js';
import type { DeliveryGates } from '../gates/delivery-gates.js';
import type { Decisions } from '../runs/decisions.js';
import type { EndWatch } from '../runs/end-watch.js';
import type { RunCache } from '../runs/run-cache.js';

/** How often it is looked whether runs that clients wait for have ended on other nodes. */
const END_POLL_MS = 100;
/** What goes on at gates is told to others at most so often. */
const STANDING_MS = 1_000;
/** A node that is about to stop gives back what has ended at it so often. */
const GIVE_BACK_MS = 50;
const MOST_BROUGHT = 10_000;

export interface MembershipOptions {
  readonly cluster: Cluster;
  readonly store: Pick<Store, 'endedAmong'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly cache: RunCache;
  readonly decisions: Decisions;
  readonly gates: DeliveryGates;
  readonly holders: GateHolders;
  readonly departures: Departures;
  readonly deliveries: Deliveries;
  readonly due: DueTasks;
  readonly ends: EndWatch;
  readonly live: LiveChanges;
  /** Of accounts, schedules and whatever else is kept in memory elsewhere. */
  readonly changed: (change: SharedChange) => void;
}

export class Membership {
  private readonly options: MembershipOptions;
  private readonly told = new Map<string, string>();
  /** The limits of keys that this node told of last. */
  private readonly brought = new Map<string, string>();
  private cancelEnds: () => void = () => {};
  private cancelStanding: () => void = () => {};
  private stopped = false;

  constructor(options: MembershipOptions) {
    this.options = options;
  }

  /** Rejects when the store cannot be reached. */
  async start(): Promise<void> {
    await this.options.cluster.join(this.events());
    this.watchEnds();
    this.tellStandings();
  }

  stop(): void {
    this.stopped = true;
    this.cancelEnds();
    this.cancelStanding();
  }

  /**
   * It is about to stop: other nodes continue with what is not out here, and with what follows from that as it ends, until
   * the function that this resolves with is called. Never rejects.
   */
  async giveBackMeanwhile(): Promise<() => Promise<void>> {
    const { clock } = this.options;
    let cancel = (): void => {};
    let ended = false;
    let giving = this.giveBack();
    const again = (): void => {
      if (ended) return;
      cancel = clock.setTimer(clock.now() + GIVE_BACK_MS, () => {
        giving = this.giveBack().then(again);
      });
    };
    await giving;
    again();
    return async () => {
      ended = true;
      cancel();
      await giving;
    };
  }

  /** Never rejects; to be called again while something is out. */
  private async giveBack(): Promise<void> {
    const { cluster, departures, holders, log } = this.options;
    const tasks = departures.flights;
    const limited = tasks.filter(({ passage }) => holders.isLimited(passage));
    try {
      await cluster.giveBack({ tasks, gates: [...new Set(limited.map(({ passage }) => passage.instanceId))] });
    } catch (error) {
      log.warn({ error: String(error) }, 'could not return unstarted tasks');
    }
  }

  /** A trigger brought limits of a key whose gates are another node's: it looks what is stored. */
  limitsBrought(instanceId: string, flowControl: FlowControl): void {
    const { cluster, holders } = this.options;
    if (holders.holds(instanceId)) return;
    const { key, ...limits } = flowControl;
    const id = `${instanceId}\n${key}`;
    const text = JSON.stringify(limits);
    if (this.brought.get(id) === text) return;
    if (this.brought.size >= MOST_BROUGHT) this.brought.clear();
    this.brought.set(id, text);
    cluster.tell({ kind: 'flow-control', instanceId, key });
  }

  private events(): ClusterEvents {
    const { cache, deliveries, departures, due, gates, holders, changed } = this.options;
    return {
      work: () => due.look(),
      suspended: () => cache.giveUpDeliveries(),
      resumed: ({ anew }) => {
        holders.forget();
        if (anew) {
          // All of it is somebody else's by now.
          cache.clear();
          // Nothing leaves any more that waits for a place.
          departures.drop();
          deliveries.forgetAsked();
          gates.reset();
          this.told.clear();
          changed({ kind: 'everything' });
          due.claimsLost();
        } else due.restartNow();
      },
      changed: (change) => this.heard(change),
    };
  }

  private heard(change: SharedChange): void | Promise<void> {
    const { cache, decisions, gates, holders, live, changed } = this.options;
    switch (change.kind) {
      case 'run-canceled': {
        const entry = cache.peek(change.runKey);
        if (entry) decisions.forget(entry);
        gates.runEnded(change.runKey);
        break;
      }
      case 'flow-control':
        changed(change);
        return gates.reloadKey(change.instanceId, change.key, change.reset === true);
      case 'queue':
        changed(change);
        return gates.reloadQueue(change.instanceId, change.name);
      case 'settings':
        changed(change);
        return gates.reloadSettings(change.instanceId);
      case 'everything':
        holders.forget();
        live.missed();
        gates.reloadAll();
        break;
      case 'live-wanted':
        live.wantedElsewhere(change.instanceIds);
        return;
      case 'live':
        live.heard(change.instanceId, change);
        return;
      case 'account':
        live.heard(change.instanceId, { topics: ['settings'], runIds: [] });
        break;
      default:
        change satisfies never;
    }
    changed(change);
  }

  /** Runs may end on any node; those that clients wait for here are asked for together. */
  private watchEnds(): void {
    if (this.stopped) return;
    const { clock, ends, store, log } = this.options;
    this.cancelEnds = clock.setTimer(clock.now() + END_POLL_MS, () => {
      const runKeys = ends.watched;
      if (runKeys.length === 0) return this.watchEnds();
      store.endedAmong({ runKeys }).then(
        (ended) => {
          for (const runKey of ended) ends.ended(runKey);
          this.watchEnds();
        },
        (error: unknown) => {
          log.warn({ error: String(error) }, 'could not check whether runs ended on other nodes, retrying');
          this.watchEnds();
        },
      );
    });
  }

  private tellStandings(): void {
    if (this.stopped) return;
    const { clock } = this.options;
    this.cancelStanding = clock.setTimer(clock.now() + STANDING_MS, () => {
      const told = this.options.holders.held.map((instanceId) => this.publishGateStatus(instanceId));
      void Promise.allSettled([...told, this.freePlaces()]).then(() => this.tellStandings());
    });
  }

  /**
   * Messages may have ended without this node knowing it: at another node, or in a commit whose answer was lost. Their places
   * in queues would be held forever.
   */
  private async freePlaces(): Promise<void> {
    const { gates, store } = this.options;
    const runKeys = gates.idlePlaces;
    if (runKeys.length === 0) return;
    for (const runKey of await store.endedAmong({ runKeys })) gates.runEnded(runKey);
  }

  private async publishGateStatus(instanceId: string): Promise<void> {
    const standing = { keys: this.options.gates.standing(instanceId) };
    const text = JSON.stringify(standing);
    if (this.told.get(instanceId) === text) return;
    await this.options.cluster.publishGateStatus(instanceId, standing);
    this.told.set(instanceId, text);
  }
}

export interface NodeParts {
  readonly holders: GateHolders;
  readonly membership: Membership;
}

export interface NodeSurroundings extends Omit<MembershipOptions, 'holders' | 'changed'> {
  readonly isLimited: (instanceId: string) => boolean;
  /** The gates of its instance are this node's. */
  readonly offer: GateHoldersOptions['offer'];
  readonly onChange?: (change: SharedChange) => void;
}

/** What a driver of runs needs to be one of several nodes. */
export function joinedNode(surroundings: NodeSurroundings): NodeParts {
  const { cluster, clock, log, due, isLimited, offer, onChange } = surroundings;
  const holders = new GateHolders({
    ...{ cluster, clock, log, isLimited, offer },
    look: () => due.look(),
    onLost: () => due.restart(),
  });
  const membership = new Membership({
    ...surroundings,
    holders,
    changed: (change) => onChange?.(change),
  });
  return { holders, membership };
}
