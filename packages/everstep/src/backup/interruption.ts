/** Interruption of a backup, a restore or a check by its user. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BackupError } from './contents.js';

/** Rejects if the signal is aborted, even if the process was blocked until now and has not handled its events yet. */
export async function assertNotInterrupted(signal: AbortSignal | undefined): Promise<void> {
  await nextTurn();
  signal?.throwIfAborted();
}

/** Performs the work. If the signal ended it, rejects with BackupError, whose message is `outcome`. */
export async function explainInterruption<Result>(
  signal: AbortSignal | undefined,
  outcome: string,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (signal?.aborted) throw new BackupError(outcome, { cause: error });
    throw error;
  }
}
