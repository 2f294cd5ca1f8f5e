/**
 * Active runs in memory, as of the last decision taken on them. Decisions are taken on these states one after the other
 * without waiting for the disk; a batch that cannot be written drops the states that it would have made.
 *
 * The number of runs and their bytes are limited. The account that has most is the one whose runs are let go, so a flood of
 * runs or of events of one account does not make the runs of others slow.
 * Keeps invariant 23.
 */
import type { Run, RunPayload } from '../../engine/runs/run.js';
import type { CommitUnit } from '../../engine/writes.js';
import { type InstanceOwners, ONE_OWNER } from '../../ports/stores/instance-owners.js';
import type { Store } from '../../ports/stores/store.js';
import { EMPTY_JOURNAL, type HoldState } from './holds.js';
import { weightAfter, weightOf } from './run-weight.js';

export interface CachedRun extends HoldState {
  /** As of the last decision; the next one is taken on this. */
  run: Run;
  /** As of the last decision that is durable; only this is ever shown to an endpoint. */
  durable: Run;
  /** Headers that go along with every delivery of the run. */
  readonly forwardHeaders: RunPayload['forwardHeaders'];
  /** What it was triggered with, until it has been sent once. */
  payload: RunPayload | null;
  /** How often a worker was sent a part of the journal and did not hold the rest. */
  misses: number;
  /** Decisions that are not durable yet. */
  uncommitted: number;
  /** Deliveries under way. */
  deliveries: number;
  /** When requests that are out left, Unix ms, by their slots. */
  readonly deliveryStartedAt: Map<number, number>;
  /** Gives up every delivery of the run; made for the first of them. */
  control: AbortController | null;
  /** How often deliveries of the run were given up though it goes on. */
  givenUp: number;
  /** About how many bytes `run` takes. */
  weight: number;
}

/** What a new run was triggered with; of a run that was made from another one perhaps without the body. */
export type BegunPayload = Omit<RunPayload, 'body'> & Partial<Pick<RunPayload, 'body'>>;

/** A longer body is not kept in memory. */
export const KEPT_PAYLOAD_BYTES = 64 * 1024;
export interface RunCacheLimits {
  readonly maxRuns: number;
  readonly maxBytes: number;
}

/** Runs of one account; the one that was used last comes last. */
interface AccountRuns {
  readonly runs: Map<string, CachedRun>;
  bytes: number;
}

/** Runs of an account that are looked at to find one that is not in use. */
const LOOKED_AT = 64;
/** The latest runs that were added are kept: whoever has just read one of them is about to use it. */
const LATEST_KEPT = 4;

export class RunCache {
  private readonly store: Store;
  private readonly limits: RunCacheLimits;
  private readonly owners: InstanceOwners;
  private readonly entries = new Map<string, CachedRun>();
  private readonly accounts = new Map<string, AccountRuns>();
  /** Where each run is counted: its instance may have another owner by now. */
  private readonly accountOf = new Map<string, string>();
  private readonly latest: CachedRun[] = [];
  private bytes = 0;
  /** Reads that are under way. One that is not here any more was begun too early: what it reads may be old. */
  private readonly loading = new Map<string, { readonly entry: Promise<CachedRun | null> }>();

  constructor(store: Store, limits: RunCacheLimits, owners: InstanceOwners = ONE_OWNER) {
    this.store = store;
    this.limits = limits;
    this.owners = owners;
  }

  get size(): number {
    return this.entries.size;
  }
  /** About how many bytes the runs take. */
  get weight(): number {
    return this.bytes;
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
      deliveryStartedAt: new Map(),
      control: null,
      givenUp: 0,
      weight: weightOf(run),
    };
    this.drop(run.key);
    this.entries.set(run.key, entry);
    this.join(entry);
    this.latest.push(entry);
    if (this.latest.length > LATEST_KEPT) this.latest.shift();
    this.shrink();
    return entry;
  }

  /** Those of one queue instance. */
  ofInstance(instanceId: string): readonly CachedRun[] {
    return [...this.entries.values()].filter(({ run }) => run.instanceId === instanceId);
  }

  /** The run was decided on: it has another state. */
  changed(entry: CachedRun, before: Run, writes: CommitUnit['writes']): void {
    const weight = weightAfter(entry.weight, before, entry.run, writes);
    const change = weight - entry.weight;
    entry.weight = weight;
    if (this.entries.get(entry.run.key) !== entry) return;
    const account = this.accounts.get(this.accountOf.get(entry.run.key) ?? '');
    if (account) account.bytes += change;
    this.bytes += change;
    if (change > 0) this.shrink();
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
    for (const runKey of [...this.entries.keys()]) this.drop(runKey);
  }

  drop(runKey: string): void {
    const entry = this.entries.get(runKey);
    if (!entry) return;
    this.entries.delete(runKey);
    const place = this.latest.indexOf(entry);
    if (place >= 0) this.latest.splice(place, 1);
    const accountId = this.accountOf.get(runKey) ?? '';
    this.accountOf.delete(runKey);
    const account = this.accounts.get(accountId);
    this.bytes -= entry.weight;
    if (!account) return;
    account.runs.delete(runKey);
    account.bytes -= entry.weight;
    if (account.runs.size === 0) this.accounts.delete(accountId);
  }

  /** The run, from memory or from the store; null when it does not exist or has ended. */
  load(runKey: string): Promise<CachedRun | null> | CachedRun {
    const entry = this.entries.get(runKey);
    if (entry) {
      this.used(runKey, entry);
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
    if (entry && entry.run.version < version) this.drop(runKey);
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

  private join(entry: CachedRun): void {
    const { key, instanceId } = entry.run;
    const accountId = this.owners.accountOf(instanceId);
    let account = this.accounts.get(accountId);
    if (!account) {
      account = { runs: new Map(), bytes: 0 };
      this.accounts.set(accountId, account);
    }
    account.runs.set(key, entry);
    account.bytes += entry.weight;
    this.accountOf.set(key, accountId);
    this.bytes += entry.weight;
  }

  private used(runKey: string, entry: CachedRun): void {
    const runs = this.accounts.get(this.accountOf.get(runKey) ?? '')?.runs;
    if (!runs?.delete(runKey)) return;
    runs.set(runKey, entry);
  }

  /** Lets runs go until the limits hold, or no more can go. */
  private shrink(): void {
    const { maxRuns, maxBytes } = this.limits;
    for (;;) {
      const tooManyBytes = this.bytes > maxBytes;
      if (!tooManyBytes && this.entries.size <= maxRuns) return;
      const sizeOf = ({ runs, bytes }: AccountRuns): number => (tooManyBytes ? bytes : runs.size);
      let largest: AccountRuns | null = null;
      for (const account of this.accounts.values()) if (!largest || sizeOf(account) > sizeOf(largest)) largest = account;
      if (!largest) return;
      if (this.letOneGo(largest)) continue;
      // All that it has is in use: then it is the turn of others that have more than their part.
      const part = (tooManyBytes ? maxBytes : maxRuns) / this.accounts.size;
      const others = [...this.accounts.values()].filter((account) => sizeOf(account) > part);
      if (!others.some((account) => this.letOneGo(account))) return;
    }
  }

  /** The least recently used one. One with something under way is in use: it moves behind the others. */
  private letOneGo({ runs }: AccountRuns): boolean {
    const most = Math.min(LOOKED_AT, runs.size);
    let looked = 0;
    for (const [runKey, entry] of runs) {
      if (++looked > most) return false;
      if (entry.uncommitted > 0 || entry.deliveries > 0 || this.latest.includes(entry)) this.used(runKey, entry);
      else {
        this.drop(runKey);
        return true;
      }
    }
    return false;
  }
}
