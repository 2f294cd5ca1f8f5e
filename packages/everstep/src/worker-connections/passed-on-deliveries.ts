/** Counts the deliveries in flight that other nodes make, by name: the pool of another node, and a workflow that it serves. */
export class PassedOnDeliveries {
  /** Names by delivery. */
  private readonly names = new Map<string, readonly string[]>();
  private readonly counts = new Map<string, number>();

  count(name: string): number {
    return this.counts.get(name) ?? 0;
  }

  add(deliveryKey: string, names: readonly string[]): void {
    this.names.set(deliveryKey, names);
    for (const name of names) this.counts.set(name, this.count(name) + 1);
  }

  /** Has no effect if the delivery is not counted. */
  remove(deliveryKey: string): void {
    for (const name of this.names.get(deliveryKey) ?? []) {
      const count = this.count(name) - 1;
      if (count > 0) this.counts.set(name, count);
      else this.counts.delete(name);
    }
    this.names.delete(deliveryKey);
  }
}
