/** Drains a worker when its process receives a signal to stop. */

/** Signals that can start a drain. */
export type DrainSignal = 'SIGTERM' | 'SIGINT';

const DEFAULT_SIGNALS: readonly DrainSignal[] = ['SIGTERM', 'SIGINT'];

/**
 * Calls `drain` at the first of the signals. When `drain` resolves, sends the signal again, so that it has its usual effect. A
 * second signal takes effect immediately. Returns a function that stops listening.
 */
export function onDrainSignal(signals: readonly DrainSignal[] = DEFAULT_SIGNALS, drain: () => Promise<void>): () => void {
  if (typeof process !== 'object' || typeof process.once !== 'function') return () => {};
  const stop = (): void => {
    for (const signal of signals) process.removeListener(signal, listener);
  };
  const listener = (signal: NodeJS.Signals): void => {
    stop();
    void drain().finally(() => {
      // If the app has its own listener, the app decides when the process ends.
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    });
  };
  for (const signal of signals) process.once(signal, listener);
  return stop;
}
