/**
 * Handles events of the cluster: this node loses its lease or gets a new one, or another node reports a change.
 *
 * Keeps invariant 15.
 */
import type { Clock } from '../../ports/clock.js';
import type { Cluster, ClusterEvents, SharedChange } from '../../ports/cluster.js';
import type { Log } from '../../ports/log.js';
import type { Store } from '../../ports/stores/store.js';
import type { LiveChanges } from '../commits/live-changes.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import type { DueTasks } from '../due/due-tasks.js';
import type { Decisions } from '../runs/decisions.js';
import type { RunCache } from '../runs/run-cache.js';
import type { RunEndWatchers } from '../runs/run-end-watchers.js';

/** Interval at which runs that clients wait for are checked for an end on another node. */
const END_POLL_MS = 100;
/** Interval at which the state of the gates is published to other nodes. */
const GATE_STATUS_MS = 1_000;
/** Interval at which a stopping node returns tasks. */
const RELEASE_INTERVAL_MS = 50;

export interface MembershipOptions {
  readonly cluster: Cluster;
  readonly store: Pick<Store, 'filterEndedRuns'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly cache: RunCache;
  readonly decisions: Decisions;
  readonly dispatcher: Dispatcher;
  readonly due: DueTasks;
  readonly ends: RunEndWatchers;
  readonly live: LiveChanges;
  /** Called with changes of accounts, schedules and other data that is kept in memory elsewhere. */
  readonly onChange: (change: SharedChange) => void;
}

export class Membership {
  private readonly options: MembershipOptions;
  /** The gate status that was published last, as JSON, by instance. */
  private readonly publishedStatus = new Map<string, string>();
  private cancelEndPoll: () => void = () => {};
  private cancelGateStatus: () => void = () => {};
  private isStopped = false;

  constructor(options: MembershipOptions) {
    this.options = options;
  }

  /** Joins the cluster. Rejects if the store cannot be reached. */
  async start(): Promise<void> {
    await this.options.cluster.join(this.createEvents());
    this.watchEnds();
    this.watchGateStatus();
  }

  stop(): void {
    this.isStopped = true;
    this.cancelEndPoll();
    this.cancelGateStatus();
  }

  /**
   * Returns tasks to the cluster while the node stops. Other nodes continue the tasks that are not in flight here, and those
   * that follow when the deliveries in flight end. Continues until the returned function is called. Never rejects.
   */
  async releaseWhileStopping(): Promise<() => Promise<void>> {
    const { clock } = this.options;
    let cancelTimer = (): void => {};
    let isEnded = false;
    let releasing = this.releaseTasks();
    const scheduleNext = (): void => {
      if (isEnded) return;
      cancelTimer = clock.setTimer(clock.now() + RELEASE_INTERVAL_MS, () => {
        releasing = this.releaseTasks().then(scheduleNext);
      });
    };
    await releasing;
    scheduleNext();
    return async () => {
      isEnded = true;
      cancelTimer();
      await releasing;
    };
  }

  /** Releases the tasks that have not started. Must be called again while deliveries are in flight. Never rejects. */
  private async releaseTasks(): Promise<void> {
    const { cluster, dispatcher, log } = this.options;
    const tasks = dispatcher.deliveriesInFlight;
    const limitedTasks = tasks.filter(({ limits }) => dispatcher.isLimited(limits));
    try {
      await cluster.release({ tasks, gates: [...new Set(limitedTasks.map(({ limits }) => limits.instanceId))] });
    } catch (error) {
      log.warn({ error: String(error) }, 'could not release unstarted tasks');
    }
  }

  private createEvents(): ClusterEvents {
    const { cache, dispatcher, due, onChange } = this.options;
    return {
      onWork: () => due.startScan(),
      onSuspended: () => cache.giveUpDeliveries(),
      onResumed: ({ isNewNode }) => {
        dispatcher.forgetHolders();
        if (isNewNode) {
          // Other nodes have taken over the work that this node had under its earlier id.
          cache.clear();
          dispatcher.onWorkTakenOver();
          this.publishedStatus.clear();
          onChange({ kind: 'everything' });
          due.onClaimsLost();
        } else due.restartNow();
      },
      onChanged: (change) => this.applyChange(change),
    };
  }

  private applyChange(change: SharedChange): void | Promise<void> {
    const { cache, decisions, dispatcher, live, onChange } = this.options;
    const { gates } = dispatcher;
    switch (change.kind) {
      case 'run-canceled': {
        const entry = cache.peek(change.runKey);
        if (entry) decisions.forget(entry);
        dispatcher.onEndedElsewhere(change.runKey);
        gates.onRunEnded(change.runKey);
        break;
      }
      // A message has only one task, so it has no slot in a queue here.
      case 'run-ended':
        dispatcher.onEndedElsewhere(change.runKey);
        return;
      case 'flow-control':
        onChange(change);
        return gates.reloadKey(change.instanceId, change.key, change.reset === true);
      case 'queue':
        onChange(change);
        return gates.reloadQueue(change.instanceId, change.name);
      case 'settings':
        onChange(change);
        return gates.reloadSettings(change.instanceId);
      case 'loans':
        if (change.to === this.options.cluster.nodeId) dispatcher.loans?.reportReceived(change);
        return;
      case 'workers':
        break;
      case 'everything':
        dispatcher.forgetHolders();
        dispatcher.loans?.verify();
        live.publishEverything();
        gates.reloadAll();
        break;
      case 'live-wanted':
        live.recordWantedElsewhere(change.instanceIds);
        return;
      case 'live':
        live.notifyListeners(change.instanceId, change);
        return;
      case 'account':
        live.notifyListeners(change.instanceId, { topics: ['settings'], runIds: [] });
        break;
      default:
        change satisfies never;
    }
    onChange(change);
  }

  /** Checks all runs that clients wait for here together, because runs may end on any node. */
  private watchEnds(): void {
    if (this.isStopped) return;
    const { clock, ends, store, log } = this.options;
    this.cancelEndPoll = clock.setTimer(clock.now() + END_POLL_MS, () => {
      const runKeys = ends.watchedRunKeys;
      if (runKeys.length === 0) return this.watchEnds();
      store.filterEndedRuns({ runKeys }).then(
        (endedRunKeys) => {
          for (const runKey of endedRunKeys) ends.onRunEnded(runKey);
          this.watchEnds();
        },
        (error: unknown) => {
          log.warn({ error: String(error) }, 'could not check whether runs ended on other nodes, retrying in 100 ms');
          this.watchEnds();
        },
      );
    });
  }

  private watchGateStatus(): void {
    if (this.isStopped) return;
    const { clock, dispatcher } = this.options;
    this.cancelGateStatus = clock.setTimer(clock.now() + GATE_STATUS_MS, () => {
      const publishing = dispatcher.instancesWithGates.map((instanceId) => this.publishGateStatus(instanceId));
      void Promise.allSettled([...publishing, this.freeQueueSlots()]).then(() => this.watchGateStatus());
    });
  }

  /**
   * Frees the slots in queues of messages whose end this node has missed: they ended on another node, or in a commit whose
   * response was lost.
   */
  private async freeQueueSlots(): Promise<void> {
    const { dispatcher, store } = this.options;
    const runKeys = dispatcher.gates.idleSlotHolders;
    if (runKeys.length === 0) return;
    for (const runKey of await store.filterEndedRuns({ runKeys })) dispatcher.gates.onRunEnded(runKey);
  }

  private async publishGateStatus(instanceId: string): Promise<void> {
    const { cluster, dispatcher } = this.options;
    const status = { keys: dispatcher.gates.keyCounts(instanceId) };
    const statusJson = JSON.stringify(status);
    if (this.publishedStatus.get(instanceId) === statusJson) return;
    await cluster.publishGateStatus(instanceId, status);
    this.publishedStatus.set(instanceId, statusJson);
  }
}
