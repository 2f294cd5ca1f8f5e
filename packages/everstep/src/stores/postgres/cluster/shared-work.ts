/** Runs work once for many callers. Each caller gets a result of work that started after its call. */
export class SharedWork<Result> {
  private readonly work: () => Promise<Result>;
  private runningWork: Promise<unknown> = Promise.resolve();
  private nextResult: Promise<Result> | null = null;

  /** `work` must not reject. Only one runs at a time. */
  constructor(work: () => Promise<Result>) {
    this.work = work;
  }

  /** Resolves with the result of work that starts after this call. All calls before that start share the result. */
  run(): Promise<Result> {
    this.nextResult ??= this.start();
    return this.nextResult;
  }

  private async start(): Promise<Result> {
    await this.runningWork;
    this.nextResult = null;
    const result = this.work();
    this.runningWork = result;
    return result;
  }
}
