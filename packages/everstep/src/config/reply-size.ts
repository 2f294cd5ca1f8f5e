/** Size of the replies of workflow endpoints. */

/**
 * Returns the size of the largest valid reply in bytes. In JSON, a character takes at most 6 bytes in a name and 3 elsewhere, and
 * a byte of the last result takes 2.
 */
export const largestReplyBytes = (
  limits: Readonly<Record<'maxCheckpointChars' | 'maxStepResultBytes' | 'maxCheckpointSteps', number>>,
): number => 9 * limits.maxCheckpointChars + 2 * limits.maxStepResultBytes + 256 * limits.maxCheckpointSteps;
