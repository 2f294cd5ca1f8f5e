/**
 * Reads the line of source code that a stack frame refers to. A message may imitate a frame, so only regular files with source code
 * inside the directory of the app are read. Files in hidden directories and installed packages are not.
 */

const MAX_FILE_BYTES = 1024 * 1024;
/** A longer line is assumed to be generated code. */
const MAX_LINE_LENGTH = 1_000;
const SOURCE_FILE = /\.[cm]?[jt]sx?$/;
/** The code of a process does not change, so a line is read once. */
const MAX_CACHED_LINES = 500;
const cachedLines = new Map<string, string | null>();

/** Returns the working directory of the process; null outside of Node. */
export function appDirectory(): string | null {
  try {
    return typeof process === 'object' && typeof process.cwd === 'function' ? process.cwd().replaceAll('\\', '/') : null;
  } catch {
    return null;
  }
}

function readLine(path: string, line: number, directory: string): string | null {
  const fs = process.getBuiltinModule?.('node:fs');
  if (!fs) return null;
  const root = `${fs.realpathSync(directory)}/`;
  const realPath = fs.realpathSync(path);
  if (!realPath.startsWith(root) || /(?:^|\/)(?:\.|node_modules\/)/.test(realPath.slice(root.length))) return null;
  const descriptor = fs.openSync(realPath, 'r');
  try {
    const { size } = fs.fstatSync(descriptor);
    if (!fs.fstatSync(descriptor).isFile() || size > MAX_FILE_BYTES) return null;
    const bytes = new Uint8Array(size);
    const text = new TextDecoder().decode(bytes.subarray(0, fs.readSync(descriptor, bytes)));
    const sourceLine = text.split('\n', line)[line - 1]?.trim();
    return sourceLine === undefined || sourceLine === '' || sourceLine.length > MAX_LINE_LENGTH ? null : sourceLine;
  } finally {
    fs.closeSync(descriptor);
  }
}

/** Returns the line without indentation, or null if it may not or cannot be read. Never throws. */
export function readSourceLine(path: string, line: number, directory: string): string | null {
  if (!SOURCE_FILE.test(path) || line < 1) return null;
  const key = `${line} ${path}`;
  const cachedLine = cachedLines.get(key);
  if (cachedLine !== undefined) return cachedLine;
  let sourceLine: string | null = null;
  try {
    sourceLine = readLine(path, line, directory);
  } catch {
    // The file does not exist or is not readable, for example in a bundle.
  }
  if (cachedLines.size >= MAX_CACHED_LINES) cachedLines.clear();
  cachedLines.set(key, sourceLine);
  return sourceLine;
}

/**
 * Returns whether lines are read by default. They are not in production, because everyone who can read dead letters could then
 * read the code.
 */
export const readsSourceLines = (): boolean => typeof process === 'object' && process.env?.NODE_ENV !== 'production';
