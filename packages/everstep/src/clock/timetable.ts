/** Timers by the time at which they are due; those of one millisecond in the order in which they were set. */
interface Entry {
  readonly atMs: number;
  readonly fire: () => void;
  isSet: boolean;
}

export class Timetable {
  private entries: Entry[] = [];

  /** Unix ms of the first timer; infinite when there is none. */
  get nextAt(): number {
    return this.entries[0]?.atMs ?? Number.POSITIVE_INFINITY;
  }

  /** Returns a function that takes the timer back. */
  add(atMs: number, fire: () => void): () => void {
    const entry: Entry = { atMs, fire, isSet: true };
    this.entries.splice(this.placeBehind(atMs), 0, entry);
    return () => {
      if (!entry.isSet) return;
      entry.isSet = false;
      const place = this.entries.indexOf(entry);
      if (place !== -1) this.entries.splice(place, 1);
    };
  }

  /** Fires what is due at `untilMs`, in order, and says how many. What is set meanwhile is left for the next time. */
  fireUntil(untilMs: number): number {
    const due = this.entries.splice(0, this.placeBehind(untilMs));
    let fired = 0;
    for (const entry of due) {
      // One that fired before it may have taken it back.
      if (!entry.isSet) continue;
      entry.isSet = false;
      fired++;
      entry.fire();
    }
    return fired;
  }

  /** Where a timer goes that is due at `atMs`: behind all that are due then or before. */
  private placeBehind(atMs: number): number {
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
