/**
 * Reads a write-ahead log as SQLite wrote it, without SQLite and without changing anything.
 *
 * SQLite accepts frames from the start of a log to the first one whose checksum is wrong, and ignores the rest. This reader also
 * inspects the rest: each checksum continues from the previous one, which is stored, so a frame after a broken one can be checked
 * as well. The format is described at https://www.sqlite.org/fileformat2.html#walformat.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { endianness } from 'node:os';

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The lowest bit indicates that the checksums are of big-endian words. */
const MAGIC = 0x377f0682;
const VERSION = 3007000;
const CHUNK_BYTES = 1024 * 1024;

export interface LogContents {
  /** Whether the header is valid; if it is not, SQLite uses no frame at all. */
  readonly headerValid: boolean;
  /** Valid frames from the start; SQLite uses those up to the last commit among them. */
  readonly frames: number;
  /** Frames up to and including the last commit that SQLite uses. */
  readonly committedFrames: number;
  /** Commits that SQLite uses. */
  readonly commits: number;
  /** Valid frames of the same generation after the first invalid one. */
  readonly framesBehind: number;
  /** Commits among `framesBehind`. */
  readonly commitsBehind: number;
}

type Sum = readonly [number, number];

const isPageSize = (bytes: number): boolean => bytes >= 512 && bytes <= 65_536 && (bytes & (bytes - 1)) === 0;

/** Continues the checksum over `count` words, an even number, from `start`. */
function sumOf(words: Int32Array, start: number, count: number, [first, second]: Sum): Sum {
  let [a, b] = [first | 0, second | 0];
  for (let at = start; at < start + count; at += 2) {
    a = (a + (words[at] ?? 0) + b) | 0;
    b = (b + (words[at + 1] ?? 0) + a) | 0;
  }
  return [a, b];
}

/** Returns the bytes as words in the byte order of the checksums. */
function wordsOf(bytes: Buffer, bigEndian: boolean): Int32Array {
  const isSameOrder = bigEndian === (endianness() === 'BE');
  const source = isSameOrder ? bytes : Buffer.from(bytes).swap32();
  // A view needs an aligned start, which a separate buffer always has.
  if (source.byteOffset % 4 === 0) return new Int32Array(source.buffer, source.byteOffset, source.length >> 2);
  return new Int32Array(new Uint8Array(source).buffer, 0, source.length >> 2);
}

const storedSum = (bytes: Buffer, at: number): Sum => [bytes.readInt32BE(at), bytes.readInt32BE(at + 4)];
const isEqual = ([a, b]: Sum, [c, d]: Sum): boolean => a === c && b === d;

function readFully(descriptor: number, into: Buffer, position: number): number {
  let done = 0;
  while (done < into.length) {
    const read = readSync(descriptor, into, done, into.length - done, position + done);
    if (read === 0) break;
    done += read;
  }
  return done;
}

function read(descriptor: number): LogContents | null {
  const header = Buffer.alloc(HEADER_BYTES);
  if (readFully(descriptor, header, 0) < HEADER_BYTES) return null;
  const magic = header.readUInt32BE(0);
  const pageBytes = header.readUInt32BE(8);
  const bigEndian = (magic & 1) === 1;
  const headerSum = sumOf(wordsOf(header, bigEndian), 0, 6, [0, 0]);
  const headerValid =
    magic >>> 1 === MAGIC >>> 1 &&
    header.readUInt32BE(4) === VERSION &&
    isPageSize(pageBytes) &&
    isEqual(headerSum, storedSum(header, 24));
  const counts = { frames: 0, committedFrames: 0, commits: 0, framesBehind: 0, commitsBehind: 0 };
  if (!isPageSize(pageBytes)) return { headerValid, ...counts };

  const frameBytes = FRAME_HEADER_BYTES + pageBytes;
  const chunk = Buffer.alloc(Math.max(1, Math.floor(CHUNK_BYTES / frameBytes)) * frameBytes);
  /** Frames of an earlier generation have other salts. If the header is broken, the salts of the first frame are used. */
  let salts: Sum | null = headerValid ? storedSum(header, 16) : null;
  let previous: Sum = headerSum;
  let isIntact = headerValid;
  for (let position = HEADER_BYTES; ; position += chunk.length) {
    const length = readFully(descriptor, chunk, position);
    const words = wordsOf(chunk.subarray(0, length - (length % 4)), bigEndian);
    for (let at = 0; at + frameBytes <= length; at += frameBytes) {
      const frameSalts = storedSum(chunk, at + 8);
      salts ??= frameSalts;
      const stored = storedSum(chunk, at + 16);
      const sum = sumOf(words, (at + FRAME_HEADER_BYTES) >> 2, pageBytes >> 2, sumOf(words, at >> 2, 2, previous));
      const valid = chunk.readUInt32BE(at) !== 0 && isEqual(frameSalts, salts) && isEqual(sum, stored);
      const isCommit = chunk.readUInt32BE(at + 4) !== 0;
      previous = stored;
      isIntact &&= valid;
      if (isIntact) {
        counts.frames++;
        if (!isCommit) continue;
        counts.commits++;
        counts.committedFrames = counts.frames;
      } else if (valid) {
        counts.framesBehind++;
        if (isCommit) counts.commitsBehind++;
      }
    }
    if (length < chunk.length) return { headerValid, ...counts };
  }
}

/** Reads the log; null if the file does not exist or is shorter than a header, which is how SQLite leaves an empty log. */
export function readLog(file: string): LogContents | null {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
  try {
    return read(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
