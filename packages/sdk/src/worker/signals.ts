/** Drains a worker when its process receives a signal to stop. */

/** Signals that can start a drain. */
export type DrainSignal = 'SIGTERM' | 'SIGINT';

const DEFAULT_SIGNALS: readonly DrainSignal[] = ['SIGTERM', 'SIGINT'];

/** The drains in progress. The process ends only after the last of them. */
const pendingDrains = new Set<Promise<void>>();

/**
 * Calls `drain` at the first of the signals. When the drains of all workers in the process have settled, sends the signal again,
 * so that it has its usual effect. A second signal takes effect immediately. Returns a function that stops listening.
 */
export function onDrainSignal(signals: readonly DrainSignal[] = DEFAULT_SIGNALS, drain: () => Promise<void>): () => void {
  if (typeof process !== 'object' || typeof process.once !== 'function') return () => {};
  const stop = (): void => {
    for (const signal of signals) process.removeListener(signal, listener);
  };
  const listener = (signal: NodeJS.Signals): void => {
    stop();
    const pendingDrain = drain();
    pendingDrains.add(pendingDrain);
    void pendingDrain.finally(() => {
      pendingDrains.delete(pendingDrain);
      if (pendingDrains.size > 0) return;
      // If the app has its own listener, the app decides when the process ends.
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    });
  };
  for (const signal of signals) process.once(signal, listener);
  return stop;
}
