/** Writes to objects other than runs: keys, queues, URL groups, schedules, destinations, settings. */
import type { DestinationHold, FlowControl, FlowControlState, InstanceSettings, Queue, Schedule, UrlGroup } from '../runs/run.js';
import { alwaysFalse, alwaysTrue, alwaysZero, INSTANCE_FACTS, SMALL_WRITE_FACTS, type WriteFactsOf } from './facts.js';

export type ControlWrite =
  /**
   * Registers the key, or replaces its limits. The latest configuration wins, except that a key without limits keeps
   * its current ones and a pinned limit does not change.
   */
  | {
      readonly kind: 'put-flow-control';
      readonly instanceId: string;
      readonly flowControl: FlowControl;
      readonly at: number;
    }
  /**
   * Sets a part of the state of a key, as a person specified it: whether it is paused, or its limits, including pinned ones.
   * Registers a new key with the whole state. Does not change the rate window, whose grants another node may be adding to.
   */
  | {
      readonly kind: 'set-flow-control';
      readonly instanceId: string;
      readonly part: 'paused' | 'limits';
      readonly state: Omit<FlowControlState, 'window'>;
      readonly at: number;
    }
  /**
   * Stores the number of granted starts in a rate window. It is written before the deliveries start, so that a crash cannot
   * grant them twice.
   */
  | {
      readonly kind: 'set-flow-window';
      readonly instanceId: string;
      readonly key: string;
      readonly window: FlowControlState['window'];
    }
  /** Registers the queue that a message specifies. A new queue has a parallelism of one. */
  | { readonly kind: 'register-queue'; readonly instanceId: string; readonly name: string; readonly at: number }
  | { readonly kind: 'put-queue'; readonly instanceId: string; readonly queue: Queue }
  | { readonly kind: 'delete-queue'; readonly instanceId: string; readonly name: string }
  | { readonly kind: 'put-url-group'; readonly instanceId: string; readonly group: UrlGroup }
  | { readonly kind: 'delete-url-group'; readonly instanceId: string; readonly name: string }
  | { readonly kind: 'put-schedule'; readonly schedule: Schedule }
  | { readonly kind: 'delete-schedule'; readonly instanceId: string; readonly scheduleId: string }
  /** Replaces the hold of an origin; null releases it. A write of the breaker has no effect on a hold that was set by hand. */
  | {
      readonly kind: 'set-hold';
      readonly instanceId: string;
      readonly origin: string;
      readonly hold: DestinationHold | null;
      readonly by: DestinationHold['by'];
    }
  | { readonly kind: 'set-instance-settings'; readonly instanceId: string; readonly settings: InstanceSettings };

const FLOW_CONTROL_WRITE = { ...INSTANCE_FACTS, ...SMALL_WRITE_FACTS, aggregate: 'flow-control', topic: 'flow-control' } as const;
const QUEUE_WRITE = {
  ...INSTANCE_FACTS,
  ...SMALL_WRITE_FACTS,
  aggregate: 'queue',
  topic: 'queues',
  isSelfContained: alwaysFalse,
} as const;
const URL_GROUP_WRITE = {
  ...INSTANCE_FACTS,
  ...SMALL_WRITE_FACTS,
  aggregate: 'url-group',
  topic: 'queues',
  isSelfContained: alwaysFalse,
} as const;
const SCHEDULE_WRITE = {
  ...INSTANCE_FACTS,
  ...SMALL_WRITE_FACTS,
  aggregate: 'schedule',
  topic: 'schedules',
  isSelfContained: alwaysFalse,
} as const;

export const CONTROL_WRITE_FACTS = {
  'put-flow-control': {
    ...FLOW_CONTROL_WRITE,
    isSelfContained: alwaysTrue,
    time: ({ at }) => at,
    conflicts: ({ instanceId, flowControl }, keys) => keys.object('flow-control', instanceId, flowControl.key),
  },
  'set-flow-control': {
    ...FLOW_CONTROL_WRITE,
    isSelfContained: alwaysFalse,
    time: ({ at }) => at,
    conflicts: ({ instanceId, state }, keys) => keys.object('flow-control', instanceId, state.key),
  },
  'set-flow-window': {
    ...FLOW_CONTROL_WRITE,
    isSelfContained: alwaysTrue,
    time: ({ window }) => window?.startedAt ?? 0,
    conflicts: ({ instanceId, key }, keys) => keys.object('flow-control', instanceId, key),
  },
  'register-queue': {
    ...QUEUE_WRITE,
    time: ({ at }) => at,
    conflicts: ({ instanceId, name }, keys) => keys.object('queue', instanceId, name),
  },
  'put-queue': {
    ...QUEUE_WRITE,
    time: ({ queue }) => queue.updatedAt,
    conflicts: ({ instanceId, queue }, keys) => keys.object('queue', instanceId, queue.name),
  },
  'delete-queue': {
    ...QUEUE_WRITE,
    time: alwaysZero,
    conflicts: ({ instanceId, name }, keys) => keys.object('queue', instanceId, name),
  },
  'put-url-group': {
    ...URL_GROUP_WRITE,
    time: ({ group }) => group.updatedAt,
    conflicts: ({ instanceId, group }, keys) => keys.object('url-group', instanceId, group.name),
  },
  'delete-url-group': {
    ...URL_GROUP_WRITE,
    time: alwaysZero,
    conflicts: ({ instanceId, name }, keys) => keys.object('url-group', instanceId, name),
  },
  'put-schedule': {
    ...SCHEDULE_WRITE,
    instanceId: ({ schedule }) => schedule.instanceId,
    time: ({ schedule }) => Math.max(schedule.createdAt, schedule.lastFiredAt ?? 0),
    weight: ({ schedule }) => schedule.payload.body.length,
    conflicts: ({ schedule }, keys) => keys.object('schedule', schedule.instanceId, schedule.scheduleId),
  },
  'delete-schedule': {
    ...SCHEDULE_WRITE,
    time: alwaysZero,
    conflicts: ({ instanceId, scheduleId }, keys) => keys.object('schedule', instanceId, scheduleId),
  },
  'set-hold': {
    ...INSTANCE_FACTS,
    ...SMALL_WRITE_FACTS,
    aggregate: 'hold',
    topic: 'settings',
    isSelfContained: alwaysFalse,
    time: ({ hold }) => hold?.since ?? 0,
    conflicts: ({ instanceId, origin }, keys) => keys.object('hold', instanceId, origin),
  },
  'set-instance-settings': {
    ...INSTANCE_FACTS,
    ...SMALL_WRITE_FACTS,
    aggregate: 'settings',
    topic: 'settings',
    isSelfContained: alwaysFalse,
    time: alwaysZero,
    conflicts: ({ instanceId }, keys) => keys.object('settings', instanceId, ''),
  },
} satisfies WriteFactsOf<ControlWrite>;
