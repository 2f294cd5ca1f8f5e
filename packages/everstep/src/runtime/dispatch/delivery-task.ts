/** Defines which kinds of tasks are performed by a delivery. */
import type { Task } from '../../engine/runs/run.js';

/** A task that is performed by a delivery. */
export type DeliveryTask = Extract<Task, { readonly kind: 'advance' | 'step' | 'call' | 'message' }>;

const DELIVERY_KINDS: ReadonlySet<Task['kind']> = new Set<DeliveryTask['kind']>(['advance', 'step', 'call', 'message']);
export const isDeliveryTask = (task: Task): task is DeliveryTask => DELIVERY_KINDS.has(task.kind);
