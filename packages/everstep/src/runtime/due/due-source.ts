/**
 * Reads due tasks. Usually one page contains everything that became due since the previous read. If more is due, each
 * instance with due tasks gets separate pages. An instance with very many tasks therefore does not hide the tasks of others.
 */
import type { Cluster } from '../../ports/cluster.js';
import type { DueTask, Store, TaskReference } from '../../ports/stores/store.js';

/** Maximum number of tasks of all instances that one read returns. */
const PAGE_SIZE = 500;
/** Maximum number of tasks of one instance in a page while other instances may wait. */
const INSTANCE_PAGE_SIZE = 100;

export interface DuePage {
  readonly tasks: readonly DueTask[];
  /** Whether nothing more is due up to the requested time. */
  readonly isLast: boolean;
}

/** Reads the next page of the tasks that are due at or before a time (Unix ms). */
export type DuePageReader = (before: number) => Promise<DuePage>;

export interface DueScan {
  readonly tasks: readonly DueTask[];
  /** Readers of the tasks that were not read, by instance. The key is '' for tasks of several instances. */
  readonly unread: ReadonlyMap<string, DuePageReader>;
}

export interface DueSource {
  /** Makes the next read start with everything that is due. */
  restart(): void;
  /**
   * Resolves with the tasks that became due since the previous read. Tasks of the instances in `openInstances`, whose
   * pages are still being read, are omitted.
   */
  readNext(before: number, openInstances: ReadonlySet<string>): Promise<DueScan>;
  /** Returns a reader of the tasks of an instance that were not read. */
  pagesOf(instanceId: string): DuePageReader;
}

/** The source of a single process. It reads the tasks that follow those it has read before. */
export class StoredTasks implements DueSource {
  private readonly store: Pick<Store, 'dueTasks' | 'dueInstances'>;
  /** Last task that was read. Everything up to it was read, except what the pages of instances contain. */
  private lastRead: TaskReference | null = null;

  constructor(store: Pick<Store, 'dueTasks' | 'dueInstances'>) {
    this.store = store;
  }

  restart(): void {
    this.lastRead = null;
  }

  async readNext(before: number, openInstances: ReadonlySet<string>): Promise<DueScan> {
    const from = this.lastRead;
    const tasks = await this.store.dueTasks({ before, after: from, limit: PAGE_SIZE });
    const instances =
      tasks.length < PAGE_SIZE ? null : await this.store.dueInstances({ from: from?.dueAt ?? Number.MIN_SAFE_INTEGER, before });
    // After every task of this millisecond. Tasks that become due in it later are dispatched when they are recorded.
    this.lastRead = { dueAt: before, runKey: '\uffff', slot: Number.MAX_SAFE_INTEGER };
    if (instances === null) return { tasks: tasks.filter(({ instanceId }) => !openInstances.has(instanceId)), unread: new Map() };
    const unread = instances.filter((id) => !openInstances.has(id)).map((id) => [id, this.pagesFrom(id, from)] as const);
    return { tasks: [], unread: new Map(unread) };
  }

  pagesOf(instanceId: string): DuePageReader {
    return this.pagesFrom(instanceId, this.lastRead);
  }

  private pagesFrom(instanceId: string, from: TaskReference | null): DuePageReader {
    let after = from;
    return async (before) => {
      const tasks = await this.store.dueTasks({ instanceId, before, after, limit: INSTANCE_PAGE_SIZE });
      after = tasks.at(-1) ?? after;
      return { tasks, isLast: tasks.length < INSTANCE_PAGE_SIZE };
    };
  }
}

export type TaskClaims = Pick<Cluster, 'claimDue' | 'claimQueued'>;

/** The source of one of several nodes. It reads unclaimed tasks; the tasks that this node has claimed were read before. */
export class UnclaimedTasks implements DueSource {
  private readonly store: Pick<Store, 'dueTasks' | 'dueInstances'>;
  private readonly claims: TaskClaims;
  private isRestarted = false;
  /**
   * Whether claimed messages are being read again. Until that is done, no other messages are claimed, because they could
   * overtake these.
   */
  private isReadingClaimedQueues = false;

  constructor(store: Pick<Store, 'dueTasks' | 'dueInstances'>, claims: TaskClaims) {
    this.store = store;
    this.claims = claims;
  }

  /** Makes the next read include tasks that this node claimed earlier, because it may have missed some of them. */
  restart(): void {
    this.isRestarted = true;
  }

  async readNext(before: number, openInstances: ReadonlySet<string>): Promise<DueScan> {
    const isRestarted = this.isRestarted;
    this.isRestarted = false;
    const tasks: DueTask[] = [];
    let needsInstancePages = isRestarted || openInstances.size > 0;
    if (!needsInstancePages) {
      const queuedTasks = await this.claims.claimQueued({ before, after: null, includesClaimed: false, limit: PAGE_SIZE });
      const dueTasks = await this.claims.claimDue({ before, limit: PAGE_SIZE });
      tasks.push(...queuedTasks, ...dueTasks);
      needsInstancePages = queuedTasks.length >= PAGE_SIZE || dueTasks.length >= PAGE_SIZE;
    }
    const instances = needsInstancePages ? await this.store.dueInstances({ from: Number.MIN_SAFE_INTEGER, before }) : [];
    const unread = instances.filter((id) => !openInstances.has(id)).map((id) => [id, this.pagesOf(id)] as const);
    return { tasks, unread: new Map(isRestarted ? [['', this.claimedPages()], ...unread] : unread) };
  }

  pagesOf(instanceId: string): DuePageReader {
    let isQueuesTurn = false;
    let after: number | null = null;
    return async (before) => {
      if (!isQueuesTurn) {
        const tasks = await this.claims.claimDue({ before, limit: INSTANCE_PAGE_SIZE, instanceId });
        isQueuesTurn = tasks.length < INSTANCE_PAGE_SIZE;
        return { tasks, isLast: false };
      }
      if (this.isReadingClaimedQueues) return { tasks: [], isLast: false };
      const tasks = await this.claims.claimQueued({
        before,
        after,
        includesClaimed: false,
        limit: INSTANCE_PAGE_SIZE,
        instanceId,
      });
      after = tasks.at(-1)?.dueAt ?? after;
      return { tasks, isLast: tasks.length < INSTANCE_PAGE_SIZE };
    };
  }

  private claimedPages(): DuePageReader {
    let after: TaskReference | null = null;
    let queuedAfter: number | null = null;
    this.isReadingClaimedQueues = true;
    return async (before) => {
      if (this.isReadingClaimedQueues) {
        const tasks = await this.claims.claimQueued({ before, after: queuedAfter, includesClaimed: true, limit: PAGE_SIZE });
        queuedAfter = tasks.at(-1)?.dueAt ?? queuedAfter;
        this.isReadingClaimedQueues = tasks.length >= PAGE_SIZE;
        return { tasks, isLast: false };
      }
      const page: readonly DueTask[] = await this.store.dueTasks({ before, after, limit: PAGE_SIZE });
      after = page.at(-1) ?? after;
      // `claimQueued` reads claimed and unclaimed messages in one page; otherwise one could overtake the other.
      return { tasks: page.filter(({ queue }) => queue === undefined), isLast: page.length < PAGE_SIZE };
    };
  }
}
