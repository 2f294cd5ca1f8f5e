/**
 * A map with limited memory. Entries that are set or read move to the younger half. When the younger half is full, it becomes the
 * older half, and the previous older half is dropped.
 */
export class RecentEntries<Value> {
  private readonly halfSize: number;
  private younger = new Map<string, Value>();
  private older = new Map<string, Value>();

  /** Creates a map of the entries that were set or read last: at least `halfSize`, at most 2 * `halfSize`. */
  constructor(halfSize: number) {
    this.halfSize = halfSize;
  }

  get(key: string): Value | undefined {
    const value = this.younger.get(key);
    if (value !== undefined) return value;
    const olderValue = this.older.get(key);
    if (olderValue !== undefined) this.set(key, olderValue);
    return olderValue;
  }

  set(key: string, value: Value): void {
    if (this.younger.size >= this.halfSize && !this.younger.has(key)) {
      this.older = this.younger;
      this.younger = new Map();
    }
    this.younger.set(key, value);
  }

  delete(key: string): void {
    this.younger.delete(key);
    this.older.delete(key);
  }
}
