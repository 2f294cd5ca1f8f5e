/**
 * Counts the connections whose worker is not accepted yet, by network and in total. Such a connection needs no token, so anyone
 * who can reach the port can open one. Keeps invariant 35.
 */
import { LIMITS } from '../../config/limits.js';

export class UnacceptedWorkers {
  private total = 0;
  private readonly countByNetwork = new Map<string, number>();

  /** Returns why another connection is rejected, or null. `network` is null if only the total limit applies. */
  refusalOf(network: string | null): string | null {
    if (this.total >= LIMITS.maxUnacceptedWorkers) return 'too many workers are connecting; retry later';
    const networkCount = network === null ? 0 : (this.countByNetwork.get(network) ?? 0);
    return networkCount < LIMITS.maxUnacceptedWorkersPerNetwork
      ? null
      : 'too many workers are connecting from this address; retry later, or add the address to EVERSTEP_TRUSTED_PROXIES if it is a proxy';
  }

  /** Counts a connection until the returned function is called. */
  add(network: string | null): () => void {
    this.count(network, 1);
    let isCounted = true;
    return () => {
      if (isCounted) this.count(network, -1);
      isCounted = false;
    };
  }

  private count(network: string | null, change: 1 | -1): void {
    this.total += change;
    if (network === null) return;
    const count = (this.countByNetwork.get(network) ?? 0) + change;
    if (count > 0) this.countByNetwork.set(network, count);
    else this.countByNetwork.delete(network);
  }
}
