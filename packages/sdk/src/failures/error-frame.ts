/** A thrown error on its way from an endpoint to the server, with the bounds that both sides apply. */

/** Bounds of a reported error. Lengths are in UTF-16 units. */
export const ERROR_BOUNDS = {
  nameLength: 256,
  codeLength: 64,
  /** Frames of the stack of the error itself, and of each cause. */
  stackLength: 4_096,
  causeStackLength: 1_536,
  causeMessageLength: 1_024,
  /** Maximum number of causes of an error. */
  causes: 5,
  fileLength: 512,
  functionLength: 128,
  sourceLineLength: 200,
} as const;

/** The location in the user's own code where an error was thrown. */
export interface ErrorSource {
  /** Path of the file, relative to the directory of the app if the file is inside it. Otherwise the path in the stack. */
  readonly file: string;
  readonly line: number;
  readonly column?: number;
  /** Absent in a function without a name, and outside of functions. */
  readonly function?: string;
  /** The line of source code, without indentation. Absent if it was not read. */
  readonly code?: string;
}

/** An error that caused another one. */
export interface ErrorCause {
  readonly name: string;
  readonly message: string;
  /** Property `code` of the error, such as `ECONNREFUSED` or the SQLSTATE `23505`. */
  readonly code?: string;
  /** Frames of the stack, one per line. */
  readonly stack?: string;
}

/** The error of a failed reply. Older SDKs send only `name`, `message` and `stack`. */
export interface ErrorFrame extends ErrorCause {
  /** Errors that caused this error, starting with `error.cause`. Absent if there are none. */
  readonly causes?: readonly ErrorCause[];
  readonly source?: ErrorSource;
}
