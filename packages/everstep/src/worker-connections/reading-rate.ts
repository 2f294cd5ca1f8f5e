/** Detects workers that do not read what is sent to them. */
import { LIMITS } from '../config/limits.js';

const SECOND_MS = 1_000;

export class ReadingRate {
  private readonly graceMs: number;
  /** Number of characters sent so far. */
  sentLength = 0;
  private readLength = 0;
  /** Time when the worker last read something, or had read everything, on the clock of elapsed time. */
  private lastReadAt: number;

  /** The worker may read nothing for `graceMs`, in addition to the time that the unsent bytes allow. */
  constructor(now: number, graceMs: number) {
    this.lastReadAt = now;
    this.graceMs = graceMs;
  }

  addSent(length: number): void {
    this.sentLength += length;
  }

  /** Returns the number of characters that the worker has read. */
  readLengthOf(unsentBytes: number): number {
    return this.sentLength - unsentBytes;
  }

  /**
   * Returns false if the worker has read nothing for too long. A long message counts as read when all of it is sent, so its
   * length extends the time.
   */
  isFastEnough(now: number, unsentBytes: number): boolean {
    const readLength = this.readLengthOf(unsentBytes);
    if (unsentBytes === 0 || readLength > this.readLength) {
      this.readLength = readLength;
      this.lastReadAt = now;
      return true;
    }
    const allowedMs = this.graceMs + (unsentBytes / LIMITS.minWorkerBytesPerS) * SECOND_MS;
    return now - this.lastReadAt <= allowedMs;
  }
}
