/**
 * Limits the memory of responses in progress, in total and per owner, so that one owner cannot use all of it. Small
 * responses are not counted. A large response waits when the limit is reached, and is rejected after a while.
 */
import type { FastifyReply } from 'fastify';
import { LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';

export interface ReadLimits {
  readonly maxBytes: number;
  readonly maxBytesOfOwner: number;
  /** Maximum number of waiting responses. */
  readonly maxWaiting: number;
  /** Maximum wait of a response. */
  readonly waitMs: number;
}

interface WaitingRead {
  readonly owner: string;
  readonly bytes: number;
  readonly grant: () => void;
}

const DEFAULT_LIMITS: ReadLimits = {
  maxBytes: LIMITS.maxReadBytes,
  maxBytesOfOwner: LIMITS.maxReadBytesOfInstance,
  maxWaiting: LIMITS.maxWaitingReads,
  waitMs: LIMITS.readWaitMs,
};

const RETRY_AFTER = { 'retry-after': '2' };
const busyError = (): ApiError =>
  new ApiError(
    'unavailable',
    'too many large responses are being sent; retry after the number of seconds in Retry-After',
    RETRY_AFTER,
  );

export class ReadBudget {
  private readonly limits: ReadLimits;
  private readonly bytesByOwner = new Map<string, number>();
  private readonly waitingReads = new Set<WaitingRead>();
  private usedBytes = 0;

  constructor(limits: Partial<ReadLimits> = {}) {
    this.limits = { ...DEFAULT_LIMITS, ...limits };
  }

  /** Number of bytes in use. */
  get bytes(): number {
    return this.usedBytes;
  }

  /**
   * Resolves with a function that releases the bytes. A request for more than the limit of an owner gets the whole limit.
   * Rejects with ApiError `unavailable` if too little memory becomes free in time, or if `signal` aborts.
   */
  async take(owner: string, bytes: number, signal: AbortSignal, waitMs = this.limits.waitMs): Promise<() => void> {
    const grantedBytes = Math.min(bytes, this.limits.maxBytesOfOwner);
    if (this.waitingReads.size > 0 || !this.fits(owner, grantedBytes)) await this.wait(owner, grantedBytes, signal, waitMs);
    else this.add(owner, grantedBytes);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.add(owner, -grantedBytes);
      this.grant();
    };
  }

  private wait(owner: string, bytes: number, signal: AbortSignal, waitMs: number): Promise<void> {
    if (this.waitingReads.size >= this.limits.maxWaiting || signal.aborted) throw busyError();
    return new Promise((resolve, reject) => {
      const stopWaiting = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', refuse);
        this.waitingReads.delete(waitingRead);
      };
      const refuse = (): void => {
        stopWaiting();
        reject(busyError());
        this.grant();
      };
      const waitingRead: WaitingRead = {
        owner,
        bytes,
        grant: () => {
          stopWaiting();
          this.add(owner, bytes);
          resolve();
        },
      };
      const timer = setTimeout(refuse, waitMs);
      signal.addEventListener('abort', refuse);
      this.waitingReads.add(waitingRead);
      this.grant();
    });
  }

  /** Grants waiting reads in order. A read that waits because its owner is at its limit does not block other owners. */
  private grant(): void {
    for (const read of [...this.waitingReads]) {
      if (this.usedBytes + read.bytes > this.limits.maxBytes) return;
      if (this.fits(read.owner, read.bytes)) read.grant();
    }
  }

  private fits(owner: string, bytes: number): boolean {
    const { maxBytes, maxBytesOfOwner } = this.limits;
    return this.usedBytes + bytes <= maxBytes && (this.bytesByOwner.get(owner) ?? 0) + bytes <= maxBytesOfOwner;
  }

  private add(owner: string, bytes: number): void {
    this.usedBytes += bytes;
    const ownerBytes = (this.bytesByOwner.get(owner) ?? 0) + bytes;
    if (ownerBytes === 0) this.bytesByOwner.delete(owner);
    else this.bytesByOwner.set(owner, ownerBytes);
  }
}

export interface ReserveOptions {
  /** Maximum wait in milliseconds. Default: `LIMITS.readWaitMs`. */
  readonly waitMs?: number;
}

/** Reserves memory until the response is sent or the client disconnects. */
export type Reserve = (bytes: number, options?: ReserveOptions) => Promise<void>;

/** Disconnects a client that does not read its response in time, because others need the memory. */
function disconnectAfterTimeout({ raw }: FastifyReply): void {
  const timer = setTimeout(() => raw.destroy(), LIMITS.maxResponseMs);
  timer.unref();
  raw.once('close', () => clearTimeout(timer));
}

/** Returns a function that reserves memory for the response of `reply`. Small reservations need no budget. */
export function reserveFor(budget: ReadBudget, reply: FastifyReply, owner: string, signal: () => AbortSignal): Reserve {
  let hasTimeout = false;
  return async (bytes, options = {}) => {
    if (bytes <= LIMITS.maxInlineBytes) return;
    const release = await budget.take(owner, bytes, signal(), options.waitMs);
    const { raw } = reply;
    if (raw.destroyed || raw.writableFinished) {
      release();
      return;
    }
    raw.once('finish', release);
    raw.once('close', release);
    if (!hasTimeout) disconnectAfterTimeout(reply);
    hasTimeout = true;
  };
}
