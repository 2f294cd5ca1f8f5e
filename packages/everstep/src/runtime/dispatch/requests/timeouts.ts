/** Limits of deliveries: timeouts and response sizes, within the limits of the installation and the plan. */
import { LIMITS, largestReplyBytes } from '../../../config/limits.js';
import type { Run } from '../../../engine/runs/run.js';
import type { MessageSender } from '../../../ports/message-sender.js';
import type { StepCaller } from '../../../ports/step-caller.js';
import type { InstanceLimits } from '../../../ports/stores/instance-limits.js';
import type { DeliveryTask } from '../delivery-task.js';

export type TimeoutLimits = Pick<InstanceLimits, 'maxTimeoutMs'>;
export type ResponseLimits = Pick<InstanceLimits, 'messageLimit'>;

/** Returns the maximum size of a response that is recorded as it is. */
export const maxResponseBytesOf = (instanceId: string, limits: ResponseLimits): number =>
  Math.min(LIMITS.maxCallResponseBytes, limits.messageLimit(instanceId)?.maxBytes ?? Number.POSITIVE_INFINITY);

/** Returns the maximum size of a reply in the step protocol: that of the largest valid one. */
function maxReplyBytesOf(instanceId: string, limits: ResponseLimits): number {
  const messageLimit = limits.messageLimit(instanceId);
  return messageLimit === null
    ? LIMITS.maxReplyBytes
    : Math.min(LIMITS.maxReplyBytes, largestReplyBytes({ ...LIMITS, maxStepResultBytes: messageLimit.maxBytes }));
}

/** Returns the timeout that the run requests for the task, in ms. */
export const timeoutMsOf = ({ settings }: Pick<Run, 'settings'>, task: DeliveryTask): number =>
  task.kind === 'call' ? (task.call.timeoutMs ?? LIMITS.defaultDeliveryTimeoutMs) : settings.deliveryTimeoutMs;

/** Returns the timeout of the failure callback of the run, in ms. */
export const callbackTimeoutMsOf = ({ settings }: Pick<Run, 'settings'>): number =>
  settings.failureCallback?.timeoutMs ?? settings.deliveryTimeoutMs;

/** Returns whether a delivery with this timeout takes one of the slots for long deliveries. */
export const isLong = (timeoutMs: number, instanceId: string, limits: TimeoutLimits): boolean =>
  Math.min(timeoutMs, limits.maxTimeoutMs(instanceId)) > LIMITS.longDeliveryMs;

/** Returns a caller that limits each timeout and each reply to what the instance's plan allows. */
export function limitCalls(caller: StepCaller, limits: TimeoutLimits & ResponseLimits): StepCaller {
  return {
    call: (call, ...rest) => {
      const { instanceId } = call;
      const timeoutMs = Math.min(call.timeoutMs, limits.maxTimeoutMs(instanceId));
      return caller.call({ ...call, timeoutMs, maxReplyBytes: maxReplyBytesOf(instanceId, limits) }, ...rest);
    },
    close: () => caller.close(),
  };
}

/** Returns a sender of messages, calls and callbacks that limits each timeout to what the instance's plan allows. */
export function limitMessages(sender: MessageSender, limits: TimeoutLimits): MessageSender {
  return {
    send: (message, ...rest) =>
      sender.send({ ...message, timeoutMs: Math.min(message.timeoutMs, limits.maxTimeoutMs(message.instanceId)) }, ...rest),
  };
}
