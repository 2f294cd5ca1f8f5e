/** Client for the tokens of queue instances (management API). */
import { type Duration, durationMs } from '../../duration.js';
import type { InstanceToken, TokenScope } from '../generated/index.js';
import { type Call, jsonCall } from '../transport.js';

/** Settings of a new token. */
export interface NewInstanceToken {
  /** Display name, such as the name of the app that uses the token. */
  readonly name: string;
  /** What the token permits: one or more scopes. */
  readonly scopes: readonly TokenScope[];
  /** Lifetime, at least one minute. Default: the token does not expire. */
  readonly expiresIn?: Duration;
}

const inSeconds = (duration: Duration): number => Math.ceil(durationMs(duration) / 1_000);

/** Operations on the tokens of a queue instance. Use it through `AdminClient.tokens`. Methods reject with EverstepError. */
export class InstanceTokens {
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
  }

  /** Lists the tokens, including those that expired or were revoked in the last 90 days. */
  list(instanceId: string): Promise<readonly InstanceToken[]> {
    return this.call({ method: 'GET', path: pathOf(instanceId) });
  }

  /** Creates a token. `token` of the result contains the token itself; it is shown only once. */
  create(instanceId: string, { name, scopes, expiresIn }: NewInstanceToken): Promise<InstanceToken> {
    const expiry = expiresIn === undefined ? {} : { expires_in_seconds: inSeconds(expiresIn) };
    return this.call(jsonCall('POST', pathOf(instanceId), { name, scopes, ...expiry }));
  }

  /** Creates a successor of a token and returns it. The old token stays valid for `overlap`. Default: one day. */
  rotate(instanceId: string, tokenId: string, { overlap = '1d' }: { readonly overlap?: Duration } = {}): Promise<InstanceToken> {
    return this.call(jsonCall('POST', `${pathOf(instanceId, tokenId)}/rotate`, { overlap_seconds: inSeconds(overlap) }));
  }

  /** Revokes a token. The token is invalid once the call resolves. */
  async revoke(instanceId: string, tokenId: string): Promise<void> {
    await this.call({ method: 'DELETE', path: pathOf(instanceId, tokenId) });
  }
}

const pathOf = (...ids: readonly string[]): string => ['/v2/queue/tokens', ...ids.map(encodeURIComponent)].join('/');
