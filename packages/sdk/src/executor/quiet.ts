/**
 * Waits until workflow code is quiet: until it can do nothing more without a step or external input, that is, until
 * all microtasks have run.
 *
 * The timer functions are captured when the module loads, so that fake timers of a test do not stop runs.
 */

const tick = isNode() ? process.nextTick : undefined;
const immediate = typeof setImmediate === 'function' ? setImmediate : undefined;

function isNode(): boolean {
  return typeof process === 'object' && process.release?.name === 'node' && !('Bun' in globalThis) && !('Deno' in globalThis);
}

let channel: { readonly port: MessagePort; readonly callbacks: (() => void)[] } | undefined;

/** Calls the callback in a separate task. The microtasks are drained before each message of a channel. */
function postTask(callback: () => void): void {
  if (!channel) {
    const { port1, port2 } = new MessageChannel();
    const callbacks: (() => void)[] = [];
    port1.onmessage = () => callbacks.shift()?.();
    channel = { port: port2, callbacks };
  }
  channel.callbacks.push(callback);
  channel.port.postMessage(null);
}

/** Resolves in a later turn of the event loop, so that other work can run. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (immediate) immediate(resolve);
    else postTask(resolve);
  });
}

/**
 * Resolves when all microtasks have run. Node drains the microtask queue before the next tick. A tick that is queued
 * from a microtask is therefore sufficient and uses no turn of the event loop. Other platforms need a turn.
 */
export const microtasksDrained: () => Promise<void> = tick
  ? () => new Promise((resolve) => queueMicrotask(() => tick(resolve)))
  : nextTurn;
