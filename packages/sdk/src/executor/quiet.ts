/**
 * Waits until workflow code is quiet: until it can do nothing more without a step or external input, that is, until
 * all microtasks have run.
 *
 * The timer functions are captured when the module loads, so that fake timers of a test do not stop runs.
 */

const tick = isNode() ? process.nextTick : undefined;
const immediate = typeof setImmediate === 'function' ? setImmediate : undefined;
// Not a MessageChannel, which would be faster in browsers: Cloudflare Workers deliver its messages in a microtask.
const timeout = setTimeout;

function isNode(): boolean {
  return typeof process === 'object' && process.release?.name === 'node' && !('Bun' in globalThis) && !('Deno' in globalThis);
}

/** Resolves in a later turn of the event loop, so that other work can run. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (immediate) immediate(resolve);
    else timeout(resolve, 0);
  });
}

/**
 * Resolves when all microtasks have run. Node drains the microtask queue before the next tick. A tick that is queued
 * from a microtask is therefore sufficient and uses no turn of the event loop. Other platforms need a turn.
 */
export const microtasksDrained: () => Promise<void> = tick
  ? () => new Promise((resolve) => queueMicrotask(() => tick(resolve)))
  : nextTurn;
