/**
 * Releases memory when the process is idle. After a burst, most of the heap is garbage. V8 keeps it until it needs
 * memory, which an idle process does not. Without a collection, the memory that the start of 100,000 runs needed would stay in use
 * while these runs only wait.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const CHECK_EVERY_MS = 5_000;
/** Share of a core below which a process is idle. */
const IDLE_SHARE = 0.05;
/** Growth of the heap below which a collection is not worth its pause. */
const MIN_GARBAGE_BYTES = 32 * 1024 * 1024;

/** Returns the garbage collector of V8; undefined if this runtime does not expose it. */
function exposeCollector(): (() => void) | undefined {
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext('typeof gc === "function" ? gc : undefined');
  return typeof gc === 'function' ? () => gc() : undefined;
}

/** Collects garbage whenever the process is idle, until the returned function is called. */
export function keepIdleMemoryLow(): () => void {
  const collect = exposeCollector();
  if (!collect) return () => {};
  let lastCpuUsage = process.cpuUsage();
  let heapAfterCollection = process.memoryUsage().heapTotal;
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(lastCpuUsage);
    lastCpuUsage = process.cpuUsage();
    if (user + system > CHECK_EVERY_MS * 1000 * IDLE_SHARE) return;
    const { heapTotal } = process.memoryUsage();
    if (heapTotal < heapAfterCollection + MIN_GARBAGE_BYTES) return;
    collect();
    lastCpuUsage = process.cpuUsage();
    heapAfterCollection = process.memoryUsage().heapTotal;
  }, CHECK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
