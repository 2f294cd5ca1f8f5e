/** Changes as they happen, and the nodes of the service. */
import { callApi, openStream, type TransportOptions } from './transport.js';

/** Resources that a change can affect. */
export type LiveTopic = 'runs' | 'dlq' | 'repairs' | 'flow-control' | 'schedules' | 'queues' | 'settings';

/** A hint about what changed. It contains no data; fetch the affected resources again. */
export interface LiveChange {
  readonly topics: readonly LiveTopic[];
  /** Runs that have changed. If there are many, the list is incomplete. */
  readonly runIds: readonly string[];
}

/** A node: one process of the service. */
export interface ServiceNode {
  readonly nodeId: string;
  readonly host: string;
  /** Version of the service. */
  readonly version: string;
  /** Time at which the node joined, Unix milliseconds. */
  readonly startedAt: number;
  /** Time until which no other node takes over its work, Unix milliseconds; null: the node is alone on its store. */
  readonly leaseUntil: number | null;
  /** The node is stopping and accepts no more work. */
  readonly leaving: boolean;
  /** True for the node that answered this call. */
  readonly self: boolean;
  /** Number of claimed deliveries that have not ended. */
  readonly runsClaimed: number;
  /** Number of queue instances whose limits this node enforces. */
  readonly gates: number;
}

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

/** Changes as they happen. Use it through `Client.live`. */
export class Live {
  private readonly transport: TransportOptions;

  constructor(transport: TransportOptions) {
    this.transport = transport;
  }

  /**
   * Yields changes of the queue instance as they happen, at most four per second. Ends when the service ends the
   * stream, which it does when it stops. In that case, call it again and reload everything once, because changes in
   * between are not reported. Ends without an error when `signal` aborts.
   *
   * @throws {EverstepError} If the request is rejected or the connection breaks.
   */
  async *changes(options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<LiveChange, void, undefined> {
    const { signal } = options;
    const gone = new AbortController();
    const stop = () => gone.abort();
    signal?.addEventListener('abort', stop);
    if (signal?.aborted) stop();
    try {
      yield* changesIn(await openStream(this.transport, { method: 'GET', path: '/v2/live', signal: gone.signal }));
    } catch (error) {
      if (!signal?.aborted) throw error;
    } finally {
      signal?.removeEventListener('abort', stop);
      // Closes the connection when the caller exits the loop.
      stop();
    }
  }

  /** Lists the processes of the service. There is one if it is alone on its store. */
  async nodes(): Promise<readonly ServiceNode[]> {
    const { nodes } = (await callApi(this.transport, { method: 'GET', path: '/v2/nodes' })) as {
      readonly nodes: readonly ServiceNode[];
    };
    return nodes;
  }
}
