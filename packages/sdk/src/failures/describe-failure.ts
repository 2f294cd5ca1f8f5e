/**
 * Describes a thrown value for the server: its causes, its stack and its location in the user's own code. All parts are
 * bounded.
 */
import { describeError } from '../errors.js';
import { ERROR_BOUNDS, type ErrorCause, type ErrorFrame, type ErrorSource } from './error-frame.js';
import { appDirectory, readSourceLine } from './source-line.js';
import { type FrameLines, frameLines, ownFrame, pathOf, SDK_DIRECTORY, sourceOf } from './stack-frames.js';
import { truncateText } from './truncated-text.js';

const MODULE = 'dist/failures/describe-failure.js';
/** URL of the directory of this package; null if it is part of a bundle. */
const PACKAGE_URL =
  typeof import.meta.url === 'string' && import.meta.url.endsWith(`/${MODULE}`) ? import.meta.url.slice(0, -MODULE.length) : null;

const NO_LINES: FrameLines = { lines: [], isCertain: false };

function linesOf(thrown: unknown, message: string): FrameLines {
  const stack = thrown instanceof Error ? thrown.stack : undefined;
  if (typeof stack !== 'string') return NO_LINES;
  const { lines, isCertain } = frameLines(stack, message);
  const shorten = (line: string) => (PACKAGE_URL === null ? line : line.replace(`${PACKAGE_URL}dist/`, SDK_DIRECTORY));
  return { lines: lines.map(shorten), isCertain };
}

/** Joins the first frames, up to the length limit. */
function stackOf({ lines }: FrameLines, maxLength: number): string | undefined {
  let stack = '';
  for (const line of lines) {
    if (stack.length + line.length + 1 > maxLength) break;
    stack += stack === '' ? line : `\n${line}`;
  }
  return stack === '' ? undefined : stack;
}

function codeOf(thrown: unknown): string | undefined {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return undefined;
  const { code } = thrown;
  if (typeof code === 'number' && Number.isFinite(code)) return String(code);
  return typeof code === 'string' && code !== '' && code.length <= ERROR_BOUNDS.codeLength ? code : undefined;
}

function readError(thrown: unknown) {
  const { name, message: thrownMessage } = describeError(thrown);
  const code = codeOf(thrown);
  // Node reports a refused connection to a host with several addresses without a message.
  const message = thrownMessage === '' && code !== undefined ? code : thrownMessage;
  return {
    summary: { name: truncateText(name, ERROR_BOUNDS.nameLength), message, ...(code === undefined ? {} : { code }) },
    lines: linesOf(thrown, thrownMessage),
  };
}

function causeOf(thrown: unknown): unknown {
  if (typeof thrown !== 'object' || thrown === null) return undefined;
  if ('cause' in thrown && thrown.cause !== undefined && thrown.cause !== null) return thrown.cause;
  return thrown instanceof AggregateError ? (thrown.errors as readonly unknown[])[0] : undefined;
}

function causesOf(thrown: unknown): ErrorCause[] {
  const causes: ErrorCause[] = [];
  const describedErrors = new Set([thrown]);
  for (let cause = causeOf(thrown); cause !== undefined && !describedErrors.has(cause); cause = causeOf(cause)) {
    if (causes.length >= ERROR_BOUNDS.causes) break;
    describedErrors.add(cause);
    const { summary, lines } = readError(cause);
    const stack = stackOf(lines, ERROR_BOUNDS.causeStackLength);
    causes.push({
      ...summary,
      message: truncateText(summary.message, ERROR_BOUNDS.causeMessageLength),
      ...(stack === undefined ? {} : { stack }),
    });
  }
  return causes;
}

function ownSource({ lines, isCertain }: FrameLines, includeLine: boolean): ErrorSource | undefined {
  const frame = ownFrame(lines);
  if (!frame) return undefined;
  const directory = appDirectory();
  const source = sourceOf(frame, directory);
  const line = includeLine && isCertain && directory !== null ? readSourceLine(pathOf(frame.file), frame.line, directory) : null;
  return {
    ...source,
    // The end of the path is kept, without half of a surrogate pair.
    file: source.file.slice(-ERROR_BOUNDS.fileLength).replace(/^[\uDC00-\uDFFF]/, ''),
    ...(source.function === undefined ? {} : { function: truncateText(source.function, ERROR_BOUNDS.functionLength) }),
    ...(line === null ? {} : { code: truncateText(line, ERROR_BOUNDS.sourceLineLength) }),
  };
}

/** Describes any thrown value. With `includeLine`, reads the line of source code if possible. Never throws. */
export function describeFailure(thrown: unknown, includeLine: boolean): ErrorFrame {
  try {
    const { summary, lines } = readError(thrown);
    const stack = stackOf(lines, ERROR_BOUNDS.stackLength);
    const causes = causesOf(thrown);
    const source = ownSource(lines, includeLine);
    return {
      ...summary,
      // Older servers show everything after the first line.
      ...(stack === undefined ? {} : { stack: `${summary.name}\n${stack}` }),
      ...(causes.length === 0 ? {} : { causes }),
      ...(source ? { source } : {}),
    };
  } catch {
    return { name: 'Error', message: 'an error that cannot be read: one of its properties throws' };
  }
}
