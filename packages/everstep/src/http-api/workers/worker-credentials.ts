/**
 * Ends the connections of workers whose token is no longer valid: immediately when this process learns of a change, otherwise
 * within seconds. Keeps invariant 38.
 */
import type { Authority } from '../../accounts/tokens/authority.js';
import { LIMITS } from '../../config/limits.js';
import type { Region } from '../../config/regions.js';
import type { Clock } from '../../ports/clock.js';

export interface TokenHolder {
  readonly token: string;
  readonly instanceId: string;
  readonly region: Region;
  /** Ends the connection. `message` is for the worker. */
  readonly end: (message: string) => void;
}

export interface WorkerCredentialsOptions {
  readonly authority: Pick<Authority, 'recall' | 'verify' | 'onTokensChanged'>;
  readonly clock: Clock;
}

export class WorkerCredentials {
  private readonly options: WorkerCredentialsOptions;
  private readonly holdersByToken = new Map<string, Set<TokenHolder>>();
  private cancelTimer: (() => void) | null = null;

  constructor(options: WorkerCredentialsOptions) {
    this.options = options;
    options.authority.onTokensChanged((instanceId) => void this.checkInstance(instanceId));
  }

  /** Watches the token of a connection until the returned function is called. */
  watch(holder: TokenHolder): () => void {
    const { token, region } = holder;
    const otherHolders = this.holdersByToken.get(token);
    if (otherHolders) otherHolders.add(holder);
    else this.holdersByToken.set(token, new Set([holder]));
    this.checkLater();
    // The token may have changed since it was verified.
    if (!this.options.authority.recall(token, region)?.ok) void this.checkToken(token);
    return () => {
      const holders = this.holdersByToken.get(token);
      holders?.delete(holder);
      if (holders?.size === 0) this.holdersByToken.delete(token);
      if (this.holdersByToken.size > 0) return;
      this.cancelTimer?.();
      this.cancelTimer = null;
    };
  }

  /** Verifies the tokens of an instance again, or all tokens if `instanceId` is null. Never rejects. */
  private async checkInstance(instanceId: string | null): Promise<void> {
    for (const [token, holders] of [...this.holdersByToken]) {
      const [holder] = holders;
      if (holder && (instanceId === null || holder.instanceId === instanceId)) await this.checkToken(token);
    }
  }

  private async checkToken(token: string): Promise<void> {
    const { authority } = this.options;
    const [firstHolder] = this.holdersByToken.get(token) ?? [];
    if (!firstHolder) return;
    // While the store is unavailable, the token cannot be verified. The next check verifies it.
    const verdict =
      authority.recall(token, firstHolder.region) ?? (await authority.verify(token, firstHolder.region).catch(() => null));
    if (verdict === null || verdict.ok) return;
    for (const holder of [...(this.holdersByToken.get(token) ?? [])]) holder.end(verdict.message);
  }

  private checkLater(): void {
    const { clock } = this.options;
    this.cancelTimer ??= clock.setTimer(clock.now() + LIMITS.workerTokenCheckMs, () => {
      this.cancelTimer = null;
      void this.checkInstance(null).then(() => {
        if (this.holdersByToken.size > 0) this.checkLater();
      });
    });
  }
}
