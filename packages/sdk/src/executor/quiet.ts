/**
 * Waiting until workflow code is quiet: until nothing that it can do without
 * a step or the outside world is left, that is until all microtasks have run.
 *
 * Taken at load, so that fake timers of a test do not stop runs.
 */

const tick = isNode() ? process.nextTick : undefined;
const immediate = typeof setImmediate === 'function' ? setImmediate : undefined;

function isNode(): boolean {
  return typeof process === 'object' && process.release?.name === 'node' && !('Bun' in globalThis) && !('Deno' in globalThis);
}

let channel: { readonly port: MessagePort; readonly waiting: (() => void)[] } | undefined;

/** Messages of one channel are tasks of their own, so each finds the microtasks drained. */
function postTask(done: () => void): void {
  if (!channel) {
    const { port1, port2 } = new MessageChannel();
    const waiting: (() => void)[] = [];
    port1.onmessage = () => waiting.shift()?.();
    channel = { port: port2, waiting };
  }
  channel.waiting.push(done);
  channel.port.postMessage(null);
}

/** Resolves in a later turn of the event loop, so that others get theirs. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (immediate) immediate(resolve);
    else postTask(resolve);
  });
}

/**
 * Resolves when all microtasks have run. Node empties the microtask queue
 * before it takes the next tick, so there a tick queued from a microtask is
 * enough and no turn of the event loop is spent; elsewhere it takes one.
 */
export const microtasksDrained: () => Promise<void> = tick
  ? () => new Promise((resolve) => queueMicrotask(() => tick(resolve)))
  : nextTurn;
