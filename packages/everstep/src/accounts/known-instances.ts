/**
 * Queue instances as the store had them lately, so that a question that every
 * request asks costs no look-up. What is older than that is read again when it
 * is asked for; whoever changes an instance lets it be forgotten, and what was
 * being read meanwhile is forgotten with it.
 */
import type { AccountStore, QueueInstance } from '../ports/account-store.js';

/** The longest that a change made elsewhere goes unnoticed. */
export const FRESH_MS = 500;

interface Known {
  readonly instance: QueueInstance | null;
  readonly readAt: number;
}

export interface KnownInstancesOptions {
  readonly accounts: Pick<AccountStore, 'findInstance'>;
  /** Ms that only ever grow, also while the clock of the service stands. */
  readonly elapsedMs: () => number;
}

export class KnownInstances {
  private readonly options: KnownInstancesOptions;
  private readonly known = new Map<string, Known>();
  private readonly reading = new Map<string, Promise<QueueInstance | null>>();

  constructor(options: KnownInstancesOptions) {
    this.options = options;
  }

  /** As the store has just told of them. */
  learn(instances: readonly QueueInstance[]): void {
    const readAt = this.options.elapsedMs();
    for (const instance of instances) this.known.set(instance.instanceId, { instance, readAt });
  }

  /** As it was known last, null when it is not; read again in the background when that is a while ago. */
  recall(instanceId: string): QueueInstance | null {
    const known = this.known.get(instanceId);
    // What fails here fails again, and is told, where somebody waits for it.
    if (!known || this.isOld(known)) this.read(instanceId).catch(() => {});
    return known?.instance ?? null;
  }

  /** Null when there is none. Rejects when it has to be read and the store fails. */
  async find(instanceId: string): Promise<QueueInstance | null> {
    const known = this.known.get(instanceId);
    return known && !this.isOld(known) ? known.instance : this.read(instanceId);
  }

  /**
   * What is known counts no more for whoever waits; whoever does not is told of it until the instance has been read again,
   * and never that there is no limit. Resolves when that is done, or could not be: then it is read when it is asked for.
   */
  async forget(instanceId: string): Promise<void> {
    const known = this.known.get(instanceId);
    if (known) this.known.set(instanceId, { ...known, readAt: Number.NEGATIVE_INFINITY });
    this.reading.delete(instanceId);
    await this.read(instanceId).catch(() => {});
  }

  private isOld({ readAt }: Known): boolean {
    return this.options.elapsedMs() - readAt >= FRESH_MS;
  }

  private read(instanceId: string): Promise<QueueInstance | null> {
    const underWay = this.reading.get(instanceId);
    if (underWay) return underWay;
    const readAt = this.options.elapsedMs();
    const reading = this.options.accounts.findInstance({ instanceId }).then(
      (instance) => {
        if (this.reading.get(instanceId) === reading) {
          this.reading.delete(instanceId);
          this.known.set(instanceId, { instance, readAt });
        }
        return instance;
      },
      (error: unknown) => {
        if (this.reading.get(instanceId) === reading) this.reading.delete(instanceId);
        throw error;
      },
    );
    this.reading.set(instanceId, reading);
    return reading;
  }
}
