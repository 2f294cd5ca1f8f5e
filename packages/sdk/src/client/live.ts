/** What goes on right now: hints of changes as they happen, and the nodes of the service. */
import { callApi, openStream, type TransportOptions } from './transport.js';

export type LiveTopic = 'runs' | 'dlq' | 'repairs' | 'flow-control' | 'schedules' | 'queues' | 'settings';

/** Says where to ask again, and nothing of what there is. */
export interface LiveChange {
  readonly topics: readonly LiveTopic[];
  /** Runs that have changed; not all of them where there are many. */
  readonly runIds: readonly string[];
}

export interface ServiceNode {
  readonly nodeId: string;
  readonly host: string;
  /** Of the service. */
  readonly version: string;
  /** Since when it is one of the nodes, Unix ms. */
  readonly startedAt: number;
  /** Until when nobody takes over what it has, Unix ms; null: it is alone on its store. */
  readonly leaseUntil: number | null;
  /** It is stopping, and takes nothing any more. */
  readonly leaving: boolean;
  /** It answered this call. */
  readonly self: boolean;
  /** Deliveries of runs that it has taken on and not ended. */
  readonly runsClaimed: number;
  /** Queue instances of which it keeps the limits. */
  readonly gates: number;
}

/** Data of the events named `change`, out of the text of a stream. */
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

export class Live {
  private readonly transport: TransportOptions;

  constructor(transport: TransportOptions) {
    this.transport = transport;
  }

  /**
   * Changes of the queue instance as they happen, at most four a second. Ends when the service ends the stream, which it does
   * when it stops: begin again, and ask for everything once, as nobody tells what happened meanwhile. Throws EverstepError
   * when it is refused or cut off; ends without one when `signal` aborts.
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
      // Whoever breaks out of the loop closes the connection.
      stop();
    }
  }

  /** The processes of the service; one where it is alone on its store. */
  async nodes(): Promise<readonly ServiceNode[]> {
    const { nodes } = (await callApi(this.transport, { method: 'GET', path: '/v2/nodes' })) as {
      readonly nodes: readonly ServiceNode[];
    };
    return nodes;
  }
}
