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
const busy = (): ApiError =>
  new ApiError(
    'unavailable',
    'too many large responses are being sent; retry after the number of seconds in Retry-After',
    RETRY_AFTER,
  );

export class ReadBudget {
  private readonly limits: ReadLimits;
  private readonly byOwner = new Map<string, number>();
  private readonly waiting = new Set<WaitingRead>();
  private usedBytes = 0;

  constructor(limits: Partial<ReadLimits> = {}) {
    this.limits = { ...DEFAULT_LIMITS, ...limits };
  }

  /** Number of bytes in use. */
  get bytes(): number {
    return this.usedBytes;
  }

  /**
   * Resolves with the function that releases the bytes. A request for more than the limit of an owner gets the whole limit.
   * Rejects with ApiError `unavailable` when no memory becomes free in time or `signal` aborts.
   */
  async take(owner: string, bytes: number, signal: AbortSignal, waitMs = this.limits.waitMs): Promise<() => void> {
    const granted = Math.min(bytes, this.limits.maxBytesOfOwner);
    if (this.waiting.size > 0 || !this.fits(owner, granted)) await this.wait(owner, granted, signal, waitMs);
    else this.add(owner, granted);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.add(owner, -granted);
      this.grant();
    };
  }

  private wait(owner: string, bytes: number, signal: AbortSignal, waitMs: number): Promise<void> {
    if (this.waiting.size >= this.limits.maxWaiting || signal.aborted) throw busy();
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', refuse);
        this.waiting.delete(waiting);
      };
      const refuse = (): void => {
        end();
        reject(busy());
        this.grant();
      };
      const waiting: WaitingRead = {
        owner,
        bytes,
        grant: () => {
          end();
          this.add(owner, bytes);
          resolve();
        },
      };
      const timer = setTimeout(refuse, waitMs);
      signal.addEventListener('abort', refuse);
      this.waiting.add(waiting);
      this.grant();
    });
  }

  /** Grants waiting requests in order. A request that waits for its own owner does not block other owners. */
  private grant(): void {
    for (const next of [...this.waiting]) {
      if (this.usedBytes + next.bytes > this.limits.maxBytes) return;
      if (this.fits(next.owner, next.bytes)) next.grant();
    }
  }

  private fits(owner: string, bytes: number): boolean {
    const { maxBytes, maxBytesOfOwner } = this.limits;
    return this.usedBytes + bytes <= maxBytes && (this.byOwner.get(owner) ?? 0) + bytes <= maxBytesOfOwner;
  }

  private add(owner: string, bytes: number): void {
    this.usedBytes += bytes;
    const ownerBytes = (this.byOwner.get(owner) ?? 0) + bytes;
    if (ownerBytes === 0) this.byOwner.delete(owner);
    else this.byOwner.set(owner, ownerBytes);
  }
}

export interface ReserveOptions {
  /** Maximum wait in milliseconds. Default: `LIMITS.readWaitMs`. */
  readonly waitMs?: number;
}

/** Reserves bytes until the response was sent or the client disconnected. */
export type Reserve = (bytes: number, options?: ReserveOptions) => Promise<void>;

/** Disconnects a client that does not read its response, because it would keep the memory of others. */
function endInTime({ raw }: FastifyReply): void {
  const timer = setTimeout(() => raw.destroy(), LIMITS.maxResponseMs);
  timer.unref();
  raw.once('close', () => clearTimeout(timer));
}

export function reserveFor(budget: ReadBudget, reply: FastifyReply, owner: string, signal: () => AbortSignal): Reserve {
  let isTimed = false;
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
    if (!isTimed) endInTime(reply);
    isTimed = true;
  };
}
