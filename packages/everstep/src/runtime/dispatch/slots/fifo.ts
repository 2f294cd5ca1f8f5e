/** A first-in, first-out list. Taking the first item takes constant time. */
export class Fifo<Item> {
  private items: Item[] = [];
  private head = 0;

  get length(): number {
    return this.items.length - this.head;
  }
  get first(): Item | undefined {
    return this.items[this.head];
  }
  push(item: Item): void {
    this.items.push(item);
  }
  takeAll(): readonly Item[] {
    const all = this.items.slice(this.head);
    [this.items, this.head] = [[], 0];
    return all;
  }
  shift(): Item | undefined {
    const item = this.items[this.head];
    if (this.head < this.items.length) this.head++;
    if (this.head > 1024 && this.head * 2 > this.items.length) {
      this.items = this.items.slice(this.head);
      this.head = 0;
    }
    return item;
  }
}
