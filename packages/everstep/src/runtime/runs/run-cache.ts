/**
 * Active runs in memory, in the state of the last decision. Decisions are made on these states one after the other, without
 * waiting for the disk. If a batch cannot be written, the states that it would have produced are dropped.
 *
 * The number of runs and their bytes are limited. Runs of the account that uses the most are removed first. A flood of runs or
 * events of one account therefore does not slow down the runs of others.
 *
 * Keeps invariant 23.
 */
import type { Run, RunPayload } from '../../engine/runs/run.js';
import type { CommitUnit } from '../../engine/writes.js';
import type { Clock } from '../../ports/clock.js';
import { DamagedValueError } from '../../ports/damaged-value.js';
import { type InstanceOwners, ONE_OWNER } from '../../ports/stores/instance-owners.js';
import type { Store } from '../../ports/stores/store.js';
import { EMPTY_JOURNAL, type HoldState } from './holds.js';
import { weightAfter, weightOf } from './run-weight.js';

export interface CachedRun extends HoldState {
  /** The state after the last decision. The next decision is made on it. */
  run: Run;
  /** The state after the last durable decision. Requests to endpoints are built only from it. */
  durableRun: Run;
  /** Headers of every delivery of the run. */
  readonly forwardHeaders: RunPayload['forwardHeaders'];
  /** The payload of the trigger, until it has been sent once. */
  payload: RunPayload | null;
  /** Number of times that a worker was sent a part of the journal and did not hold the rest. */
  misses: number;
  /** Number of decisions that are not durable yet. */
  uncommitted: number;
  /** Number of deliveries in flight. */
  deliveries: number;
  /** When the requests in flight were sent, Unix ms, by slot. */
  readonly deliveryStartedAt: Map<number, number>;
  /** Aborts every delivery of the run; created for the first one. */
  abortController: AbortController | null;
  /** Number of times that deliveries of the run were aborted although the run continues. */
  giveUpCount: number;
  /** Estimated bytes of `run`. */
  weight: number;
}

/** The payload of a new run. It may lack the body if the run was created from another run. */
export type StartPayload = Omit<RunPayload, 'body'> & Partial<Pick<RunPayload, 'body'>>;

/** Maximum size of a body that is kept in memory. */
export const MAX_KEPT_PAYLOAD_BYTES = 64 * 1024;

export interface RunCacheLimits {
  readonly maxRuns: number;
  readonly maxBytes: number;
}

/** Runs of one account, the most recently used one last. */
interface AccountRuns {
  readonly runs: Map<string, CachedRun>;
  bytes: number;
}

/** Number of runs of an account that are checked to find one that is not in use. */
const MAX_CHECKED = 64;
/** Number of the most recently added runs that are not removed, because a caller that has just added one is about to use it. */
const MAX_LATEST = 4;

export class RunCache {
  private readonly store: Store;
  private readonly clock: Pick<Clock, 'endOfTurn'>;
  private readonly limits: RunCacheLimits;
  private readonly owners: InstanceOwners;
  private readonly entries = new Map<string, CachedRun>();
  private readonly accounts = new Map<string, AccountRuns>();
  /** The account for which each run is counted. The instance may belong to another account by now. */
  private readonly accountIds = new Map<string, string>();
  /** The runs that were added last. */
  private readonly latestRuns: CachedRun[] = [];
  /**
   * Runs that were read in this turn of the event loop. They are not removed before it ends, because their readers have not
   * continued yet. Otherwise many readers at once would remove each other's runs and read them again, forever and without
   * leaving the turn.
   */
  private readonly readThisTurn = new Set<CachedRun>();
  private bytes = 0;
  /** Reads in progress. A read that was removed from here started too early, so its result may be out of date. */
  private readonly loadsInProgress = new Map<string, { readonly entry: Promise<CachedRun | null> }>();

  constructor(store: Store, clock: Pick<Clock, 'endOfTurn'>, limits: RunCacheLimits, owners: InstanceOwners = ONE_OWNER) {
    this.store = store;
    this.clock = clock;
    this.limits = limits;
    this.owners = owners;
  }

  get size(): number {
    return this.entries.size;
  }
  /** Estimated bytes of all runs. */
  get weight(): number {
    return this.bytes;
  }

  peek(runKey: string): CachedRun | undefined {
    return this.entries.get(runKey);
  }

  /** Adds a run. Without a body, the payload is read when it is sent. */
  add(run: Run, payload: StartPayload): CachedRun {
    const entry = this.put(run, payload);
    this.shrink();
    return entry;
  }

  private put(run: Run, { forwardHeaders, contentType, body }: StartPayload): CachedRun {
    const entry: CachedRun = {
      run,
      durableRun: run,
      forwardHeaders,
      payload: body ? { forwardHeaders, contentType, body } : null,
      hold: null,
      digestedPrefix: EMPTY_JOURNAL,
      misses: 0,
      uncommitted: 0,
      deliveries: 0,
      deliveryStartedAt: new Map(),
      abortController: null,
      giveUpCount: 0,
      weight: weightOf(run),
    };
    this.drop(run.key);
    this.entries.set(run.key, entry);
    this.addToAccount(entry);
    this.latestRuns.push(entry);
    if (this.latestRuns.length > MAX_LATEST) this.latestRuns.shift();
    return entry;
  }

  /** Returns the runs of one queue instance. */
  runsOfInstance(instanceId: string): readonly CachedRun[] {
    return [...this.entries.values()].filter(({ run }) => run.instanceId === instanceId);
  }

  /** Called when the run has a new state after a decision. */
  stateChanged(entry: CachedRun, before: Run, writes: CommitUnit['writes']): void {
    const weight = weightAfter(entry.weight, before, entry.run, writes);
    const change = weight - entry.weight;
    entry.weight = weight;
    if (this.entries.get(entry.run.key) !== entry) return;
    const account = this.accounts.get(this.accountIds.get(entry.run.key) ?? '');
    if (account) account.bytes += change;
    this.bytes += change;
    if (change > 0) this.shrink();
  }

  giveUpDeliveries(): void {
    for (const entry of this.entries.values()) if (entry.deliveries > 0) this.giveUp(entry);
  }

  /** Aborts the deliveries of a run that continues. */
  giveUp(entry: CachedRun): void {
    entry.abortController?.abort();
    // Later deliveries must not be aborted.
    entry.abortController = null;
    entry.giveUpCount++;
  }

  /** Removes all runs and aborts their deliveries. */
  clear(): void {
    this.giveUpDeliveries();
    for (const runKey of [...this.entries.keys()]) this.drop(runKey);
  }

  drop(runKey: string): void {
    const entry = this.entries.get(runKey);
    if (!entry) return;
    this.entries.delete(runKey);
    const index = this.latestRuns.indexOf(entry);
    if (index >= 0) this.latestRuns.splice(index, 1);
    const accountId = this.accountIds.get(runKey) ?? '';
    this.accountIds.delete(runKey);
    const account = this.accounts.get(accountId);
    this.bytes -= entry.weight;
    if (!account) return;
    account.runs.delete(runKey);
    account.bytes -= entry.weight;
    if (account.runs.size === 0) this.accounts.delete(accountId);
  }

  /** Returns the run from memory or from the store; null if it does not exist or has ended. */
  load(runKey: string): Promise<CachedRun | null> | CachedRun {
    const entry = this.entries.get(runKey);
    if (entry) {
      this.markUsed(runKey, entry);
      return entry;
    }
    const loadInProgress = this.loadsInProgress.get(runKey);
    if (loadInProgress) return loadInProgress.entry;
    const isLatest = (): boolean => this.loadsInProgress.get(runKey) === newLoad;
    const newLoad = {
      entry: this.read(runKey, isLatest).finally(() => {
        if (isLatest()) this.loadsInProgress.delete(runKey);
      }),
    };
    this.loadsInProgress.set(runKey, newLoad);
    return newLoad.entry;
  }

  /**
   * Drops an older state of the run in memory, because another process has decided on it: the store has the run at this
   * version. Its deliveries continue.
   */
  dropOlder(runKey: string, version: number): void {
    if (version === 0) return;
    const entry = this.entries.get(runKey);
    if (entry && entry.run.version < version) this.drop(runKey);
    this.loadsInProgress.delete(runKey);
  }

  private async read(runKey: string, isLatest: () => boolean): Promise<CachedRun | null> {
    const run = await this.store.loadRun({ runKey });
    const payload = run?.status === 'active' ? await this.readPayload(runKey) : null;
    if (!isLatest()) return this.load(runKey);
    if (run?.status !== 'active' || payload === null) return null;
    return this.entries.get(runKey) ?? this.addLoaded(run, payload);
  }

  /** Returns the payload, without its body if that is large or damaged: the delivery that needs the body reads it again. */
  private async readPayload(runKey: string): Promise<StartPayload | null> {
    try {
      const payload = await this.store.loadPayload({ runKey });
      return payload && payload.body.length > MAX_KEPT_PAYLOAD_BYTES ? { ...payload, body: undefined } : payload;
    } catch (error) {
      if (!(error instanceof DamagedValueError)) throw error;
      return this.store.payloadHead({ runKey });
    }
  }

  private addLoaded(run: Run, payload: StartPayload): CachedRun {
    const entry = this.put(run, payload);
    if (this.readThisTurn.size === 0)
      this.clock.endOfTurn(() => {
        this.readThisTurn.clear();
        this.shrink();
      });
    this.readThisTurn.add(entry);
    this.shrink();
    return entry;
  }

  private addToAccount(entry: CachedRun): void {
    const { key, instanceId } = entry.run;
    const accountId = this.owners.accountOf(instanceId);
    let account = this.accounts.get(accountId);
    if (!account) {
      account = { runs: new Map(), bytes: 0 };
      this.accounts.set(accountId, account);
    }
    account.runs.set(key, entry);
    account.bytes += entry.weight;
    this.accountIds.set(key, accountId);
    this.bytes += entry.weight;
  }

  private markUsed(runKey: string, entry: CachedRun): void {
    const runs = this.accounts.get(this.accountIds.get(runKey) ?? '')?.runs;
    if (!runs?.delete(runKey)) return;
    runs.set(runKey, entry);
  }

  /** Removes runs until the limits are met or no more can be removed. */
  private shrink(): void {
    const { maxRuns, maxBytes } = this.limits;
    for (;;) {
      const hasTooManyBytes = this.bytes > maxBytes;
      if (!hasTooManyBytes && this.entries.size <= maxRuns) return;
      const sizeOf = ({ runs, bytes }: AccountRuns): number => (hasTooManyBytes ? bytes : runs.size);
      let largest: AccountRuns | null = null;
      for (const account of this.accounts.values()) if (!largest || sizeOf(account) > sizeOf(largest)) largest = account;
      if (!largest) return;
      if (this.removeOne(largest)) continue;
      // All runs of this account are in use. Accounts with more than an equal part are next.
      const equalShare = (hasTooManyBytes ? maxBytes : maxRuns) / this.accounts.size;
      const otherAccounts = [...this.accounts.values()].filter((account) => sizeOf(account) > equalShare);
      if (!otherAccounts.some((account) => this.removeOne(account))) return;
    }
  }

  private isNeeded(entry: CachedRun): boolean {
    return entry.uncommitted > 0 || entry.deliveries > 0 || this.readThisTurn.has(entry) || this.latestRuns.includes(entry);
  }

  /** Removes the least recently used run. A run in use moves behind the others. */
  private removeOne({ runs }: AccountRuns): boolean {
    const maxChecked = Math.min(MAX_CHECKED, runs.size);
    let checkedCount = 0;
    for (const [runKey, entry] of runs) {
      if (++checkedCount > maxChecked) return false;
      if (this.isNeeded(entry)) this.markUsed(runKey, entry);
      else {
        this.drop(runKey);
        return true;
      }
    }
    return false;
  }
}
