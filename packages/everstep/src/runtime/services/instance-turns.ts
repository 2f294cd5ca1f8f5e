/** Runs work of one queue instance one after the other, so that no change overwrites another one of this process. */
export class InstanceTurns {
  /** The last scheduled work of each instance. */
  private readonly last = new Map<string, Promise<void>>();

  /** Runs the work after all earlier work of the instance. */
  run<Result>(instanceId: string, work: () => Promise<Result>): Promise<Result> {
    const result = (this.last.get(instanceId) ?? Promise.resolve()).then(work);
    const done: Promise<void> = result
      .then(
        () => {},
        () => {},
      )
      .then(() => {
        if (this.last.get(instanceId) === done) this.last.delete(instanceId);
      });
    this.last.set(instanceId, done);
    return result;
  }

  get idle(): boolean {
    return this.last.size === 0;
  }

  /** Resolves when the work that is scheduled now has ended. */
  async settled(): Promise<void> {
    await Promise.all(this.last.values());
  }
}
