/**
 * Where due tasks are read. As a rule one page has everything that came due since the last look. If more is due, each instance
 * with due tasks gets pages of its own, so that one with very many does not hide the tasks of others.
 */
import type { Cluster } from '../../ports/cluster.js';
import type { DueTask, Store, TaskReference } from '../../ports/stores/store.js';

/** Tasks that one look reads of all instances together. */
const PAGE = 500;
/** Tasks of one instance that are read at once while others may wait. */
const SLICE = 100;

export interface DuePage {
  readonly tasks: readonly DueTask[];
  /** Nothing more is due up to the time that was asked for. */
  readonly isLast: boolean;
}

/** Reads the next page of tasks due at or before a time, Unix ms. */
export type DuePages = (before: number) => Promise<DuePage>;

export interface DueLook {
  readonly tasks: readonly DueTask[];
  /** Pages of what was not read, by instance; '' is what belongs to several. */
  readonly left: ReadonlyMap<string, DuePages>;
}

export interface DueSource {
  /** Forgets what was read before: the next look starts with everything that is due. */
  restart(): void;
  /** What has come due since the last look. `open`: instances whose pages are still being read, which are left out. */
  look(before: number, open: ReadonlySet<string>): Promise<DueLook>;
  /** Pages of an instance from here on. */
  pagesOf(instanceId: string): DuePages;
}

/** In a process that is alone on its store: everything behind what was read before. */
export class StoredTasks implements DueSource {
  private readonly store: Pick<Store, 'dueTasks' | 'dueInstances'>;
  /** Everything due up to here was read, except what is left to the pages of instances. */
  private read: TaskReference | null = null;

  constructor(store: Pick<Store, 'dueTasks' | 'dueInstances'>) {
    this.store = store;
  }

  restart(): void {
    this.read = null;
  }

  async look(before: number, open: ReadonlySet<string>): Promise<DueLook> {
    const from = this.read;
    const tasks = await this.store.dueTasks({ before, after: from, limit: PAGE });
    const instances =
      tasks.length < PAGE ? null : await this.store.dueInstances({ from: from?.dueAt ?? Number.MIN_SAFE_INTEGER, before });
    // Behind every task of this very millisecond: those that come to be due in it later are acted on as they are recorded.
    this.read = { dueAt: before, runKey: '\uffff', slot: Number.MAX_SAFE_INTEGER };
    if (instances === null) return { tasks: tasks.filter(({ instanceId }) => !open.has(instanceId)), left: new Map() };
    const left = instances.filter((id) => !open.has(id)).map((id) => [id, this.pagesFrom(id, from)] as const);
    return { tasks: [], left: new Map(left) };
  }

  pagesOf(instanceId: string): DuePages {
    return this.pagesFrom(instanceId, this.read);
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

/** Where several nodes share the store: what is not claimed. What this node has claimed is read already. */
export class UnclaimedTasks implements DueSource {
  private readonly store: Pick<Store, 'dueTasks' | 'dueInstances'>;
  private readonly claims: ClaimedTasks;
  private isAnew = false;
  /** Queued messages are read again: until that has ended no others are claimed, or these could overtake them. */
  private readsQueuesAnew = false;

  constructor(store: Pick<Store, 'dueTasks' | 'dueInstances'>, claims: ClaimedTasks) {
    this.store = store;
    this.claims = claims;
  }

  /** The next look also reads what this node has claimed before: it may have lost sight of it. */
  restart(): void {
    this.isAnew = true;
  }

  async look(before: number, open: ReadonlySet<string>): Promise<DueLook> {
    const isAnew = this.isAnew;
    this.isAnew = false;
    const tasks: DueTask[] = [];
    let isCrowded = isAnew || open.size > 0;
    if (!isCrowded) {
      const queued = await this.claims.claimQueued({ before, after: null, anew: false, limit: PAGE });
      const due = await this.claims.claimDue({ before, limit: PAGE });
      tasks.push(...queued, ...due);
      isCrowded = queued.length >= PAGE || due.length >= PAGE;
    }
    const instances = isCrowded ? await this.store.dueInstances({ from: Number.MIN_SAFE_INTEGER, before }) : [];
    const left = instances.filter((id) => !open.has(id)).map((id) => [id, this.pagesOf(id)] as const);
    return { tasks, left: new Map(isAnew ? [['', this.claimedBefore()], ...left] : left) };
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
      if (this.readsQueuesAnew) return { tasks: [], isLast: false };
      const tasks = await this.claims.claimQueued({ before, after, anew: false, limit: SLICE, instanceId });
      after = tasks.at(-1)?.dueAt ?? after;
      return { tasks, isLast: tasks.length < SLICE };
    };
  }

  private claimedBefore(): DuePages {
    let after: TaskReference | null = null;
    let queuedAfter: number | null = null;
    this.readsQueuesAnew = true;
    return async (before) => {
      if (this.readsQueuesAnew) {
        const tasks = await this.claims.claimQueued({ before, after: queuedAfter, anew: true, limit: PAGE });
        queuedAfter = tasks.at(-1)?.dueAt ?? queuedAfter;
        this.readsQueuesAnew = tasks.length >= PAGE;
        return { tasks, isLast: false };
      }
      const page: readonly DueTask[] = await this.store.dueTasks({ before, after, limit: PAGE });
      after = page.at(-1) ?? after;
      // Queued messages that are claimed and those that are not are read in one page, or one could overtake the other.
      return { tasks: page.filter(({ queue }) => queue === undefined), isLast: page.length < PAGE };
    };
  }
}
