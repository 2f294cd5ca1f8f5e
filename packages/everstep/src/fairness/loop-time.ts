/** How long the event loop of this process was busy. */
import { performance } from 'node:perf_hooks';
import type { SliceTime } from './work-slices.js';

export const LOOP_TIME: SliceTime = {
  busyMs: () => performance.eventLoopUtilization().active,
  wait: (ms) => new Promise((resolve) => (ms <= 0 ? setImmediate(resolve) : setTimeout(resolve, ms))),
};
