/**
 * Limits the memory of responses in progress, in total, per account and per queue instance, so that none of them can use all of
 * it. Small responses are not counted. A large response waits when a limit is reached, and is rejected after a while. Accounts
 * and instances have fair shares of the waiting positions.
 */
import type { FastifyReply } from 'fastify';
import { LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';
import { FairShare } from '../../fairness/fair-share.js';
import { type InstanceOwners, ONE_OWNER } from '../../ports/stores/instance-owners.js';

export interface ReadLimits {
  readonly maxBytes: number;
  /** Limit of an instance, and of an account if several accounts share the memory. */
  readonly maxBytesOfOwner: number;
  /** Maximum number of waiting responses. */
  readonly maxWaiting: number;
  /** Maximum wait of a response. */
  readonly waitMs: number;
}

interface Read {
  readonly instanceId: string;
  readonly accountId: string;
  readonly bytes: number;
}

const DEFAULT_LIMITS: ReadLimits = {
  maxBytes: LIMITS.maxReadBytes,
  maxBytesOfOwner: LIMITS.maxReadBytesOfOwner,
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

/** Adds to the number of an owner. Owners without bytes are removed. */
function addTo(bytesByOwner: Map<string, number>, owner: string, bytes: number): void {
  const ownerBytes = (bytesByOwner.get(owner) ?? 0) + bytes;
  if (ownerBytes === 0) bytesByOwner.delete(owner);
  else bytesByOwner.set(owner, ownerBytes);
}

export class ReadBudget {
  private readonly limits: ReadLimits;
  private readonly owners: InstanceOwners;
  private readonly bytesByAccount = new Map<string, number>();
  private readonly bytesByInstance = new Map<string, number>();
  /** The functions that grant the waiting reads, in order. */
  private readonly waitingReads = new Map<Read, () => void>();
  private readonly waitingPositions: FairShare;
  private usedBytes = 0;

  constructor(limits: Partial<ReadLimits> = {}, owners: InstanceOwners = ONE_OWNER) {
    this.limits = { ...DEFAULT_LIMITS, ...limits };
    this.owners = owners;
    this.waitingPositions = new FairShare(this.limits.maxWaiting, owners);
  }

  /** Number of bytes in use. */
  get bytes(): number {
    return this.usedBytes;
  }

  /**
   * Resolves with a function that releases the bytes. A request for more than the limit of an owner gets the whole limit.
   * Rejects with ApiError `unavailable` if too little memory becomes free in time, or if `signal` aborts. A caller that
   * is not a queue instance counts as an account with one instance.
   */
  async take(instanceId: string, bytes: number, signal: AbortSignal, waitMs = this.limits.waitMs): Promise<() => void> {
    const accountId = this.owners.accountOf(instanceId);
    const read: Read = { instanceId, accountId, bytes: Math.min(bytes, this.limits.maxBytesOfOwner) };
    if (this.mustWait(read)) await this.wait(read, signal, waitMs);
    else this.add(read, read.bytes);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.add(read, -read.bytes);
      this.grant();
    };
  }

  private wait(read: Read, signal: AbortSignal, waitMs: number): Promise<void> {
    const { waitingReads, waitingPositions } = this;
    if (!waitingPositions.allows(read.instanceId) || signal.aborted) throw busyError();
    return new Promise((resolve, reject) => {
      const stopWaiting = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', refuse);
        waitingReads.delete(read);
        waitingPositions.give(read.instanceId);
      };
      const refuse = (): void => {
        stopWaiting();
        reject(busyError());
        this.grant();
      };
      const timer = setTimeout(refuse, waitMs);
      signal.addEventListener('abort', refuse);
      waitingPositions.take(read.instanceId);
      waitingReads.set(read, () => {
        stopWaiting();
        this.add(read, read.bytes);
        resolve();
      });
    });
  }

  /** A read also waits while an earlier one waits for memory, but not behind reads whose account or instance is at its limit. */
  private mustWait(read: Read): boolean {
    if (this.isOwnerAtLimit(read) || !this.fits(read)) return true;
    for (const waitingRead of this.waitingReads.keys()) if (!this.isOwnerAtLimit(waitingRead)) return true;
    return false;
  }

  /** Grants waiting reads in order. A read that waits because its owner is at its limit does not block other owners. */
  private grant(): void {
    for (const [read, grantRead] of [...this.waitingReads]) {
      if (this.isOwnerAtLimit(read)) continue;
      if (!this.fits(read)) return;
      grantRead();
    }
  }

  private fits({ bytes }: Read): boolean {
    return this.usedBytes + bytes <= this.limits.maxBytes;
  }

  /**
   * Returns whether the account or the instance is at its limit, however much memory is free. While accounts share the memory, an
   * instance that already uses some gets at most half of the limit of its account if the account has several instances. A read
   * that is larger than this half is limited by the account only.
   */
  private isOwnerAtLimit({ instanceId, accountId, bytes }: Read): boolean {
    const { maxBytesOfOwner } = this.limits;
    const { isShared } = this.owners;
    const usedByInstance = this.bytesByInstance.get(instanceId) ?? 0;
    const isHalved = isShared && bytes <= maxBytesOfOwner / 2 && this.owners.hasSeveralInstances(accountId);
    const maxOfInstance = isHalved ? maxBytesOfOwner / 2 : maxBytesOfOwner;
    if (usedByInstance > 0 && usedByInstance + bytes > maxOfInstance) return true;
    return isShared && (this.bytesByAccount.get(accountId) ?? 0) + bytes > maxBytesOfOwner;
  }

  private add({ instanceId, accountId }: Read, bytes: number): void {
    this.usedBytes += bytes;
    addTo(this.bytesByInstance, instanceId, bytes);
    addTo(this.bytesByAccount, accountId, bytes);
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
export function reserveFor(budget: ReadBudget, reply: FastifyReply, instanceId: string, signal: () => AbortSignal): Reserve {
  let hasTimeout = false;
  return async (bytes, options = {}) => {
    if (bytes <= LIMITS.maxInlineBytes) return;
    const release = await budget.take(instanceId, bytes, signal(), options.waitMs);
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
