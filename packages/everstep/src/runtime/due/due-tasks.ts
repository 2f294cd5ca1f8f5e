/**
 * Finds tasks whose time has come. The store is the only timetable: one timer
 * stands at the earliest due time there is, and a scan reads what became due
 * since the scan before. Tasks that are due at once never pass through here
 * but after a restart.
 * Keeps invariants 3, 10 and 25.
 */
import { inTurns } from '../../fairness/turns.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import { type InstanceOwners, ONE_OWNER } from '../../ports/stores/instance-owners.js';
import type { DueTask, Store } from '../../ports/stores/store.js';
import type { StoreWritesState } from '../../ports/stores/store-writes.js';
import { type ClaimedTasks, type DueSource, StoredTasks, UnclaimedTasks } from './due-source.js';
import { type Backlog, type DueTurn, DueTurns } from './due-turns.js';

/** Tasks that are handed over at once: some of them have to be read from the store first. */
const TOGETHER = 10;
const RETRY_AFTER_FAULT_MS = 1000;
/** Where several nodes share the store: what others left behind is found so soon, if no notice arrives. */
const POLL_MS = 1000;

export interface DueTaskOptions {
  readonly store: Pick<Store, 'dueTasks' | 'dueInstances' | 'nextDueAt'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Has the task acted on. `deciding` gets what resolves when a decision on it is durable; nothing for what is delivered. */
  readonly take: (task: DueTask, deciding: (decided: Promise<void>) => void) => Promise<void>;
  readonly backlog: Backlog;
  /** Who takes turns; absent: everything belongs to one instance. */
  readonly owners?: InstanceOwners;
  /** While it is closed nothing is read; `restartNow` has to follow when it opens. */
  readonly writes: StoreWritesState;
  /** Where several nodes share the store: claims what is due and not claimed. */
  readonly claims?: ClaimedTasks;
}

export class DueTasks {
  private readonly options: DueTaskOptions;
  private readonly owners: InstanceOwners;
  private readonly source: DueSource;
  private readonly turns: DueTurns;
  private fromStart = false;
  /** Changes when all claims of this node are lost: pages that were read before are stale. */
  private generation = 0;
  private wakeAt = Number.POSITIVE_INFINITY;
  private cancelTimer: () => void = () => {};
  private scanning: Promise<void> | null = null;
  private again = false;
  /** Ends the wait of a scan that has nothing to read at the moment. */
  private endWait: () => void = () => {};
  private stopped = true;

  constructor(options: DueTaskOptions) {
    const { store, claims, owners = ONE_OWNER, backlog } = options;
    this.options = options;
    this.owners = owners;
    this.source = claims ? new UnclaimedTasks(store, claims) : new StoredTasks(store);
    this.turns = new DueTurns(owners, backlog);
  }

  start(): Promise<void> {
    this.stopped = false;
    return this.scan();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.cancelTimer();
    this.endWait();
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

  /** A delivery of the instance has ended: there may be room for more. */
  resume(instanceId: string): void {
    if (this.turns.hasRoomAgain(instanceId)) this.look();
  }

  /** Reads everything that is due again, also what was taken before (a batch was lost). */
  restart(): void {
    this.fromStart = true;
    // Never later than planned: faults that follow on one another must not put it off forever.
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
    this.again = true;
    this.endWait();
    this.scanning ??= this.scanAll()
      .catch((error: unknown) => {
        if (!this.options.writes.failed(error))
          this.options.log.error({ error: String(error) }, 'could not read due tasks, retrying');
        this.again = false;
        this.restart();
      })
      .finally(() => {
        this.scanning = null;
        if (this.again) void this.scan();
      });
    return this.scanning;
  }

  /** Looks at what is due; what is more than a page is read in turns, and new looks come between two turns. */
  private async scanAll(): Promise<void> {
    let before = 0;
    while (!this.pauses) {
      if (this.again) {
        this.again = false;
        before = this.options.clock.now();
        await this.lookAt(before);
        continue;
      }
      const turn = this.turns.next();
      if (turn) await this.takeTurn(turn, before);
      else if (!this.turns.isWriting) return;
      else
        await new Promise<void>((resolve) => {
          this.endWait = resolve;
        });
    }
  }

  private async lookAt(before: number): Promise<void> {
    const { store, clock, claims, backlog } = this.options;
    if (claims) this.expect(clock.now() + POLL_MS);
    // Taken over only here: a scan that is under way meanwhile must not write over it.
    if (this.fromStart) {
      this.source.restart();
      this.turns.clear();
    }
    this.fromStart = false;
    const { generation } = this;
    const { tasks, left } = await this.source.look(before, this.turns.open);
    if (this.generation !== generation) return;
    for (const [instanceId, pages] of left) this.turns.add(instanceId, pages);
    if (!(await this.take(inTurns(tasks, this.owners)))) return;
    const { open } = this.turns;
    for (const instanceId of new Set(tasks.map((task) => task.instanceId)))
      if (!open.has(instanceId) && !backlog.hasRoom(instanceId)) this.turns.add(instanceId, this.source.pagesOf(instanceId));
    const next = await store.nextDueAt({ after: before });
    if (next !== null) this.expect(next);
  }

  private async takeTurn(turn: DueTurn, before: number): Promise<void> {
    const { generation } = this;
    const { tasks, isLast } = await turn.pages(before);
    if (this.generation !== generation) return;
    const decided: Promise<void>[] = [];
    if (!(await this.take(tasks, (each) => decided.push(each)))) return;
    if (isLast) this.turns.remove(turn);
    else if (decided.length > 0) {
      turn.isWriting = true;
      void Promise.allSettled(decided).then(() => {
        turn.isWriting = false;
        this.endWait();
      });
    }
    // Others have their turn too.
    await new Promise<void>((resolve) => this.options.clock.endOfTurn(resolve));
  }

  /** False when the claims were lost meanwhile. */
  private async take(tasks: readonly DueTask[], deciding: (decided: Promise<void>) => void = () => {}): Promise<boolean> {
    const { generation } = this;
    let taking: Promise<void>[] = [];
    for (const task of tasks) {
      if (this.generation !== generation) break;
      taking.push(this.options.take(task, deciding));
      if (taking.length < TOGETHER) continue;
      await Promise.all(taking);
      taking = [];
    }
    await Promise.all(taking);
    return this.generation === generation;
  }
}
