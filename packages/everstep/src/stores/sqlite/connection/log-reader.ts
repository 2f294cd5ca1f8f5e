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
  readonly isHeaderValid: boolean;
  /** Number of valid frames from the start; SQLite uses those up to the last commit among them. */
  readonly frames: number;
  /** Number of frames up to and including the last commit that SQLite uses. */
  readonly committedFrames: number;
  /** Number of commits that SQLite uses. */
  readonly commits: number;
  /** Number of valid frames of the same generation after the first invalid one. */
  readonly framesBehind: number;
  /** Number of commits in these frames. */
  readonly commitsBehind: number;
}

type Checksum = readonly [number, number];

const isPageSize = (bytes: number): boolean => bytes >= 512 && bytes <= 65_536 && (bytes & (bytes - 1)) === 0;

/** Continues the checksum over `count` words, an even number, from `start`. */
function checksumOf(words: Int32Array, start: number, count: number, [first, second]: Checksum): Checksum {
  let [a, b] = [first | 0, second | 0];
  for (let at = start; at < start + count; at += 2) {
    a = (a + (words[at] ?? 0) + b) | 0;
    b = (b + (words[at + 1] ?? 0) + a) | 0;
  }
  return [a, b];
}

/** Returns the bytes as words in the byte order of the checksums. */
function wordsOf(bytes: Buffer, isBigEndian: boolean): Int32Array {
  const isSameOrder = isBigEndian === (endianness() === 'BE');
  const source = isSameOrder ? bytes : Buffer.from(bytes).swap32();
  // A view needs an aligned start, which a separate buffer always has.
  if (source.byteOffset % 4 === 0) return new Int32Array(source.buffer, source.byteOffset, source.length >> 2);
  return new Int32Array(new Uint8Array(source).buffer, 0, source.length >> 2);
}

const storedChecksum = (bytes: Buffer, at: number): Checksum => [bytes.readInt32BE(at), bytes.readInt32BE(at + 4)];
const isEqual = ([a, b]: Checksum, [c, d]: Checksum): boolean => a === c && b === d;

function readFully(descriptor: number, buffer: Buffer, position: number): number {
  let bytesRead = 0;
  while (bytesRead < buffer.length) {
    const count = readSync(descriptor, buffer, bytesRead, buffer.length - bytesRead, position + bytesRead);
    if (count === 0) break;
    bytesRead += count;
  }
  return bytesRead;
}

function read(descriptor: number): LogContents | null {
  const header = Buffer.alloc(HEADER_BYTES);
  if (readFully(descriptor, header, 0) < HEADER_BYTES) return null;
  const magic = header.readUInt32BE(0);
  const pageBytes = header.readUInt32BE(8);
  const isBigEndian = (magic & 1) === 1;
  const headerChecksum = checksumOf(wordsOf(header, isBigEndian), 0, 6, [0, 0]);
  const isHeaderValid =
    magic >>> 1 === MAGIC >>> 1 &&
    header.readUInt32BE(4) === VERSION &&
    isPageSize(pageBytes) &&
    isEqual(headerChecksum, storedChecksum(header, 24));
  const counts = { frames: 0, committedFrames: 0, commits: 0, framesBehind: 0, commitsBehind: 0 };
  if (!isPageSize(pageBytes)) return { isHeaderValid, ...counts };

  const frameBytes = FRAME_HEADER_BYTES + pageBytes;
  const chunk = Buffer.alloc(Math.max(1, Math.floor(CHUNK_BYTES / frameBytes)) * frameBytes);
  /** Frames of an earlier generation have different salts. If the header is broken, the salts of the first frame are used. */
  let salts: Checksum | null = isHeaderValid ? storedChecksum(header, 16) : null;
  let previous: Checksum = headerChecksum;
  let isIntact = isHeaderValid;
  for (let position = HEADER_BYTES; ; position += chunk.length) {
    const length = readFully(descriptor, chunk, position);
    const words = wordsOf(chunk.subarray(0, length - (length % 4)), isBigEndian);
    for (let at = 0; at + frameBytes <= length; at += frameBytes) {
      const frameSalts = storedChecksum(chunk, at + 8);
      salts ??= frameSalts;
      const savedChecksum = storedChecksum(chunk, at + 16);
      const checksum = checksumOf(words, (at + FRAME_HEADER_BYTES) >> 2, pageBytes >> 2, checksumOf(words, at >> 2, 2, previous));
      const isValid = chunk.readUInt32BE(at) !== 0 && isEqual(frameSalts, salts) && isEqual(checksum, savedChecksum);
      const isCommit = chunk.readUInt32BE(at + 4) !== 0;
      previous = savedChecksum;
      isIntact &&= isValid;
      if (isIntact) {
        counts.frames++;
        if (!isCommit) continue;
        counts.commits++;
        counts.committedFrames = counts.frames;
      } else if (isValid) {
        counts.framesBehind++;
        if (isCommit) counts.commitsBehind++;
      }
    }
    if (length < chunk.length) return { isHeaderValid, ...counts };
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
