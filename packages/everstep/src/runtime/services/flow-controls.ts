/**
 * Flow control keys, held destinations and settings for users. A change takes effect in the gates of this process. A change of a
 * key or a hold resolves when all nodes have confirmed it.
 *
 * Keeps invariant 28.
 */

import { DEFAULT_INSTANCE_SETTINGS, type FlowControlState, type InstanceSettings } from '../../engine/runs/run.js';
import type { Clock } from '../../ports/clock.js';
import type { Cluster } from '../../ports/cluster.js';
import type { AccountStore } from '../../ports/stores/account-store.js';
import type { ControlStore } from '../../ports/stores/control-store.js';
import type { RunStore } from '../../ports/stores/run-store.js';
import type { TaskStore } from '../../ports/stores/task-store.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import type { DeliveryGates } from '../gates/delivery-gates.js';
import { readKeyWaitList } from '../gates/key-wait-list.js';
import type {
  DestinationService,
  DestinationStatus,
  FlowControlChangeCommand,
  FlowControlService,
  FlowControlStatus,
  InstanceSettingsService,
  KeyWaitList,
} from '../interface/flow-control.js';
import { InstanceLocks } from './instance-locks.js';

interface KeyQuery {
  readonly instanceId: string;
  readonly key: string;
}

export interface FlowControlsOptions {
  readonly store: TaskStore & RunStore & Pick<ControlStore, 'findFlowControl' | 'listFlowControls'>;
  readonly clock: Clock;
  readonly dispatcher: Pick<Dispatcher, 'gates' | 'holdsGates' | 'maxInFlight' | 'inFlight'>;
  /** The connection to other nodes; null if no other process uses the store. */
  readonly cluster: Pick<Cluster, 'notify' | 'confirm' | 'gateStatusOf'> | null;
}

export class FlowControls implements FlowControlService {
  private readonly options: FlowControlsOptions;
  private readonly changeTurns = new InstanceLocks();

  constructor(options: FlowControlsOptions) {
    this.options = options;
  }

  async list(query: { readonly instanceId: string }): Promise<readonly FlowControlStatus[]> {
    const { store, dispatcher } = this.options;
    if (this.holdsGates(query.instanceId)) return dispatcher.gates.flowControls(query);
    return this.addCounts(query.instanceId, await store.listFlowControls(query));
  }

  async find(query: KeyQuery): Promise<FlowControlStatus | null> {
    const { store, dispatcher } = this.options;
    if (this.holdsGates(query.instanceId)) return dispatcher.gates.flowControl(query);
    const state = await store.findFlowControl(query);
    const [status = null] = await this.addCounts(query.instanceId, state ? [state] : []);
    return status;
  }

  async waitList(query: KeyQuery & { readonly limit: number }): Promise<KeyWaitList | null> {
    const { store, clock, dispatcher } = this.options;
    const status = await this.find(query);
    const holdsGates = dispatcher.holdsGates(query.instanceId);
    return status && readKeyWaitList({ store, clock, holdsGates, gates: dispatcher.gates }, query, status);
  }

  async change(command: FlowControlChangeCommand): Promise<FlowControlStatus | null> {
    const { instanceId, key, change } = command;
    const { cluster, dispatcher } = this.options;
    const { gates } = dispatcher;
    const notice = { kind: 'flow-control', instanceId, key } as const;
    const status = await this.changeTurns.run(instanceId, async () => {
      // The state in memory is the latest one only on the node that holds the gates.
      if (!this.holdsGates(instanceId)) await gates.readKey(instanceId, key);
      try {
        return await gates.changeFlowControl(command);
      } catch (error) {
        // The change is durable if only the response was lost. A reset may not be, so other nodes do not end their rate windows.
        cluster?.notify(notice);
        throw error;
      }
    });
    if (status) await cluster?.confirm(change.kind === 'reset-rate' ? { ...notice, reset: true } : notice);
    return status;
  }

  globalParallelism({ instanceId }: { readonly instanceId: string }): { readonly max: number; readonly inFlight: number } {
    const { dispatcher } = this.options;
    return { max: dispatcher.maxInFlight(instanceId), inFlight: dispatcher.inFlight(instanceId) };
  }

  /** Returns whether this node has the current state of the keys in memory. */
  private holdsGates(instanceId: string): boolean {
    const { cluster, dispatcher } = this.options;
    return cluster === null || dispatcher.holdsGates(instanceId);
  }

  /** Adds the numbers of the node that holds the gates, as it last published them. */
  private async addCounts(instanceId: string, states: readonly FlowControlState[]): Promise<readonly FlowControlStatus[]> {
    if (states.length === 0) return [];
    const publishedStatus = await this.options.cluster?.gateStatusOf(instanceId);
    return states.map((state) => ({ ...state, ...(publishedStatus?.keys[state.key] ?? { waiting: 0, inFlight: 0 }) }));
  }
}

export class Destinations implements DestinationService {
  private readonly gates: DeliveryGates;
  private readonly cluster: Pick<Cluster, 'confirm'> | null;

  constructor(gates: DeliveryGates, cluster: Pick<Cluster, 'confirm'> | null) {
    this.gates = gates;
    this.cluster = cluster;
  }

  list(query: { readonly instanceId: string }): Promise<readonly DestinationStatus[]> {
    return this.gates.destinations(query);
  }

  async hold(command: Parameters<DestinationService['hold']>[0]): Promise<void> {
    await this.gates.holdDestination(command);
    await this.cluster?.confirm({ kind: 'settings', instanceId: command.instanceId });
  }

  async release(command: { readonly instanceId: string; readonly origin: string }): Promise<boolean> {
    const isReleased = await this.gates.releaseDestination(command);
    if (isReleased) await this.cluster?.confirm({ kind: 'settings', instanceId: command.instanceId });
    return isReleased;
  }
}

export interface SettingsOptions {
  readonly store: Pick<ControlStore, 'instanceSettings'> & { readonly accounts: Pick<AccountStore, 'runExclusively'> };
  readonly gates: Pick<DeliveryGates, 'instanceSettings' | 'changeInstanceSettings'>;
}

/** Settings of queue instances. Changes of one instance are made one after the other, in all processes. */
export class Settings implements InstanceSettingsService {
  private readonly options: SettingsOptions;
  private readonly locks = new InstanceLocks();

  constructor(options: SettingsOptions) {
    this.options = options;
  }

  instanceSettings(query: { readonly instanceId: string }): Promise<InstanceSettings> {
    return this.options.gates.instanceSettings(query);
  }

  changeInstanceSettings({
    instanceId,
    update,
  }: Parameters<InstanceSettingsService['changeInstanceSettings']>[0]): Promise<InstanceSettings> {
    const { store, gates } = this.options;
    const { runExclusively } = store.accounts;
    const change = async () => {
      // Another node may have changed the settings since this node read them into memory.
      const settings = update((await store.instanceSettings({ instanceId })) ?? DEFAULT_INSTANCE_SETTINGS);
      await gates.changeInstanceSettings({ instanceId, settings });
      return settings;
    };
    return this.locks.run(instanceId, () => (runExclusively ? runExclusively(change, [instanceId]) : change()));
  }
}
