/** Exit codes of the command line, for scripts. */
import { EverstepError } from '@everstep/sdk';

export const EXIT = Object.freeze({
  ok: 0,
  /** The server rejected the request, or the command failed. */
  refused: 1,
  /** The command line or the configuration is invalid; nothing was changed. */
  usage: 2,
  notFound: 3,
  /** The server did not respond. */
  unreachable: 4,
  /** The run has not ended within the wait time and is still running. */
  pending: 5,
});

export const EXIT_CODES_HELP = `
Exit codes:
  0  success
  1  the server rejected the request, or the command failed; the reason is on stderr
  2  the command line or the configuration is invalid; nothing was changed
  3  not found: the run, dead letter, key, schedule, team, instance, search index or document does not exist
  4  the server did not respond
  5  the run has not ended within the wait time and is still running`;

/** An invalid command line; the message says what is allowed. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The requested item does not exist. */
export class NotFoundError extends Error {
  override readonly name = 'NotFoundError';
}

/** Returns the exit code and message of a failed command. */
export function describeFailure(error: unknown): { readonly code: number; readonly message: string } {
  // The client throws RangeError for an invalid duration, instant or label.
  if (error instanceof UsageError || error instanceof RangeError) return { code: EXIT.usage, message: error.message };
  if (error instanceof NotFoundError) return { code: EXIT.notFound, message: error.message };
  if (error instanceof EverstepError) {
    if (error.status === 0) return { code: EXIT.unreachable, message: error.message };
    // A missing route means that the server is of a different kind or version, not that the item does not exist.
    if (error.status === 404 && error.code !== 'unknown-route') return { code: EXIT.notFound, message: error.message };
    return { code: EXIT.refused, message: error.message };
  }
  return { code: EXIT.refused, message: error instanceof Error ? error.message : String(error) };
}
