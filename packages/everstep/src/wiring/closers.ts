/** Functions that close the parts of the server when it stops, or when its start fails. */
export class Closers {
  private readonly closers: (() => Promise<void>)[] = [];

  /** Adds a function. It is called before those that were added earlier. */
  add(close: () => Promise<void>): void {
    this.closers.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.closers.splice(0).reverse()) await close();
  }
}
