/** Runs work once for many callers. Each caller gets a result of work that started after its call. */
export class SharedWork<Result> {
  private readonly work: () => Promise<Result>;
  private running: Promise<unknown> = Promise.resolve();
  private next: Promise<Result> | null = null;

  /** `work` must not reject. Only one runs at a time. */
  constructor(work: () => Promise<Result>) {
    this.work = work;
  }

  /** Resolves with the result of work that starts after this call. Calls before the start share it. */
  run(): Promise<Result> {
    this.next ??= this.start();
    return this.next;
  }

  private async start(): Promise<Result> {
    await this.running;
    this.next = null;
    const result = this.work();
    this.running = result;
    return result;
  }
}
