/** Shuts a long-running command down on Ctrl-C or SIGTERM. */
import type { Shell } from './output.js';

/**
 * Signals this close together count as one. Ctrl-C in a terminal reaches every process of the group, and npm forwards it
 * again.
 */
const SAME_SIGNAL_MS = 1_000;
const FORCED_EXIT_CODE = 130;
const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;
const SIGNALS = [...STOP_SIGNALS, 'SIGHUP'] as const;

/** Calls `onFirst` at the first signal. A later signal ends the process immediately. Returns a function that stops listening. */
function listenForSignals(onFirst: (signal: NodeJS.Signals) => void, signals: readonly NodeJS.Signals[] = SIGNALS): () => void {
  let firstAt: number | null = null;
  const listener = (signal: NodeJS.Signals): void => {
    const now = performance.now();
    if (firstAt === null) {
      firstAt = now;
      onFirst(signal);
    } else if (now - firstAt > SAME_SIGNAL_MS) {
      process.exit(FORCED_EXIT_CODE);
    }
  };
  for (const signal of signals) process.on(signal, listener);
  return () => {
    for (const signal of signals) process.off(signal, listener);
  };
}

/**
 * Resolves at the first signal. A later signal ends the process immediately. If `stopsOnHangUp` is false, SIGHUP does neither,
 * even while nothing else listens for it.
 */
export function waitForSignal({ stopsOnHangUp = true } = {}): Promise<NodeJS.Signals> {
  if (!stopsOnHangUp) process.on('SIGHUP', () => {});
  return new Promise((resolve) => {
    listenForSignals(resolve, stopsOnHangUp ? SIGNALS : STOP_SIGNALS);
  });
}

/** Performs work that the first signal aborts, so that it can clean up. `notice` is printed then. */
export async function abortOnSignal<Result>(
  { printError }: Pick<Shell, 'printError'>,
  notice: string,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const stopListening = listenForSignals(() => {
    printError(`${notice}\n`);
    controller.abort(new Error('interrupted'));
  });
  try {
    return await work(controller.signal);
  } finally {
    stopListening();
  }
}
