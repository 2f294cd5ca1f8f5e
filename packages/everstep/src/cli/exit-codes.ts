/** How the command line ends, for scripts. */
import { EverstepError } from '@everstep/sdk';

export const EXIT = Object.freeze({
  ok: 0,
  /** The service refused the request, or the command failed. */
  refused: 1,
  /** The command line or the configuration is wrong; nothing was done. */
  usage: 2,
  notFound: 3,
  /** No service answered. */
  unreachable: 4,
  /** A run that was waited for has not ended in that time; it goes on. */
  underWay: 5,
});

export const EXIT_CODES_HELP = `
Exit codes:
  0  done
  1  the service refused, or the command failed; the reason is on stderr
  2  the command line or the configuration is wrong; nothing was done
  3  there is no such run, entry, key, schedule, team, instance, search index or document
  4  no service answered
  5  the run has not ended in the time that it was waited for; it goes on`;

/** A command line that cannot be carried out; the message says what to write instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** What the command looked for is not there. */
export class NotFoundError extends Error {
  override readonly name = 'NotFoundError';
}

/** The exit code and the words for what ended a command. */
export function describeFailure(error: unknown): { readonly code: number; readonly message: string } {
  // The client throws RangeError for a duration, instant or label that it cannot send.
  if (error instanceof UsageError || error instanceof RangeError) return { code: EXIT.usage, message: error.message };
  if (error instanceof NotFoundError) return { code: EXIT.notFound, message: error.message };
  if (error instanceof EverstepError) {
    if (error.status === 0) return { code: EXIT.unreachable, message: error.message };
    // A route that is not there is not what was looked for: the service is another one than the command needs.
    if (error.status === 404 && error.code !== 'unknown-route') return { code: EXIT.notFound, message: error.message };
    return { code: EXIT.refused, message: error.message };
  }
  return { code: EXIT.refused, message: error instanceof Error ? error.message : String(error) };
}
