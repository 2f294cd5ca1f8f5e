/**
 * Limits the frames that a worker sends without a request from the server. All other frames are limited by the number of
 * requests that the worker gets.
 */
import { LIMITS } from '../config/limits.js';

const KiB = 1024;

export class UnexpectedFrames {
  private credit: number = LIMITS.maxUnexpectedWorkerFrames;
  /** Ids of requests that were given up before a reply arrived, oldest first. */
  private readonly lateIds = new Set<number>();

  /** Called when the server gives up a request. Its reply may still arrive once. */
  expectLate(id: number): void {
    this.lateIds.add(id);
    const [oldest] = this.lateIds;
    if (oldest !== undefined && this.lateIds.size > LIMITS.maxLateWorkerReplies) this.lateIds.delete(oldest);
  }

  /** Returns whether the request was given up and this is the first reply to it. */
  removeLate(id: number): boolean {
    return this.lateIds.delete(id);
  }

  /** Counts a frame of this many bytes. Returns false if there were too many. */
  allow(bytes: number): boolean {
    this.credit -= 1 + Math.floor(bytes / KiB);
    return this.credit >= 0;
  }

  /** Called in each heartbeat interval. */
  restore(): void {
    this.credit = LIMITS.maxUnexpectedWorkerFrames;
  }
}
