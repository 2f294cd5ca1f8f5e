/** Remembers when events last occurred, for a limited number of events. */
export class RecentTimes {
  private readonly max: number;
  private readonly againMs: number;
  private readonly times = new Map<string, number>();

  constructor(max: number, againMs: number) {
    this.max = max;
    this.againMs = againMs;
  }

  /** Returns true, and records the time, unless the event occurred within the last `againMs`. `now` is in ms. */
  isDue(key: string, now: number): boolean {
    const last = this.times.get(key);
    if (last !== undefined && now - last < this.againMs) return false;
    this.times.delete(key);
    this.times.set(key, now);
    const [oldest] = this.times.keys();
    if (this.times.size > this.max && oldest !== undefined) this.times.delete(oldest);
    return true;
  }

  forget(key: string): void {
    this.times.delete(key);
  }
}
