/** How long deliveries may take: what their runs ask for, within what the installation and the plan allow. */
import { LIMITS } from '../../../config/limits.js';
import type { Run } from '../../../engine/runs/run.js';
import type { MessageSender } from '../../../ports/message-sender.js';
import type { StepCaller } from '../../../ports/step-caller.js';
import type { InstanceLimits } from '../../../ports/stores/instance-limits.js';
import type { DeliveryTask } from '../delivery-task.js';

export type Timeouts = Pick<InstanceLimits, 'maxTimeoutMs'>;

/** The timeout that the run asks for. */
export const timeoutOf = ({ settings }: Pick<Run, 'settings'>, task: DeliveryTask): number =>
  task.kind === 'call' ? (task.call.timeoutMs ?? LIMITS.defaultDeliveryTimeoutMs) : settings.deliveryTimeoutMs;

export const timeoutOfCallback = ({ settings }: Pick<Run, 'settings'>): number =>
  settings.failureCallback?.timeoutMs ?? settings.deliveryTimeoutMs;

/** Whether a delivery with this timeout takes one of the slots for long deliveries. */
export const isLong = (timeoutMs: number, instanceId: string, limits: Timeouts): boolean =>
  Math.min(timeoutMs, limits.maxTimeoutMs(instanceId)) > LIMITS.longDeliveryMs;

/** The same caller, which gives no call more time than its instance may have. */
export function callingInTime(caller: StepCaller, limits: Timeouts): StepCaller {
  return {
    call: (call, ...more) =>
      caller.call({ ...call, timeoutMs: Math.min(call.timeoutMs, limits.maxTimeoutMs(call.instanceId)) }, ...more),
    close: () => caller.close(),
  };
}

/** The same for messages, calls and callbacks. */
export function sendingInTime(sender: MessageSender, limits: Timeouts): MessageSender {
  return {
    send: (message, ...more) =>
      sender.send({ ...message, timeoutMs: Math.min(message.timeoutMs, limits.maxTimeoutMs(message.instanceId)) }, ...more),
  };
}
