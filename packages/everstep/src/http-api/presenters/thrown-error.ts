/** Presents the details of errors that the code of an app has thrown. */
import { isOwnFile, parseFrame } from '@everstep/sdk/protocol';
import type { DeadLetterEntry } from '../../contract/dead-letters.js';
import type { StackLine, ThrownError } from '../../contract/fields/thrown-error.js';
import { detailsOf, type ErrorDetails } from '../../engine/failures/error-details.js';
import type { FullDeadLetter } from '../../ports/stores/store.js';
import { errorIn } from '../../responses/reported-error.js';
import { optional } from './optional.js';

const stackLinesOf = (stack: string | undefined): StackLine[] | undefined =>
  stack?.split('\n').map((text) => {
    const frame = parseFrame(text);
    return { text, own: frame !== null && isOwnFile(frame.file) };
  });

/** Presents the details of an error, or returns undefined if there are none. */
export const presentThrown = (details: ErrorDetails | undefined): ThrownError | undefined =>
  details && {
    ...optional('code', details.code),
    ...optional('source', details.source),
    ...optional('stack', stackLinesOf(details.stack)),
    ...optional(
      'causes',
      details.causes?.map(({ name, message, code, stack }) => ({
        ...{ name, message },
        ...optional('code', code),
        ...optional('stack', stackLinesOf(stack)),
      })),
    ),
  };

/**
 * Presents the error with which a run failed, or returns undefined if it is unknown. Earlier versions of Everstep stored only the
 * response that contains the error.
 */
export function presentFailedBy({ failedBy, responseBody, run }: FullDeadLetter): DeadLetterEntry['failedBy'] {
  if (failedBy) {
    const { stepName, message, thrown } = failedBy;
    return { stepName, message, ...optional('thrown', presentThrown(thrown)) };
  }
  const error = run.settings.redact ? null : errorIn(responseBody);
  if (!error) return undefined;
  const thrown = presentThrown(detailsOf(error));
  return { stepName: null, message: `${error.name}: ${error.message}`, ...optional('thrown', thrown) };
}
