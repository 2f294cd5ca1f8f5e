/** Ends a long-running command on Ctrl-C or SIGTERM. */

/**
 * A terminal's Ctrl-C reaches every process of the group, and npm sends it once more: signals this close together are
 * one wish.
 */
const SAME_WISH_MS = 1_000;
const FORCED_EXIT_CODE = 130;

/** Resolves at the first signal; a later one, when ending takes too long for somebody, ends the process at once. */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstAt: number | null = null;
    const listener = (signal: NodeJS.Signals): void => {
      const now = performance.now();
      if (firstAt === null) {
        firstAt = now;
        resolve(signal);
      } else if (now - firstAt > SAME_WISH_MS) {
        process.exit(FORCED_EXIT_CODE);
      }
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, listener);
  });
}
