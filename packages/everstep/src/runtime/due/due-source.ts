/**
 * Reads due tasks. Usually one page contains everything that became due since the previous read. If more is due, each
 * instance with due tasks gets separate pages. An instance with very many tasks therefore does not hide the tasks of others.
 */
import type { Cluster } from '../../ports/cluster.js';
import type { DueTask, Store, TaskReference } from '../../ports/stores/store.js';

/** Maximum number of tasks of all instances that one read returns. */
const PAGE = 500;
/** Maximum number of tasks of one instance in a page while other instances may wait. */
const SLICE = 100;

export interface DuePage {
  readonly tasks: readonly DueTask[];
  /** Whether nothing more is due up to the requested time. */
  readonly isLast: boolean;
}

/** Reads the next page of tasks due at or before a time, Unix ms. */
export type DuePages = (before: number) => Promise<DuePage>;

export interface DueScan {
  readonly tasks: readonly DueTask[];
  /** Pages of what was not read, by instance; '' for tasks of several instances. */
  readonly unread: ReadonlyMap<string, DuePages>;
}

export interface DueSource {
  /** Makes the next read start with everything that is due. */
  restart(): void;
  /**
   * Resolves with the tasks that became due since the previous read. Tasks of the instances in `open`, whose pages are still
   * being read, are omitted.
   */
  readNext(before: number, open: ReadonlySet<string>): Promise<DueScan>;
  /** Returns the pages of an instance after what was read. */
  pagesOf(instanceId: string): DuePages;
}

/** Source of a single process: reads everything after what was read before. */
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

  async readNext(before: number, open: ReadonlySet<string>): Promise<DueScan> {
    const from = this.lastRead;
    const tasks = await this.store.dueTasks({ before, after: from, limit: PAGE });
    const instances =
      tasks.length < PAGE ? null : await this.store.dueInstances({ from: from?.dueAt ?? Number.MIN_SAFE_INTEGER, before });
    // After every task of this millisecond: those that become due in it later are dispatched when they are recorded.
    this.lastRead = { dueAt: before, runKey: '\uffff', slot: Number.MAX_SAFE_INTEGER };
    if (instances === null) return { tasks: tasks.filter(({ instanceId }) => !open.has(instanceId)), unread: new Map() };
    const unread = instances.filter((id) => !open.has(id)).map((id) => [id, this.pagesFrom(id, from)] as const);
    return { tasks: [], unread: new Map(unread) };
  }

  pagesOf(instanceId: string): DuePages {
    return this.pagesFrom(instanceId, this.lastRead);
  }

  private pagesFrom(instanceId: string, from: TaskReference | null): DuePages {
    let after = from;
    return async (before) => {
      const tasks = await this.store.dueTasks({ instanceId, before, after, limit: SLICE });
      after = tasks.at(-1) ?? after;
      return { tasks, isLast: tasks.length < SLICE };
    };
  }
}

export type ClaimedTasks = Pick<Cluster, 'claimDue' | 'claimQueued'>;

/** Source of one of several nodes: reads what is unclaimed. What this node has claimed was read before. */
export class UnclaimedTasks implements DueSource {
  private readonly store: Pick<Store, 'dueTasks' | 'dueInstances'>;
  private readonly claims: ClaimedTasks;
  private isRestarted = false;
  /** Whether claimed messages are being read again. Until that is done no others are claimed: they could overtake them. */
  private readsClaimedQueues = false;

  constructor(store: Pick<Store, 'dueTasks' | 'dueInstances'>, claims: ClaimedTasks) {
    this.store = store;
    this.claims = claims;
  }

  /** Makes the next read include tasks that this node claimed earlier, because it may have missed some of them. */
  restart(): void {
    this.isRestarted = true;
  }

  async readNext(before: number, open: ReadonlySet<string>): Promise<DueScan> {
    const isRestarted = this.isRestarted;
    this.isRestarted = false;
    const tasks: DueTask[] = [];
    let isCrowded = isRestarted || open.size > 0;
    if (!isCrowded) {
      const queued = await this.claims.claimQueued({ before, after: null, includesClaimed: false, limit: PAGE });
      const due = await this.claims.claimDue({ before, limit: PAGE });
      tasks.push(...queued, ...due);
      isCrowded = queued.length >= PAGE || due.length >= PAGE;
    }
    const instances = isCrowded ? await this.store.dueInstances({ from: Number.MIN_SAFE_INTEGER, before }) : [];
    const unread = instances.filter((id) => !open.has(id)).map((id) => [id, this.pagesOf(id)] as const);
    return { tasks, unread: new Map(isRestarted ? [['', this.claimedPages()], ...unread] : unread) };
  }

  pagesOf(instanceId: string): DuePages {
    let isQueuesTurn = false;
    let after: number | null = null;
    return async (before) => {
      if (!isQueuesTurn) {
        const tasks = await this.claims.claimDue({ before, limit: SLICE, instanceId });
        isQueuesTurn = tasks.length < SLICE;
        return { tasks, isLast: false };
      }
      if (this.readsClaimedQueues) return { tasks: [], isLast: false };
      const tasks = await this.claims.claimQueued({ before, after, includesClaimed: false, limit: SLICE, instanceId });
      after = tasks.at(-1)?.dueAt ?? after;
      return { tasks, isLast: tasks.length < SLICE };
    };
  }

  private claimedPages(): DuePages {
    let after: TaskReference | null = null;
    let queuedAfter: number | null = null;
    this.readsClaimedQueues = true;
    return async (before) => {
      if (this.readsClaimedQueues) {
        const tasks = await this.claims.claimQueued({ before, after: queuedAfter, includesClaimed: true, limit: PAGE });
        queuedAfter = tasks.at(-1)?.dueAt ?? queuedAfter;
        this.readsClaimedQueues = tasks.length >= PAGE;
        return { tasks, isLast: false };
      }
      const page: readonly DueTask[] = await this.store.dueTasks({ before, after, limit: PAGE });
      after = page.at(-1) ?? after;
      // `claimQueued` reads claimed and unclaimed messages in one page; otherwise one could overtake the other.
      return { tasks: page.filter(({ queue }) => queue === undefined), isLast: page.length < PAGE };
    };
  }
}
