/** Tokens of queue instances (management API). */
import { type Duration, durationMs } from '../../duration.js';
import type { InstanceToken, TokenScope } from '../generated/index.js';
import { type Call, jsonCall } from '../transport.js';

/** Settings of a new token. */
export interface NewQueueToken {
  /** Name for people, such as the name of the app that uses the token. */
  readonly name: string;
  readonly scopes: readonly TokenScope[];
  /** Lifetime, at least one minute. Default: the token does not expire. */
  readonly expiresIn?: Duration;
}

const inSeconds = (duration: Duration): number => Math.ceil(durationMs(duration) / 1_000);

/** Tokens of a queue instance. Use it through `AdminClient.tokens`. Methods reject with EverstepError. */
export class QueueTokens {
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
  }

  /** Lists the tokens, including those that expired or were revoked in the last 90 days. */
  list(queueId: string): Promise<readonly InstanceToken[]> {
    return this.call({ method: 'GET', path: at(queueId) });
  }

  /** Creates a token. `token` of the result contains the token itself; it is shown only once. */
  create(queueId: string, { name, scopes, expiresIn }: NewQueueToken): Promise<InstanceToken> {
    const end = expiresIn === undefined ? {} : { expires_in_seconds: inSeconds(expiresIn) };
    return this.call(jsonCall('POST', at(queueId), { name, scopes, ...end }));
  }

  /** Creates a successor of a token and returns it. The old token stays valid for `overlap`. Default: one day. */
  rotate(queueId: string, tokenId: string, { overlap = '1d' }: { readonly overlap?: Duration } = {}): Promise<InstanceToken> {
    return this.call(jsonCall('POST', `${at(queueId, tokenId)}/rotate`, { overlap_seconds: inSeconds(overlap) }));
  }

  /** Revokes a token. The token is invalid once the call resolves. */
  async revoke(queueId: string, tokenId: string): Promise<void> {
    await this.call({ method: 'DELETE', path: at(queueId, tokenId) });
  }
}

const at = (...ids: readonly string[]): string => ['/v2/queue/tokens', ...ids.map(encodeURIComponent)].join('/');
