/** The thread that stores the documents, so that a long search or removal never blocks the server. */
import { parentPort, workerData } from 'node:worker_threads';
import { DocumentHost } from './document-host.js';
import type { DocumentReply, DocumentRequest, DocumentThreadOptions } from './document-requests.js';

const { directory }: DocumentThreadOptions = workerData;
const port = parentPort;
if (!port) throw new Error('this file must be started as a worker thread');
const reply = (message: DocumentReply): void => port.postMessage(message);

const host = new DocumentHost({ directory, onFailure: ({ message }) => reply({ kind: 'background-failure', message }) });

function perform(request: DocumentRequest): Promise<unknown> {
  switch (request.method) {
    case 'upsert':
      return host.upsert(request.query);
    case 'fetch':
      return host.fetch(request.query);
    case 'range':
      return host.range(request.query);
    case 'search':
      return host.search(request.query);
    case 'remove':
      return host.remove(request.query);
    case 'reset':
      return host.reset(request.query);
    case 'removeNamespace':
      return host.removeNamespace(request.query);
    case 'storedBytes':
      return host.storedBytes(request.query);
    case 'info':
      return host.info(request.query);
    case 'drop':
      return host.drop(request.query);
    case 'resume':
      return host.resume(request.query);
    case 'copyTo':
      return host.copyTo(request.query);
    case 'endCopy':
      return host.endCopy(request.query);
    case 'close':
      return host.close();
  }
}

port.on('message', (request: DocumentRequest) => {
  const { number } = request;
  perform(request).then(
    (result) => reply({ kind: 'result', number, result }),
    (error) => reply({ kind: 'failed', number, message: error instanceof Error ? error.message : String(error) }),
  );
});
