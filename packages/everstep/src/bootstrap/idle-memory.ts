/**
 * Releases memory when the process is idle. After a burst, most of the heap is garbage. V8 would keep it until it needs room,
 * and an idle process needs none. Without this, 100,000 waiting runs would hold the memory that starting them took.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const CHECK_EVERY_MS = 5_000;
/** Share of a core below which a process is idle. */
const IDLE_SHARE = 0.05;
/** Amount of garbage below which a pause is not worthwhile. */
const MIN_GARBAGE_BYTES = 32 * 1024 * 1024;

/** Garbage collector of V8; undefined when this runtime does not expose it. */
function collector(): (() => void) | undefined {
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext('typeof gc === "function" ? gc : undefined');
  return typeof gc === 'function' ? () => gc() : undefined;
}

/** Watches the process until the returned function is called. */
export function keepIdleMemoryLow(): () => void {
  const collect = collector();
  if (!collect) return () => {};
  let cpu = process.cpuUsage();
  let heapAfterCollection = process.memoryUsage().heapTotal;
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(cpu);
    cpu = process.cpuUsage();
    if (user + system > CHECK_EVERY_MS * 1000 * IDLE_SHARE) return;
    const { heapTotal } = process.memoryUsage();
    if (heapTotal < heapAfterCollection + MIN_GARBAGE_BYTES) return;
    collect();
    cpu = process.cpuUsage();
    heapAfterCollection = process.memoryUsage().heapTotal;
  }, CHECK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
