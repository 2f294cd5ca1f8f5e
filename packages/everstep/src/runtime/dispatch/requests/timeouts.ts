/** Timeouts of deliveries: those of their runs, within the limits of the installation and the plan. */
import { LIMITS } from '../../../config/limits.js';
import type { Run } from '../../../engine/runs/run.js';
import type { MessageSender } from '../../../ports/message-sender.js';
import type { StepCaller } from '../../../ports/step-caller.js';
import type { InstanceLimits } from '../../../ports/stores/instance-limits.js';
import type { DeliveryTask } from '../delivery-task.js';

export type Timeouts = Pick<InstanceLimits, 'maxTimeoutMs'>;

/** Returns the timeout that the run requests. */
export const timeoutOf = ({ settings }: Pick<Run, 'settings'>, task: DeliveryTask): number =>
  task.kind === 'call' ? (task.call.timeoutMs ?? LIMITS.defaultDeliveryTimeoutMs) : settings.deliveryTimeoutMs;

export const timeoutOfCallback = ({ settings }: Pick<Run, 'settings'>): number =>
  settings.failureCallback?.timeoutMs ?? settings.deliveryTimeoutMs;

/** Whether a delivery with this timeout takes one of the slots for long deliveries. */
export const isLong = (timeoutMs: number, instanceId: string, limits: Timeouts): boolean =>
  Math.min(timeoutMs, limits.maxTimeoutMs(instanceId)) > LIMITS.longDeliveryMs;

/** Returns a caller that limits each timeout to that of the instance's plan. */
export function callingInTime(caller: StepCaller, limits: Timeouts): StepCaller {
  return {
    call: (call, ...more) =>
      caller.call({ ...call, timeoutMs: Math.min(call.timeoutMs, limits.maxTimeoutMs(call.instanceId)) }, ...more),
    close: () => caller.close(),
  };
}

/** Does the same for messages, calls and callbacks. */
export function sendingInTime(sender: MessageSender, limits: Timeouts): MessageSender {
  return {
    send: (message, ...more) =>
      sender.send({ ...message, timeoutMs: Math.min(message.timeoutMs, limits.maxTimeoutMs(message.instanceId)) }, ...more),
  };
}
