/**
 * Reads the stacks of errors, as V8 writes them. A stack is text that an app can influence: an error message can contain
 * lines that look like frames. The lines after the message are therefore the only ones that count.
 */
import type { ErrorSource } from './error-frame.js';

/** One call in a stack. */
export interface StackFrame {
  /** Path or URL of the file. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Null in a function without a name, and outside of functions. */
  readonly function: string | null;
}

const MAX_STACK_LENGTH = 64 * 1024;
const MAX_LINE_LENGTH = 1_000;
const MAX_LINES = 200;
const LOCATION = /^(?:async )?(.+):(\d{1,9}):(\d{1,9})$/;
/** Replaces the directory of the SDK in stacks that the SDK reports. */
export const SDK_DIRECTORY = '@everstep/sdk/';

const isFrame = (line: string): boolean => line.length <= MAX_LINE_LENGTH && /^\s{0,20}at \S/.test(line);

/** The frames of a stack. */
export interface FrameLines {
  readonly lines: readonly string[];
  /** Whether the message was found. If it was not, the lines may be part of it. */
  readonly isCertain: boolean;
}

/** Returns the lines of the frames, without indentation. */
export function frameLines(stack: string, message: string): FrameLines {
  const messageStart = message === '' ? 0 : stack.indexOf(`${message}\n`);
  const start = messageStart < 0 ? 0 : messageStart + message.length;
  const lines = stack
    .slice(start, start + MAX_STACK_LENGTH)
    .split('\n', MAX_LINES)
    .filter(isFrame)
    .map((line) => line.trim());
  return { lines, isCertain: messageStart >= 0 };
}

function functionName(text: string): string | null {
  const name = text
    .replace(/^(?:async |new )+/, '')
    .replace(/ \[as [^\]]*\]$/, '')
    .replace(/^(?:Object|Function|Module|process)\./, '');
  return name === '' || name.includes('<anonymous>') ? null : name;
}

/** Reads one frame, such as `at charge (file:///app/charge.js:7:13)`. Returns null for a frame without a file. */
export function parseFrame(line: string): StackFrame | null {
  if (!isFrame(line)) return null;
  const text = line.trim().slice('at '.length);
  const openParenthesis = text.endsWith(')') ? text.indexOf(' (') : -1;
  const match = LOCATION.exec(openParenthesis < 0 ? text : text.slice(openParenthesis + 2, -1));
  const [, file = '', row = '', column = ''] = match ?? [];
  if (!match || file.startsWith('eval at ')) return null;
  return {
    file,
    line: Number(row),
    column: Number(column),
    function: openParenthesis < 0 ? null : functionName(text.slice(0, openParenthesis)),
  };
}

/** Returns whether a file is the user's own code, and not part of the runtime, the SDK or an installed package. */
export function isOwnFile(file: string): boolean {
  if (/^(?:node|bun|deno|ext|wasm|data|native|evalmachine|internal)\b[:/.]/.test(file) || file.startsWith('<')) return false;
  return !file.startsWith(SDK_DIRECTORY) && !/[/\\]node_modules[/\\]/.test(file);
}

/** Returns the path of a file that a stack contains as a path or as a file URL. */
export function pathOf(file: string): string {
  if (!file.startsWith('file://')) return file;
  const path = file
    .slice('file://'.length)
    .replace(/^\/(?=[A-Za-z]:)/, '')
    .replace(/[?#].*$/, '');
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Returns the first frame of the user's own code, or null if there is none. */
export function ownFrame(lines: readonly string[]): StackFrame | null {
  for (const line of lines) {
    const frame = parseFrame(line);
    if (frame && isOwnFile(frame.file)) return frame;
  }
  return null;
}

/** Describes a frame as a source. The path of a file inside `directory`, the directory of the app, is relative to it. */
export function sourceOf(frame: StackFrame, directory: string | null = null): ErrorSource {
  const path = pathOf(frame.file);
  const isInside = directory !== null && directory !== '/' && path.startsWith(`${directory}/`);
  return {
    file: isInside ? path.slice(directory.length + 1) : path,
    line: frame.line,
    column: frame.column,
    ...(frame.function === null ? {} : { function: frame.function }),
  };
}
