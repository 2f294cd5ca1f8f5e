/** Cache of verified tokens that evicts the least recently used one. */
export class RecentTokens<Value extends { readonly tokenId: string }> {
  private readonly capacity: number;
  private readonly entries = new Map<string, Value>();

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get(token: string): Value | undefined {
    const value = this.entries.get(token);
    if (value === undefined) return undefined;
    // A map keeps insertion order: reinserting a used entry at the end protects it from eviction.
    this.entries.delete(token);
    this.entries.set(token, value);
    return value;
  }

  set(token: string, value: Value): void {
    this.entries.delete(token);
    this.entries.set(token, value);
    if (this.entries.size <= this.capacity) return;
    const oldest = this.entries.keys().next();
    if (!oldest.done) this.entries.delete(oldest.value);
  }

  forget(tokenId: string): void {
    this.forgetAll((value) => value.tokenId === tokenId);
  }

  forgetAll(matches: (value: Value) => boolean): void {
    for (const [token, value] of this.entries) if (matches(value)) this.entries.delete(token);
  }

  get size(): number {
    return this.entries.size;
  }
}
