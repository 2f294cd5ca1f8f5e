/**
 * Finds tasks whose time has come. The store is the only timetable: one timer
 * stands at the earliest due time there is, and a scan reads what became due
 * since the scan before. Tasks that are due at once never pass through here
 * but after a restart.
 */
import type { Clock } from '../ports/clock.js';
import type { Cluster } from '../ports/cluster.js';
import type { Log } from '../ports/log.js';
import type { DueTask, Store, TaskReference } from '../ports/store.js';
import type { StoreWritesState } from '../ports/store-writes.js';

const PAGE = 500;
/** While so many tasks wait for a place, further due ones stay in the store. */
const BACKLOG_MAX = 20_000;
const RETRY_AFTER_FAULT_MS = 1000;
/** Where several nodes share the store: what others left behind is found so soon, should nobody tell of it. */
const POLL_MS = 1000;

type ClaimedTasks = Pick<Cluster, 'claimDue' | 'claimQueued'>;

export interface DueTaskOptions {
  readonly store: Pick<Store, 'dueTasks' | 'nextDueAt'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly take: (task: DueTask) => Promise<void>;
  readonly backlog: () => number;
  /** While it is closed nothing is read; `restartNow` has to follow when it opens. */
  readonly writes: StoreWritesState;
  /** Where several nodes share the store: takes what is due and nobody's. */
  readonly claims?: ClaimedTasks;
}

export class DueTasks {
  private readonly options: DueTaskOptions;
  /** Everything due up to here has been taken. */
  private scanned: TaskReference | null = null;
  private fromStart = false;
  /** Changes when all claims of this node are lost: pages that were read before are stale. */
  private generation = 0;
  private wakeAt = Number.POSITIVE_INFINITY;
  private cancelTimer: () => void = () => {};
  private scanning: Promise<void> | null = null;
  private again = false;
  private stopped = true;

  constructor(options: DueTaskOptions) {
    this.options = options;
  }

  start(): Promise<void> {
    this.stopped = false;
    return this.scan();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.cancelTimer();
    await this.scanning;
  }

  /** Whether no scan is under way. */
  get idle(): boolean {
    return this.scanning === null;
  }

  /** A task was recorded that is due at `dueAt`, in the future. */
  expect(dueAt: number): void {
    if (dueAt < this.wakeAt) this.wake(dueAt);
  }

  /** The places for tasks are free again. */
  resume(): void {
    if (this.waitsForPlaces && this.options.backlog() < BACKLOG_MAX / 2) {
      this.waitsForPlaces = false;
      void this.scan();
    }
  }
  private waitsForPlaces = false;

  /** Reads everything that is due again, also what was taken before (a batch was lost). */
  restart(): void {
    this.fromStart = true;
    // Never later than planned: faults that follow on one another must not put it off for ever.
    this.expect(this.options.clock.now() + RETRY_AFTER_FAULT_MS);
  }

  /** The same at once. */
  restartNow(): void {
    this.fromStart = true;
    this.look();
  }

  /** Other nodes have taken over all claims of this node: stops the scan under way, and starts a new one. */
  claimsLost(): void {
    this.generation++;
    this.restartNow();
  }

  /** There may be something that is due. */
  look(): void {
    if (!this.stopped) void this.scan();
  }

  private wake(at: number): void {
    if (this.stopped) return;
    this.cancelTimer();
    this.wakeAt = at;
    this.cancelTimer = this.options.clock.setTimer(at, () => {
      this.wakeAt = Number.POSITIVE_INFINITY;
      void this.scan();
    });
  }

  /** Nothing is taken: what is due could not be recorded as done. */
  private get pauses(): boolean {
    return this.stopped || !this.options.writes.isOpen;
  }

  private scan(): Promise<void> {
    if (this.pauses) return Promise.resolve();
    if (this.scanning) {
      this.again = true;
      return this.scanning;
    }
    this.scanning = this.scanAll()
      .catch((error: unknown) => {
        if (!this.options.writes.failed(error))
          this.options.log.error({ error: String(error) }, 'reading due tasks failed; trying again');
        this.restart();
      })
      .finally(() => {
        this.scanning = null;
        if (this.again && !this.stopped) {
          this.again = false;
          void this.scan();
        }
      });
    return this.scanning;
  }

  private async scanAll(): Promise<void> {
    const { store, clock, take, backlog, claims } = this.options;
    const before = clock.now();
    if (claims) return this.claimAll(claims, before);
    // Taken over only here: a scan that is under way meanwhile must not write over it.
    if (this.fromStart) this.scanned = null;
    this.fromStart = false;
    for (;;) {
      if (this.pauses) return;
      if (backlog() >= BACKLOG_MAX) {
        this.waitsForPlaces = true;
        return;
      }
      const page = await store.dueTasks({ before, after: this.scanned, limit: PAGE });
      for (const task of page) await take(task);
      const last = page.at(-1);
      if (last) this.scanned = last;
      if (page.length < PAGE) break;
    }
    // Behind every task of this very millisecond: those that come to be due in it later are acted on as they are recorded.
    this.scanned = { dueAt: before, runKey: '\uffff', slot: Number.MAX_SAFE_INTEGER };
    const next = await store.nextDueAt({ after: before });
    if (next !== null) this.expect(next);
  }

  /** What this node has claimed is in its hands already, unless it may have lost sight of it. */
  private async claimAll(claims: ClaimedTasks, before: number): Promise<void> {
    const { store, clock } = this.options;
    this.expect(clock.now() + POLL_MS);
    const anew = this.fromStart;
    this.fromStart = false;
    if (!(await this.takeClaims(claims, before, anew))) {
      if (anew) this.fromStart = true;
      return;
    }
    const next = await store.nextDueAt({ after: before });
    if (next !== null) this.expect(next);
  }

  /** `anew`: also what this node has claimed before. False when it stopped before the end. */
  private async takeClaims(claims: ClaimedTasks, before: number, anew: boolean): Promise<boolean> {
    if (anew && !(await this.takeClaimed(before))) return false;
    let after: number | null = null;
    const nextQueued = async (): Promise<readonly DueTask[]> => {
      const page = await claims.claimQueued({ before, after, anew, limit: PAGE });
      after = page.at(-1)?.dueAt ?? after;
      return page;
    };
    return (await this.takePages(nextQueued)) && this.takePages(() => claims.claimDue({ before, limit: PAGE }));
  }

  private async takeClaimed(before: number): Promise<boolean> {
    let after: TaskReference | null = null;
    return this.takePages(
      async () => {
        const page = await this.options.store.dueTasks({ before, after, limit: PAGE });
        after = page.at(-1) ?? null;
        return page;
        // Queued messages that are claimed and those that are not are read in one page, or one could overtake the other.
      },
      ({ queue }) => queue === undefined,
    );
  }

  /** False when it stopped before the last page: the node stops, has lost its claims, or has no places for more. */
  private async takePages(
    nextPage: () => Promise<readonly DueTask[]>,
    isWanted: (task: DueTask) => boolean = () => true,
  ): Promise<boolean> {
    const { take, backlog } = this.options;
    const { generation } = this;
    for (;;) {
      if (this.pauses) return false;
      if (backlog() >= BACKLOG_MAX) {
        this.waitsForPlaces = true;
        return false;
      }
      const page = await nextPage();
      for (const task of page) {
        if (this.generation !== generation) return false;
        if (isWanted(task)) await take(task);
      }
      if (page.length < PAGE) return true;
    }
  }
}
