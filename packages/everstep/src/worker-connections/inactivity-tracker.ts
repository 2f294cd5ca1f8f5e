/** Detects workers from which nothing arrives. */
import { LIMITS } from '../config/limits.js';

const SECOND_MS = 1_000;

export class InactivityTracker {
  private readonly limitMs: number;
  private lastMessageAt: number;
  /** Number of bytes that have arrived since the last message: parts of the next one. */
  private receivedBytes = 0;

  /** Nothing may arrive for `limitMs`. `now` is the time of a clock of elapsed time. */
  constructor(now: number, limitMs: number) {
    this.lastMessageAt = now;
    this.limitMs = limitMs;
  }

  addBytes(bytes: number): void {
    this.receivedBytes += bytes;
  }

  /** Called when a whole message has arrived, or when messages may be waiting to be read. */
  end(now: number): void {
    this.lastMessageAt = now;
    this.receivedBytes = 0;
  }

  /** Returns how long no message has arrived. */
  durationMs(now: number): number {
    return now - this.lastMessageAt;
  }

  /** Returns whether nothing has arrived for too long. The bytes of a long message extend the time. */
  isTooLong(now: number): boolean {
    const transferMs = (this.receivedBytes / LIMITS.minWorkerBytesPerS) * SECOND_MS;
    return this.durationMs(now) > this.limitMs + transferMs;
  }
}
