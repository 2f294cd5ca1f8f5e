/**
 * The calls in progress on a cluster of servers. The coordinator cannot cancel a statement on a server that does not respond, so
 * the call would wait until that server responds again. Such calls are ended here instead, by closing their connections.
 */
import { ServerUnavailableError } from '../../../ports/stores/store-unavailable.js';

/** The part of a database client that is needed to end its call. */
interface CallClient {
  readonly connection: { readonly stream: { destroy(): unknown } };
}

interface Call {
  readonly client: CallClient;
  /** Returns the instances that the statements of the call name; none if they are for all servers. */
  readonly instances: () => readonly string[];
  readonly startedAt: number;
  /** The server because of which the call was ended; null if the call was not ended. */
  endedBy: string | null;
}

/** Thrown by a call that was ended because a server did not respond. */
export class CallEndedError extends Error {
  override readonly name = 'CallEndedError';
  readonly failure: ServerUnavailableError;
  constructor(server: string, cause: unknown) {
    const failure = new ServerUnavailableError(server, 'it did not respond', { cause });
    super(failure.message, { cause });
    this.failure = failure;
  }
}

/** Returns the id of the server process of the connection, which the types of the library do not declare. */
const processIdOf = (client: CallClient): number | null =>
  'processID' in client && typeof client.processID === 'number' ? client.processID : null;

export class CallsInProgress {
  private readonly calls = new Set<Call>();

  /** Runs `work` on the client. Rejects with CallEndedError if the call was ended. */
  async track<Client extends CallClient, Result>(
    client: Client,
    instances: () => readonly string[],
    work: (client: Client) => Promise<Result>,
  ): Promise<Result> {
    const call: Call = { client, instances, startedAt: performance.now(), endedBy: null };
    this.calls.add(call);
    try {
      return await work(client);
    } catch (error) {
      throw call.endedBy === null ? error : new CallEndedError(call.endedBy, error);
    } finally {
      this.calls.delete(call);
    }
  }

  /**
   * Ends the calls that `isWaiting` selects by the instances that they name and by their start (`performance.now`). Returns the ids
   * of their server processes, which still hold their locks.
   */
  end(server: string, isWaiting: (instances: readonly string[], startedAt: number) => boolean): readonly number[] {
    const endedCalls = [...this.calls].filter(({ instances, startedAt }) => isWaiting(instances(), startedAt));
    for (const call of endedCalls) {
      call.endedBy = server;
      call.client.connection.stream.destroy();
    }
    return endedCalls.flatMap(({ client }) => processIdOf(client) ?? []);
  }
}
