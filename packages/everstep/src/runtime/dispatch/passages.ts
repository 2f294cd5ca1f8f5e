/** What a delivery has to pass on its way, and what its outcome says of the destination. */
import type { RunEvent } from '../../engine/runs/decide.js';
import type { DeliveryFailure, Run, Task } from '../../engine/runs/run.js';
import type { DueTask } from '../../ports/stores/store.js';
import type { DeliveryResult, Passage } from '../gates/delivery-gates.js';

const MAX_KNOWN_ORIGINS = 1_000;
/** By URL: few, and each is asked for again and again. */
const origins = new Map<string, string>();

/** Scheme, host and port of a URL, in their normal form: `HTTP://App.test:80/x` is at `http://app.test`. */
export function originOf(url: string): string {
  const known = origins.get(url);
  if (known !== undefined) return known;
  const origin = URL.canParse(url) ? new URL(url).origin : url;
  if (origins.size >= MAX_KNOWN_ORIGINS) origins.clear();
  origins.set(url, origin);
  return origin;
}

/** What is delivered to somebody, and so has to pass the gates. */
export type Delivery = Extract<Task, { readonly kind: 'advance' | 'step' | 'call' | 'message' }>;

const DELIVERIES: ReadonlySet<Task['kind']> = new Set<Delivery['kind']>(['advance', 'step', 'call', 'message']);
export const isDelivery = (task: Task): task is Delivery => DELIVERIES.has(task.kind);

const withQueue = (passage: Omit<Passage, 'queue'>, queue: string | undefined): Passage =>
  queue === undefined ? passage : { ...passage, queue };

export function passageOf({ instanceId, workflowUrl, settings }: Run, task: Delivery, isLong: boolean): Passage {
  const call = task.kind === 'call' ? task.call : null;
  const flowControl = call ? call.flowControl : settings.flowControl;
  const passage = { instanceId, flowControlKey: flowControl?.key ?? null, origin: originOf(call?.url ?? workflowUrl) };
  return withQueue(isLong ? { ...passage, isLong } : passage, settings.message?.queue);
}

/** No flow control key limits how a failure is reported. */
export const passageOfCallback = ({ instanceId }: Run, url: string, isLong: boolean): Passage => ({
  instanceId,
  flowControlKey: null,
  origin: originOf(url),
  ...(isLong ? { isLong } : {}),
});

/** Of a task as the store tells of it. Whether it is a long one is found out when its run is read. */
export const passageOfDue = ({ instanceId, flowControlKey, workflowUrl, queue }: DueTask): Passage =>
  withQueue({ instanceId, flowControlKey, origin: originOf(workflowUrl) }, queue);

const DELIVERED: DeliveryResult = { kind: 'delivered' };
const NOT_MADE: DeliveryResult = { kind: 'not-made' };

/** Whether the destination itself is in trouble, as far as a failed attempt shows: a step that fails is not. */
export function resultOfFailure(failure: DeliveryFailure | null | 'given-up'): DeliveryResult {
  if (failure === 'given-up') return NOT_MADE;
  if (failure === null) return DELIVERED;
  switch (failure.cause) {
    case 'network':
    case 'timeout':
      return { kind: 'failed', error: failure.message };
    case 'http': {
      const status = failure.status ?? 0;
      return status >= 500 || status === 429 ? { kind: 'failed', error: failure.message } : DELIVERED;
    }
    default:
      return DELIVERED;
  }
}

export function resultOfEvent(event: RunEvent | null): DeliveryResult {
  switch (event?.kind) {
    case undefined:
      return NOT_MADE;
    case 'attempt-failed':
    case 'call-answered':
    case 'message-answered':
      return resultOfFailure(event.failure);
    default:
      return DELIVERED;
  }
}
