/** The delivery of a task: its destination and the limits that apply to it. */
import type { Run, Task } from '../../engine/runs/run.js';
import type { DueTask } from '../../ports/stores/store.js';
import { isWorkerUrl, workersOf } from '../../ports/workers.js';
import type { Delivery, DeliveryLimits, DeliveryRef } from '../gates/delivery.js';
import { callbackUrlOf } from '../services/callbacks.js';
import type { DeliveryTask } from './delivery-task.js';
import { originOf } from './origins.js';
import { callbackTimeoutMsOf, isLong, type TimeoutLimits, timeoutMsOf } from './requests/timeouts.js';

function destinationOf(instanceId: string, url: string): Pick<DeliveryLimits, 'instanceId' | 'origin' | 'workers'> {
  if (!isWorkerUrl(url)) return { instanceId, origin: originOf(url) };
  return { instanceId, origin: url, workers: workersOf(instanceId, url) };
}

function createDelivery(ref: DeliveryRef, limits: DeliveryLimits, isLongDelivery: boolean, queue?: string): Delivery {
  const { runKey, slot } = ref;
  if (!isLongDelivery && queue === undefined) return { runKey, slot, limits };
  return {
    runKey,
    slot,
    limits: { ...limits, ...(queue === undefined ? {} : { queue }), ...(isLongDelivery ? { isLong: true } : {}) },
  };
}

/** Returns the delivery of a task. A call has its own flow control; other tasks have that of the run. */
export function deliveryOf(run: Run, task: DeliveryTask, timeouts: TimeoutLimits): Delivery {
  const { key: runKey, instanceId, workflowUrl, settings } = run;
  const call = task.kind === 'call' ? task.call : null;
  const flowControl = call ? call.flowControl : settings.flowControl;
  const limits = { ...destinationOf(instanceId, call?.url ?? workflowUrl), flowControlKey: flowControl?.key ?? null };
  const isLongDelivery = isLong(timeoutMsOf(run, task), instanceId, timeouts);
  return createDelivery({ runKey, slot: task.slot }, limits, isLongDelivery, settings.message?.queue);
}

/** Returns the delivery of a failure callback. No flow control key limits it. */
export function callbackDeliveryOf(run: Run, { slot }: Task, timeouts: TimeoutLimits): Delivery {
  const { key: runKey, instanceId } = run;
  const limits = { ...destinationOf(instanceId, callbackUrlOf(run)), flowControlKey: null };
  return createDelivery({ runKey, slot }, limits, isLong(callbackTimeoutMsOf(run), instanceId, timeouts));
}

/**
 * Returns the delivery of a task that a scan has read. Its timeout, and thus whether it is long, is unknown until its run is
 * read.
 */
export function dueDeliveryOf({ runKey, slot, instanceId, flowControlKey, workflowUrl, queue, lentBy }: DueTask): Delivery {
  const limits = destinationOf(instanceId, workflowUrl);
  if (lentBy !== undefined) return { runKey, slot, limits: { ...limits, flowControlKey: null, lentBy } };
  return createDelivery({ runKey, slot }, { ...limits, flowControlKey }, false, queue);
}

/** Returns the same delivery with a slot for long deliveries. */
export const asLongDelivery = (delivery: Delivery): Delivery =>
  createDelivery(delivery, delivery.limits, true, delivery.limits.queue);
