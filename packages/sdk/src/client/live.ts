/** Client for the live stream of changes, and for the list of the nodes of the installation. */
import type { LiveChange, ServiceNode } from './generated/index.js';
import { callApi, openStream, type TransportOptions } from './transport.js';

/** Parses the data of `change` events from the text of a stream. */
async function* changesIn(chunks: AsyncIterable<string>): AsyncGenerator<LiveChange, void, undefined> {
  let text = '';
  for await (const chunk of chunks) {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      const data = lines.find((line) => line.startsWith('data: '));
      if (lines.includes('event: change') && data !== undefined) yield JSON.parse(data.slice('data: '.length)) as LiveChange;
    }
  }
}

/** Reads changes as they happen. Use it through `Client.live`. */
export class Live {
  private readonly transport: TransportOptions;

  constructor(transport: TransportOptions) {
    this.transport = transport;
  }

  /**
   * Yields changes of the queue instance as they happen, at most four per second. Ends when the server ends the stream, for
   * example because the server stops. In that case, call this method again and reload everything once, because changes in
   * between are not reported. Ends without an error when `signal` aborts.
   *
   * @throws {EverstepError} If the request is rejected or the connection breaks.
   */
  async *changes(options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<LiveChange, void, undefined> {
    const { signal } = options;
    const connection = new AbortController();
    const stop = () => connection.abort();
    signal?.addEventListener('abort', stop);
    if (signal?.aborted) stop();
    try {
      yield* changesIn(await openStream(this.transport, { method: 'GET', path: '/v2/live', signal: connection.signal }));
    } catch (error) {
      if (!signal?.aborted) throw error;
    } finally {
      signal?.removeEventListener('abort', stop);
      // Closes the connection when the caller exits the loop.
      stop();
    }
  }

  /** Lists the nodes of the installation. A server that is a single process has one node. */
  async nodes(): Promise<readonly ServiceNode[]> {
    const { nodes } = (await callApi(this.transport, { method: 'GET', path: '/v2/nodes' })) as {
      readonly nodes: readonly ServiceNode[];
    };
    return nodes;
  }
}
