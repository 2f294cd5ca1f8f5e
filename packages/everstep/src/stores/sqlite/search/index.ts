/** The documents of search indexes, in separate files, stored by a separate thread that starts with the first call. */
import { Worker } from 'node:worker_threads';
import { DocumentHost, type DocumentHostOptions } from './document-host.js';
import type {
  DocumentReply,
  DocumentRequest,
  DocumentThreadOptions,
  EmbeddedDocuments,
  MethodName,
  QueryOf,
  ResultOf,
} from './document-requests.js';

export type { EmbeddedDocuments } from './document-requests.js';

interface Waiter {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

class DocumentThread {
  private readonly directory: string;
  private readonly onFailure: (error: Error) => void;
  private readonly waiters = new Map<number, Waiter>();
  private worker: Worker | null = null;
  private latestNumber = 0;
  private isClosed = false;

  constructor(directory: string, onFailure: (error: Error) => void) {
    this.directory = directory;
    this.onFailure = onFailure;
  }

  /** Calls a method of the thread and returns its reply. */
  async call<Name extends MethodName>(method: Name, query: QueryOf<Name>): Promise<ResultOf<Name>> {
    if (this.isClosed) throw new Error('the document store is closed');
    return (await this.send({ method, query } as RequestWithoutNumber)) as ResultOf<Name>;
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    if (!this.worker) return;
    await this.send({ method: 'close' });
    await this.worker?.terminate();
  }

  private send(request: RequestWithoutNumber): Promise<unknown> {
    const number = ++this.latestNumber;
    return new Promise((resolve, reject) => {
      this.waiters.set(number, { resolve, reject });
      this.worker ??= this.start();
      // The process stays alive as long as a caller waits for a reply, and no longer.
      this.worker.ref();
      this.worker.postMessage({ ...request, number });
    });
  }

  private start(): Worker {
    const workerData: DocumentThreadOptions = { directory: this.directory };
    const worker = new Worker(new URL('./document-thread.js', import.meta.url), { workerData });
    worker.on('message', (reply: DocumentReply) => this.handleReply(reply));
    worker.on('error', (error) => this.handleLoss(error instanceof Error ? error : new Error(String(error))));
    return worker;
  }

  private handleReply(reply: DocumentReply): void {
    if (reply.kind === 'background-failure') {
      this.onFailure(new Error(reply.message));
      return;
    }
    const waiter = this.waiters.get(reply.number);
    this.waiters.delete(reply.number);
    if (this.waiters.size === 0) this.worker?.unref();
    if (reply.kind === 'result') waiter?.resolve(reply.result);
    else waiter?.reject(new Error(reply.message));
  }

  /** Handles the loss of the thread. The next call starts another one; the files contain everything that was acknowledged. */
  private handleLoss(error: Error): void {
    this.worker = null;
    this.onFailure(error);
    for (const waiter of this.waiters.values()) waiter.reject(error);
    this.waiters.clear();
  }
}

type RequestWithoutNumber = DocumentRequest extends infer Request
  ? Request extends DocumentRequest
    ? Omit<Request, 'number'>
    : never
  : never;

/** Opens the documents. Without a directory, they are kept in memory. */
export function openSearchDocuments({ directory, onFailure = () => {} }: DocumentHostOptions): EmbeddedDocuments {
  if (directory === null) return new DocumentHost({ directory, onFailure });
  const thread = new DocumentThread(directory, onFailure);
  return {
    upsert: (query) => thread.call('upsert', query),
    fetch: (query) => thread.call('fetch', query),
    range: (query) => thread.call('range', query),
    search: (query) => thread.call('search', query),
    remove: (query) => thread.call('remove', query),
    reset: (query) => thread.call('reset', query),
    removeNamespace: (query) => thread.call('removeNamespace', query),
    storedBytes: (query) => thread.call('storedBytes', query),
    info: (query) => thread.call('info', query),
    drop: (query) => thread.call('drop', query),
    resume: (query) => thread.call('resume', query),
    copyTo: (query) => thread.call('copyTo', query),
    endCopy: (query) => thread.call('endCopy', query),
    close: () => thread.close(),
  };
}
