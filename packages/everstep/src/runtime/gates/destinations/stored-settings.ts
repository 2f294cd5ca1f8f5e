/**
 * The stored settings and holds of one instance. This node keeps a copy of them, and other nodes change them, too.
 *
 * A read can be older than a change that this node makes while the read is in progress. A part that this node has changed since the
 * read started, or is still storing, therefore keeps its state in memory. It is read again when it is stored, because another node
 * may have changed it at the same time.
 */
import { DEFAULT_INSTANCE_SETTINGS, type DestinationHold, type InstanceSettings } from '../../../engine/runs/run.js';
import type { GateDeps } from '../gate-deps.js';
import { RepeatedReads } from '../repeated-reads.js';

/** The part that contains the settings. The other parts are the holds of destinations, named by their origins. */
export const SETTINGS = 'settings';

export interface StoredState {
  readonly settings: InstanceSettings;
  readonly holds: readonly DestinationHold[];
  /** Returns whether the part must keep its state in memory. */
  readonly keeps: (part: string) => boolean;
}

export class StoredSettings {
  private readonly instanceId: string;
  private readonly deps: Pick<GateDeps, 'store' | 'control' | 'log'>;
  private readonly apply: (state: StoredState) => void;
  /** Number of changes in progress, by part. */
  private readonly changes = new Map<string, number>();
  /** Parts that this node has changed since the last read started. */
  private changedParts = new Set<string>();
  /** Whether a read has kept parts in memory, or the breaker has made a write that may have had no effect. */
  private mustReadAgain = false;
  private currentRead: Promise<void> | null = null;
  /** The read that follows the current one. */
  private nextRead: Promise<void> | null = null;
  private hasStopped = false;
  private readonly isNeeded = () => !this.hasStopped;
  private readonly reads: RepeatedReads;

  constructor(instanceId: string, deps: Pick<GateDeps, 'store' | 'control' | 'log'>, apply: (state: StoredState) => void) {
    this.instanceId = instanceId;
    this.deps = deps;
    this.apply = apply;
    this.reads = new RepeatedReads(instanceId, deps, this.isNeeded);
  }

  get isStopped(): boolean {
    return this.hasStopped;
  }

  get isReading(): boolean {
    return this.currentRead !== null || this.nextRead !== null;
  }

  /** Ends the repetition of reads and writes, because other nodes have taken over. */
  stop(): void {
    this.hasStopped = true;
  }

  /** Reads and applies the state, or waits for the read in progress. */
  read(): Promise<void> {
    return this.currentRead ?? this.readLatest();
  }

  /** Reads and applies the state as it is from now on, and repeats this until it succeeds. Never rejects. */
  reload(): Promise<void> {
    return this.reads.repeat('reload', { settings: true }, () => this.readLatest());
  }

  /** Runs work that changes a part in memory and in the store. Until it ends, reads do not change the part in memory. */
  async change(part: string, work: () => Promise<void>): Promise<void> {
    this.changedParts.add(part);
    this.changes.set(part, (this.changes.get(part) ?? 0) + 1);
    try {
      await work();
    } finally {
      const remaining = (this.changes.get(part) ?? 1) - 1;
      if (remaining > 0) this.changes.set(part, remaining);
      else this.changes.delete(part);
      this.readAgainIfNeeded();
    }
  }

  /** Stores a hold that a person has set, or ends the hold if it is null. Part of a change. */
  writeHold(origin: string, hold: DestinationHold | null): Promise<void> {
    return this.write(origin, hold, 'hand');
  }

  /**
   * Stores the hold of a breaker that has opened or closed, with retries until it is stored. `currentHold` returns the hold in
   * memory. If another node has stored a hold by hand, that hold remains, and this node reads it afterward.
   */
  breakerChanged(origin: string, currentHold: () => DestinationHold | null): void {
    const { control, log } = this.deps;
    this.mustReadAgain = true;
    const store = async (): Promise<void> => {
      const hold = currentHold();
      // The request that has set a hold by hand stores it.
      if (hold?.by !== 'hand') await this.write(origin, hold, 'breaker');
    };
    void this.change(origin, () =>
      control.repeat(this.isNeeded, store, (error) => {
        const fields = { instanceId: this.instanceId, error: String(error), origin };
        log.warn(fields, 'could not store a destination hold, retrying in 1 s');
      }),
    );
  }

  private write(origin: string, hold: DestinationHold | null, by: DestinationHold['by']): Promise<void> {
    return this.deps.control.write({ kind: 'set-hold', instanceId: this.instanceId, origin, hold, by });
  }

  private readLatest(): Promise<void> {
    if (this.nextRead) return this.nextRead;
    if (!this.currentRead) return this.start();
    // The read in progress may be older than the change of which this node was notified.
    const currentEnd = this.currentRead.catch(() => {});
    this.nextRead = currentEnd.then(() => this.start());
    return this.nextRead;
  }

  private start(): Promise<void> {
    this.nextRead = null;
    this.currentRead = this.readOnce().finally(() => {
      this.currentRead = null;
    });
    return this.currentRead;
  }

  private async readOnce(): Promise<void> {
    const { store } = this.deps;
    const query = { instanceId: this.instanceId };
    const changedParts = new Set(this.changes.keys());
    this.changedParts = changedParts;
    const [settings, holds] = await Promise.all([store.instanceSettings(query), store.listHolds(query)]);
    this.mustReadAgain ||= changedParts.size > 0;
    this.apply({ settings: settings ?? DEFAULT_INSTANCE_SETTINGS, holds, keeps: (part) => changedParts.has(part) });
    this.readAgainIfNeeded();
  }

  private readAgainIfNeeded(): void {
    if (!this.mustReadAgain || this.changes.size > 0) return;
    this.mustReadAgain = false;
    void this.reload();
  }
}
