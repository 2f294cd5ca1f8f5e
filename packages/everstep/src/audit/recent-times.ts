/** Stores when events last occurred, for a limited number of events. */
export class RecentTimes {
  private readonly maxEvents: number;
  private readonly intervalMs: number;
  private readonly times = new Map<string, number>();

  constructor(maxEvents: number, intervalMs: number) {
    this.maxEvents = maxEvents;
    this.intervalMs = intervalMs;
  }

  /** Returns true, and records the time, unless the event occurred within the last `intervalMs`. `now` is in ms. */
  isDue(key: string, now: number): boolean {
    const lastAt = this.times.get(key);
    if (lastAt !== undefined && now - lastAt < this.intervalMs) return false;
    this.times.delete(key);
    this.times.set(key, now);
    const [oldestKey] = this.times.keys();
    if (this.times.size > this.maxEvents && oldestKey !== undefined) this.times.delete(oldestKey);
    return true;
  }

  forget(key: string): void {
    this.times.delete(key);
  }
}
