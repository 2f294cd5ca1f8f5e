/** Timers by due time. Timers of the same millisecond are in the order in which they were set. */
interface Entry {
  readonly atMs: number;
  readonly fire: () => void;
  isSet: boolean;
}

export class TimerQueue {
  private entries: Entry[] = [];

  /** Time of the first timer, Unix ms; infinite if there is none. */
  get nextAt(): number {
    return this.entries[0]?.atMs ?? Number.POSITIVE_INFINITY;
  }

  /** Adds a timer. Returns a function that cancels it. */
  add(atMs: number, fire: () => void): () => void {
    const entry: Entry = { atMs, fire, isSet: true };
    this.entries.splice(this.indexAfter(atMs), 0, entry);
    return () => {
      if (!entry.isSet) return;
      entry.isSet = false;
      const index = this.entries.indexOf(entry);
      if (index !== -1) this.entries.splice(index, 1);
    };
  }

  /**
   * Fires timers that are due at `untilMs`, in order, and returns their number. Timers that they set fire only in the next
   * call.
   */
  fireUntil(untilMs: number): number {
    const dueEntries = this.entries.splice(0, this.indexAfter(untilMs));
    let firedCount = 0;
    for (const entry of dueEntries) {
      // An earlier timer may have canceled this one.
      if (!entry.isSet) continue;
      entry.isSet = false;
      firedCount++;
      entry.fire();
    }
    return firedCount;
  }

  /** Returns the index for a timer that is due at `atMs`: after all timers due then or before. */
  private indexAfter(atMs: number): number {
    let low = 0;
    let high = this.entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.entries[middle]?.atMs ?? atMs) <= atMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
