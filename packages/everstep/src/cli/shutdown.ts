/** Shuts a long-running command down on Ctrl-C or SIGTERM. */

/**
 * Signals this close together count as one. Ctrl-C in a terminal reaches every process of the group, and npm forwards it
 * again.
 */
const SAME_SIGNAL_MS = 1_000;
const FORCED_EXIT_CODE = 130;

/** Resolves at the first signal. A later signal ends the process immediately. */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstAt: number | null = null;
    const listener = (signal: NodeJS.Signals): void => {
      const now = performance.now();
      if (firstAt === null) {
        firstAt = now;
        resolve(signal);
      } else if (now - firstAt > SAME_SIGNAL_MS) {
        process.exit(FORCED_EXIT_CODE);
      }
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, listener);
  });
}
