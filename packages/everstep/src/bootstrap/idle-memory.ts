/**
 * Gives memory back when nothing happens. After a burst most of the heap is
 * garbage that V8 would keep until the next burst: it collects when it needs
 * room, and an idle process needs none. So a hundred thousand runs that only
 * wait would hold what it took to start them.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LOOK_EVERY_MS = 5_000;
/** A process that uses less of a core than this is idle. */
const IDLE_SHARE = 0.05;
/** Less garbage than this is not worth a pause. */
const WORTH_BYTES = 32 * 1024 * 1024;

/** V8's own collector; undefined when this runtime does not offer it. */
function collector(): (() => void) | undefined {
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext('typeof gc === "function" ? gc : undefined');
  return typeof gc === 'function' ? () => gc() : undefined;
}

/** Watches until it is called back. */
export function keepIdleMemoryLow(): () => void {
  const collect = collector();
  if (!collect) return () => {};
  let cpu = process.cpuUsage();
  let heapAfter = process.memoryUsage().heapTotal;
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(cpu);
    cpu = process.cpuUsage();
    if (user + system > LOOK_EVERY_MS * 1000 * IDLE_SHARE) return;
    const { heapTotal } = process.memoryUsage();
    if (heapTotal < heapAfter + WORTH_BYTES) return;
    collect();
    cpu = process.cpuUsage();
    heapAfter = process.memoryUsage().heapTotal;
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
