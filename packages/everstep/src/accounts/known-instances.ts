/**
 * Queue instances as the store had them lately, so that a question that every
 * request asks costs no look-up. What is older than that is read again when it
 * is asked for; whoever changes an instance lets it be forgotten, and what was
 * being read meanwhile is forgotten with it.
 */
import type { AccountStore, QueueInstance } from '../ports/account-store.js';
import type { InstanceOwners } from '../ports/instance-owners.js';

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
  /** Told when an instance is read that is not as it was known: somebody else changed it. */
  readonly changedElsewhere?: (instanceId: string) => void;
}

const isSame = (a: QueueInstance, b: QueueInstance): boolean =>
  a.plan === b.plan &&
  a.budgetDollars === b.budgetDollars &&
  a.accountId === b.accountId &&
  a.budgetAlertUrl === b.budgetAlertUrl;

export class KnownInstances implements InstanceOwners {
  private readonly options: KnownInstancesOptions;
  private readonly known = new Map<string, Known>();
  /** How many known instances each account owns. */
  private readonly owned = new Map<string, number>();
  private readonly reading = new Map<string, Promise<QueueInstance | null>>();

  constructor(options: KnownInstancesOptions) {
    this.options = options;
  }

  /** As the store has just told of them. */
  learn(instances: readonly QueueInstance[]): void {
    const readAt = this.options.elapsedMs();
    for (const instance of instances) this.note(instance.instanceId, { instance, readAt });
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
    if (known) this.note(instanceId, { ...known, readAt: Number.NEGATIVE_INFINITY });
    this.reading.delete(instanceId);
    await this.read(instanceId).catch(() => {});
  }

  /** Ids of all that are known. */
  ids(): readonly string[] {
    return [...this.known.keys()];
  }

  accountOf(instanceId: string): string {
    return this.known.get(instanceId)?.instance?.accountId ?? instanceId;
  }

  get isShared(): boolean {
    return this.owned.size > 1;
  }

  hasSeveralInstances(accountId: string): boolean {
    return (this.owned.get(accountId) ?? 0) > 1;
  }

  private note(instanceId: string, known: Known): void {
    const before = this.known.get(instanceId)?.instance?.accountId;
    const after = known.instance?.accountId;
    this.known.set(instanceId, known);
    if (before === after) return;
    this.count(before, -1);
    this.count(after, 1);
  }

  private count(accountId: string | undefined, change: number): void {
    if (accountId === undefined) return;
    const owned = (this.owned.get(accountId) ?? 0) + change;
    if (owned > 0) this.owned.set(accountId, owned);
    else this.owned.delete(accountId);
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
          const before = this.known.get(instanceId)?.instance;
          this.note(instanceId, { instance, readAt });
          if (before && instance && !isSame(before, instance)) this.options.changedElsewhere?.(instanceId);
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
