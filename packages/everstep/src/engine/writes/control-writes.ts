/** Writes to objects other than runs: keys, queues, URL groups, schedules, destinations, settings. */
import type { DestinationHold, FlowControl, FlowControlState, InstanceSettings, Queue, Schedule, UrlGroup } from '../runs/run.js';
import { no, OF_INSTANCE, SMALL, type WriteFactsOf, yes, zero } from './facts.js';

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
  /** Sets the state of a key that a person specified, and registers the key if it is new. It also changes pinned limits. */
  | { readonly kind: 'set-flow-control'; readonly instanceId: string; readonly state: FlowControlState; readonly at: number }
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
  /** Replaces the hold of an origin; null releases it. */
  | { readonly kind: 'set-hold'; readonly instanceId: string; readonly origin: string; readonly hold: DestinationHold | null }
  | { readonly kind: 'set-instance-settings'; readonly instanceId: string; readonly settings: InstanceSettings };

const FLOW_CONTROL = { ...OF_INSTANCE, ...SMALL, aggregate: 'flow-control', topic: 'flow-control' } as const;
const QUEUE = { ...OF_INSTANCE, ...SMALL, aggregate: 'queue', topic: 'queues', isSelfContained: no } as const;
const URL_GROUP = { ...OF_INSTANCE, ...SMALL, aggregate: 'url-group', topic: 'queues', isSelfContained: no } as const;
const SCHEDULE = { ...OF_INSTANCE, ...SMALL, aggregate: 'schedule', topic: 'schedules', isSelfContained: no } as const;

export const CONTROL_WRITE_FACTS = {
  'put-flow-control': {
    ...FLOW_CONTROL,
    isSelfContained: yes,
    time: ({ at }) => at,
    conflicts: ({ instanceId, flowControl }, keys) => keys.object('flow-control', instanceId, flowControl.key),
  },
  'set-flow-control': {
    ...FLOW_CONTROL,
    isSelfContained: no,
    time: ({ at }) => at,
    conflicts: ({ instanceId, state }, keys) => keys.object('flow-control', instanceId, state.key),
  },
  'set-flow-window': {
    ...FLOW_CONTROL,
    isSelfContained: yes,
    time: ({ window }) => window?.startedAt ?? 0,
    conflicts: ({ instanceId, key }, keys) => keys.object('flow-control', instanceId, key),
  },
  'register-queue': {
    ...QUEUE,
    time: ({ at }) => at,
    conflicts: ({ instanceId, name }, keys) => keys.object('queue', instanceId, name),
  },
  'put-queue': {
    ...QUEUE,
    time: ({ queue }) => queue.updatedAt,
    conflicts: ({ instanceId, queue }, keys) => keys.object('queue', instanceId, queue.name),
  },
  'delete-queue': {
    ...QUEUE,
    time: zero,
    conflicts: ({ instanceId, name }, keys) => keys.object('queue', instanceId, name),
  },
  'put-url-group': {
    ...URL_GROUP,
    time: ({ group }) => group.updatedAt,
    conflicts: ({ instanceId, group }, keys) => keys.object('url-group', instanceId, group.name),
  },
  'delete-url-group': {
    ...URL_GROUP,
    time: zero,
    conflicts: ({ instanceId, name }, keys) => keys.object('url-group', instanceId, name),
  },
  'put-schedule': {
    ...SCHEDULE,
    instanceId: ({ schedule }) => schedule.instanceId,
    time: ({ schedule }) => Math.max(schedule.createdAt, schedule.lastFiredAt ?? 0),
    weight: ({ schedule }) => schedule.payload.body.length,
    conflicts: ({ schedule }, keys) => keys.object('schedule', schedule.instanceId, schedule.scheduleId),
  },
  'delete-schedule': {
    ...SCHEDULE,
    time: zero,
    conflicts: ({ instanceId, scheduleId }, keys) => keys.object('schedule', instanceId, scheduleId),
  },
  'set-hold': {
    ...OF_INSTANCE,
    ...SMALL,
    aggregate: 'hold',
    topic: 'settings',
    isSelfContained: no,
    time: ({ hold }) => hold?.since ?? 0,
    conflicts: ({ instanceId, origin }, keys) => keys.object('hold', instanceId, origin),
  },
  'set-instance-settings': {
    ...OF_INSTANCE,
    ...SMALL,
    aggregate: 'settings',
    topic: 'settings',
    isSelfContained: no,
    time: zero,
    conflicts: ({ instanceId }, keys) => keys.object('settings', instanceId, ''),
  },
} satisfies WriteFactsOf<ControlWrite>;
