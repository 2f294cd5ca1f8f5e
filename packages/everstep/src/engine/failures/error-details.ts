/** Details of a thrown error in addition to its message: its causes, its stack and the location that threw it. */
import { type ErrorCause, type ErrorFrame, type ErrorSource, frameLines, ownFrame, sourceOf } from '@everstep/sdk/protocol';

/** Details of a thrown error, within ERROR_BOUNDS. */
export interface ErrorDetails {
  /** Property `code` of the error, such as `ECONNREFUSED` or the SQLSTATE `23505`. */
  readonly code?: string;
  /** Frames of the stack, one per line. */
  readonly stack?: string;
  /** Causes of the error, from `error.cause` to the root cause. */
  readonly causes?: readonly ErrorCause[];
  /** The first frame of the user's own code. */
  readonly source?: ErrorSource;
}

/** The last attempt of a failed run or message, which its dead letter reports. */
export interface FailedBy {
  /** The step that failed; null for the code between steps, and for a message. */
  readonly stepName: string | null;
  /** Error message without the description of the step. */
  readonly message: string;
  readonly thrown?: ErrorDetails;
}

/**
 * Returns the details of a reported error; undefined if there are none. If the SDK reports no source, the source is the first
 * frame of the stack that belongs to the user's own code.
 */
export function detailsOf({ message, code, stack, causes, source: reportedSource }: ErrorFrame): ErrorDetails | undefined {
  const { lines } = frameLines(stack ?? '', message);
  const frame = reportedSource ? null : ownFrame(lines);
  const source = reportedSource ?? (frame ? sourceOf(frame) : undefined);
  const details: ErrorDetails = {
    ...(code === undefined ? {} : { code }),
    ...(lines.length === 0 ? {} : { stack: lines.join('\n') }),
    ...(causes === undefined || causes.length === 0 ? {} : { causes }),
    ...(source ? { source } : {}),
  };
  return Object.keys(details).length === 0 ? undefined : details;
}
