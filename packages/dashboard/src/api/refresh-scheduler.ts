/** Refetches the queries that live hints affect: together, at most once per second, and each only when its last request has ended. */
import type { Query, QueryClient } from '@tanstack/react-query';
import { ALL_CHANGED, type Change, isAffected, mergeChanges } from './live-changes.js';

/** Minimum time between two refetches of a list: a busy instance sends hints four times per second. */
const MIN_INTERVAL_MS = 1_000;
/** Time after which a refetch no longer waits for the previous request, which may never get a response. */
const MAX_WAIT_MS = 30_000;

/** What the scheduler needs from the browser. Tests simulate it. */
export interface PageTimers {
  /** Returns the time of a monotonic clock, ms. */
  readonly now: () => number;
  readonly isHidden: () => boolean;
  /** Calls `action` once after the delay. Returns a function that cancels it. */
  readonly setTimer: (action: () => void, delayMs: number) => () => void;
}

const BROWSER: PageTimers = {
  now: () => performance.now(),
  isHidden: () => document.hidden,
  setTimer: (action, delayMs) => {
    const timer = window.setTimeout(action, delayMs);
    return () => window.clearTimeout(timer);
  },
};

/** Schedules the refetches of one instance. A hidden page is refetched when it becomes visible. */
export class RefreshScheduler {
  private readonly client: QueryClient;
  private readonly instanceId: string;
  private readonly page: PageTimers;
  private pending: Change | null = null;
  /** Queries to refetch besides those that `pending` affects, by their hash: since when they have been waiting. */
  private waitingSince: ReadonlyMap<string, number> = new Map();
  private cancelTimer: (() => void) | null = null;
  private lastRefreshMs = Number.NEGATIVE_INFINITY;

  constructor(client: QueryClient, instanceId: string, page: PageTimers = BROWSER) {
    this.client = client;
    this.instanceId = instanceId;
    this.page = page;
  }

  /** Refetches the queries that the change affects. */
  add(change: Change): void {
    this.pending = this.pending === null ? change : mergeChanges(this.pending, change);
    this.schedule();
  }

  /** Refetches what has been loaded until now and can still change. */
  addLoaded(): void {
    const loaded = this.queries((query) => query.state.data !== undefined && isAffectedBy(ALL_CHANGED, query));
    const now = this.page.now();
    this.waitingSince = new Map([...loaded.map(({ queryHash }) => [queryHash, now] as const), ...this.waitingSince]);
    this.schedule();
  }

  schedule(): void {
    if (this.pending === null && this.waitingSince.size === 0) return;
    if (this.cancelTimer !== null || this.page.isHidden()) return;
    const waitMs = Math.max(0, this.lastRefreshMs + MIN_INTERVAL_MS - this.page.now());
    this.cancelTimer = this.page.setTimer(() => this.refresh(), waitMs);
  }

  stop(): void {
    this.cancelTimer?.();
    this.cancelTimer = null;
    this.pending = null;
    this.waitingSince = new Map();
  }

  private refresh(): void {
    const { pending, waitingSince } = this;
    const now = this.page.now();
    const waiting = new Map<string, number>();
    const due = new Set<string>();
    const isChanged = (query: Query) => pending !== null && isAffectedBy(pending, query);
    for (const { queryHash, state } of this.queries((query) => waitingSince.has(query.queryHash) || isChanged(query))) {
      const since = waitingSince.get(queryHash) ?? now;
      // The response may be older than the change. Aborting the request instead would starve a query that takes longer than the
      // time between two hints.
      if (state.fetchStatus === 'fetching' && now - since < MAX_WAIT_MS) waiting.set(queryHash, since);
      else due.add(queryHash);
    }
    this.cancelTimer = null;
    this.pending = null;
    this.waitingSince = waiting;
    this.lastRefreshMs = now;
    void this.client.invalidateQueries({ predicate: ({ queryHash }) => due.has(queryHash) });
    this.schedule();
  }

  private queries(predicate: (query: Query) => boolean): readonly Query[] {
    return this.client.getQueryCache().findAll({ queryKey: [this.instanceId], predicate });
  }
}

const isAffectedBy = (change: Change, { queryKey, meta, state: { data } }: Query): boolean =>
  isAffected(change, queryKey[1], meta?.live, data);
