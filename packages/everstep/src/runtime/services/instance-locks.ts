/** Runs work of one queue instance one after the other, so that no change overwrites another one of this process. */
export class InstanceLocks {
  /** The last scheduled work of each instance. */
  private readonly lastWork = new Map<string, Promise<void>>();

  /** Runs the work after all earlier work of the instance. */
  run<Result>(instanceId: string, work: () => Promise<Result>): Promise<Result> {
    const result = (this.lastWork.get(instanceId) ?? Promise.resolve()).then(work);
    const settled: Promise<void> = result
      .then(
        () => {},
        () => {},
      )
      .then(() => {
        if (this.lastWork.get(instanceId) === settled) this.lastWork.delete(instanceId);
      });
    this.lastWork.set(instanceId, settled);
    return result;
  }

  get isIdle(): boolean {
    return this.lastWork.size === 0;
  }

  /** Resolves when the work that is scheduled now has ended. */
  async settled(): Promise<void> {
    await Promise.all(this.lastWork.values());
  }
}
