/**
 * Paces units that make the store write very much at once: while they are written nothing else happens in this process. After
 * a batch with one of them, further ones wait for four times as long as it took, as long as other accounts, or other instances of
 * the account, have something to write. All later units of the same instance wait with them.
 */
import type { Clock } from '../../ports/clock.js';
import type { InstanceOwners } from '../../ports/instance-owners.js';
import type { Waiting } from './commit-turns.js';

const HEAVY_BYTES = 1024 * 1024;
const PAUSE_RATIO = 4;
const MAX_PAUSE_MS = 5_000;
/** An instance that has written something within this time is disturbed. */
const ACTIVE_MS = 1_000;
const MAX_REMEMBERED = 1_000;

export class HeavyPace {
  private readonly owners: InstanceOwners;
  private readonly clock: Clock;
  /** Unix ms of the latest unit, by instance; the latest are last. */
  private readonly active = new Map<string, number>();
  private pauseEndsAt = 0;

  constructor(owners: InstanceOwners, clock: Clock) {
    this.owners = owners;
    this.clock = clock;
  }

  /** Unix ms. */
  get endsAt(): number {
    return this.pauseEndsAt;
  }

  submitted({ instanceId }: Waiting): void {
    if (instanceId === null) return;
    this.active.delete(instanceId);
    this.active.set(instanceId, this.clock.now());
    const [oldest] = this.active.keys();
    if (this.active.size > MAX_REMEMBERED && oldest !== undefined) this.active.delete(oldest);
  }

  /** Whether the unit has to wait until `endsAt`. */
  holds({ instanceId, bytes }: Waiting): boolean {
    if (bytes < HEAVY_BYTES || instanceId === null || this.clock.now() >= this.pauseEndsAt) return false;
    return this.disturbs(instanceId);
  }

  /** A batch was written that took so many ms. */
  wrote(batch: Iterable<Waiting>, tookMs: number): void {
    for (const { bytes } of batch) {
      if (bytes < HEAVY_BYTES) continue;
      this.pauseEndsAt = this.clock.now() + Math.min(MAX_PAUSE_MS, tookMs * PAUSE_RATIO);
      return;
    }
  }

  private disturbs(instanceId: string): boolean {
    const since = this.clock.now() - ACTIVE_MS;
    const accountId = this.owners.accountOf(instanceId);
    // The latest first: an account that is alone has few others to look at.
    for (const [other, at] of [...this.active].reverse()) {
      if (at < since) return false;
      if (other !== instanceId && (this.owners.isShared || this.owners.accountOf(other) === accountId)) return true;
    }
    return false;
  }
}
