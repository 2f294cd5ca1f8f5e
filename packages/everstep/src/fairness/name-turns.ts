/** Names that take turns. */
export class NameTurns {
  /** Numbers of turns by name. A lower number was served longer ago. */
  private readonly active = new Map<string, number>();
  private readonly parked = new Map<string, number>();
  private turnCount = 0;

  get size(): number {
    return this.active.size;
  }
  /** Returns the names in turn, except the parked ones. A name that is moved behind the others during the iteration comes up again. */
  names(): Iterable<string> {
    return this.active.keys();
  }

  /** Adds a name behind the others. Has no effect if it is present. */
  add(name: string): void {
    if (!this.active.has(name) && !this.parked.has(name)) this.active.set(name, ++this.turnCount);
  }

  delete(name: string): void {
    if (!this.active.delete(name)) this.parked.delete(name);
  }

  /** Moves a name that was served behind the others. */
  moveBehind(name: string): void {
    if (this.active.delete(name)) this.active.set(name, ++this.turnCount);
  }

  /** Passes over a name until it is woken. */
  park(name: string): void {
    const turn = this.active.get(name);
    if (turn === undefined) return;
    this.active.delete(name);
    this.parked.set(name, turn);
  }

  /** Adds those of the names that are parked behind the others, and returns them. Among themselves, they keep their order. */
  wake(names: ReadonlySet<string>): readonly string[] {
    const { parked } = this;
    const candidates: Iterable<string> = parked.size < names.size ? parked.keys() : names;
    const woken: { readonly name: string; readonly turn: number }[] = [];
    for (const name of candidates) {
      const turn = parked.get(name);
      if (turn !== undefined && names.has(name)) woken.push({ name, turn });
    }
    woken.sort((a, b) => a.turn - b.turn);
    for (const { name, turn } of woken) {
      this.active.set(name, turn);
      parked.delete(name);
    }
    return woken.map(({ name }) => name);
  }
}
