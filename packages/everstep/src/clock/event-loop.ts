/** Measures the time for which the event loop of this process was busy. */
import { performance } from 'node:perf_hooks';
import type { EventLoop } from '../ports/event-loop.js';

export const EVENT_LOOP: EventLoop = {
  busyMs: () => performance.eventLoopUtilization().active,
  wait: (ms) => new Promise((resolve) => (ms <= 0 ? setImmediate(resolve) : setTimeout(resolve, ms))),
};
