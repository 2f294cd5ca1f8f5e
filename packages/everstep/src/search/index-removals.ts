/** Removes the documents of deleted search indexes in the background, one index at a time. */
import type { SearchServiceOptions } from './search-service.js';

type IndexRemovalsOptions = Pick<SearchServiceOptions, 'indexes' | 'documents' | 'log'>;

export class IndexRemovals {
  private readonly options: IndexRemovalsOptions;
  private latestWork: Promise<void> = Promise.resolve();
  private isStopped = false;

  constructor(options: IndexRemovalsOptions) {
    this.options = options;
  }

  resume(): void {
    const { indexes, documents } = this.options;
    this.run(async () => {
      for (const indexId of await indexes.listDeletedIds()) await this.drop(indexId);
      for (const indexId of await indexes.listIds()) if (!this.isStopped) await documents.resume({ indexId });
    });
  }

  start(indexId: string): void {
    this.run(() => this.drop(indexId), { indexId });
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.latestWork;
  }

  private async drop(indexId: string): Promise<void> {
    if (this.isStopped) return;
    const { indexes, documents } = this.options;
    await documents.drop({ indexId });
    await indexes.forget({ indexId });
  }

  private run(work: () => Promise<void>, logFields: { readonly indexId?: string } = {}): void {
    const { log } = this.options;
    this.latestWork = this.latestWork.then(work).catch((error) => {
      const fields = { ...logFields, error: String(error) };
      log.error(fields, 'could not remove the data of a deleted search index, retrying at the next start');
    });
  }
}
