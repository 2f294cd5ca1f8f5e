/** Detects that a lease was not renewed in time, because no other event reports its expiry. */

/** What is watched, in milliseconds of the monotonic clock. */
interface WatchedLease {
  /** Time until which the lease is certainly valid. */
  readonly until: number;
  readonly isValid: boolean;
}

export class LeaseWatch {
  private readonly lease: WatchedLease;
  private readonly onExpired: () => void;
  private readonly monotonic: () => number;
  private timer: NodeJS.Timeout | undefined;

  /** `monotonic` returns the milliseconds of the clock of the lease. */
  constructor(lease: WatchedLease, onExpired: () => void, monotonic: () => number = () => performance.now()) {
    this.lease = lease;
    this.onExpired = onExpired;
    this.monotonic = monotonic;
  }

  /** Waits for the end of the lease, and then calls `onExpired` once. Replaces an earlier wait. */
  start(): void {
    this.stop();
    this.timer = setTimeout(() => this.check(), Math.max(0, this.lease.until - this.monotonic()));
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  /** Timers may fire a few milliseconds early. Without another wait, nothing would report the expiry. */
  private check(): void {
    if (this.lease.isValid) this.start();
    else this.onExpired();
  }
}
