/**
 * Active runs in memory, as of the last decision taken on them. Decisions are
 * taken on these states one after the other without waiting for the disk; a
 * batch that cannot be written drops the states that it would have made.
 */
import type { Run, RunPayload } from '../engine/run.js';
import type { Store } from '../ports/store.js';
import { EMPTY_JOURNAL, type HeldJournal, type JournalMark } from './holds.js';

export interface CachedRun {
  /** As of the last decision; the next one is taken on this. */
  run: Run;
  /** As of the last decision that is durable; only this is ever shown to an endpoint. */
  durable: Run;
  /** Headers that go along with every delivery of the run. */
  readonly forwardHeaders: RunPayload['forwardHeaders'];
  /** What it was triggered with, until it has been sent once. */
  payload: RunPayload | null;
  /** The worker that holds the run, and the recorded entries that it is known to hold. */
  hold: HeldJournal | null;
  /** The longest prefix of the recorded journal whose digest was computed. */
  digested: JournalMark;
  /** How often a worker was sent a part of the journal and did not hold the rest. */
  misses: number;
  /** Decisions that are not durable yet. */
  uncommitted: number;
  /** Deliveries under way. */
  deliveries: number;
  /** When requests that are out left, Unix ms, by their slots. */
  readonly outSince: Map<number, number>;
  /** Gives up every delivery of the run; made for the first of them. */
  control: AbortController | null;
  /** How often deliveries of the run were given up though it goes on. */
  givenUp: number;
}

/** What a new run was triggered with; of a run that was made from another one perhaps without the body. */
export type BegunPayload = Omit<RunPayload, 'body'> & Partial<Pick<RunPayload, 'body'>>;

/** A longer body is not kept in memory. */
export const KEPT_PAYLOAD_BYTES = 64 * 1024;

export class RunCache {
  private readonly store: Store;
  private readonly capacity: number;
  private readonly entries = new Map<string, CachedRun>();
  /** Reads that are under way. One that is not here any more was begun too early: what it reads may be old. */
  private readonly loading = new Map<string, { readonly entry: Promise<CachedRun | null> }>();

  constructor(store: Store, capacity: number) {
    this.store = store;
    this.capacity = capacity;
  }

  get size(): number {
    return this.entries.size;
  }

  peek(runKey: string): CachedRun | undefined {
    return this.entries.get(runKey);
  }

  /** Without a body the payload is read when it is sent. */
  add(run: Run, { forwardHeaders, contentType, body }: BegunPayload): CachedRun {
    const entry: CachedRun = {
      run,
      durable: run,
      forwardHeaders,
      payload: body ? { forwardHeaders, contentType, body } : null,
      hold: null,
      digested: EMPTY_JOURNAL,
      misses: 0,
      uncommitted: 0,
      deliveries: 0,
      outSince: new Map(),
      control: null,
      givenUp: 0,
    };
    this.entries.set(run.key, entry);
    this.shrink();
    return entry;
  }

  giveUpDeliveries(): void {
    for (const entry of this.entries.values()) if (entry.deliveries > 0) this.giveUp(entry);
  }

  /** Gives up the deliveries of one run, which goes on. */
  giveUp(entry: CachedRun): void {
    entry.control?.abort();
    // Those to come are others.
    entry.control = null;
    entry.givenUp++;
  }

  /** Lets everything go, and gives up what is out for it. */
  clear(): void {
    this.giveUpDeliveries();
    this.entries.clear();
  }

  drop(runKey: string): void {
    this.entries.delete(runKey);
  }

  /** The run, from memory or from the store; null when it does not exist or has ended. */
  load(runKey: string): Promise<CachedRun | null> | CachedRun {
    const entry = this.entries.get(runKey);
    if (entry) {
      this.entries.delete(runKey);
      this.entries.set(runKey, entry);
      return entry;
    }
    const under = this.loading.get(runKey);
    if (under) return under.entry;
    const isLatest = (): boolean => this.loading.get(runKey) === loading;
    const loading = {
      entry: this.read(runKey, isLatest).finally(() => {
        if (isLatest()) this.loading.delete(runKey);
      }),
    };
    this.loading.set(runKey, loading);
    return loading.entry;
  }

  /**
   * The store has the run at this version: an older state in memory is not the run's any more, for another process has
   * decided on it, and it is let go. What is out for it goes on.
   */
  atLeast(runKey: string, version: number): void {
    if (version === 0) return;
    const entry = this.entries.get(runKey);
    if (entry && entry.run.version < version) this.entries.delete(runKey);
    this.loading.delete(runKey);
  }

  private async read(runKey: string, isLatest: () => boolean): Promise<CachedRun | null> {
    const run = await this.store.loadRun({ runKey });
    const payload = run?.status === 'active' ? await this.store.loadPayload({ runKey }) : null;
    if (!isLatest()) return this.load(runKey);
    if (run?.status !== 'active' || payload === null) return null;
    const { body, ...headers } = payload;
    return this.entries.get(runKey) ?? this.add(run, body.length > KEPT_PAYLOAD_BYTES ? headers : payload);
  }

  /** Lets the least recently used runs go. One with something under way is in use: it moves behind the others. */
  private shrink(): void {
    if (this.entries.size <= this.capacity) return;
    let looked = 0;
    for (const [key, entry] of this.entries) {
      if (this.entries.size <= this.capacity || ++looked > 64) return;
      this.entries.delete(key);
      if (entry.uncommitted > 0 || entry.deliveries > 0) this.entries.set(key, entry);
    }
  }
}
