/** The request that creates or changes a queue. */
import type { QueueRow } from './shapes.js';

export type QueueSettings = Pick<QueueRow, 'parallelism' | 'paused'>;

/**
 * Returns the settings to send: those that the user has changed. Another user can change the others while the form is open, for
 * example pause the queue.
 * @param opened the queue when the form was opened; null for a new queue
 */
export function changedSettings(opened: QueueSettings | null, { parallelism, paused }: QueueSettings): Partial<QueueSettings> {
  return {
    ...(parallelism === opened?.parallelism ? {} : { parallelism }),
    ...(paused === opened?.paused ? {} : { paused }),
  };
}
