/** Changes to groups of dead letters as their entries are added and removed. Keeps invariant 7. */

/** The group of a dead letter: properties that similar failures share. */
export interface FailureGroup {
  /** 16 hexadecimal digits, computed from the kind, the step, the status, the message below and the location in the code. */
  readonly fingerprint: string;
  /** Version of the rules that computed the fingerprint. */
  readonly rules: number;
  /** Whether workflow runs or plain messages failed. A group contains only one kind. */
  readonly kind: 'workflow' | 'message';
  /** The step that failed, without numbers; null for the code between steps, and for a message. */
  readonly stepName: string | null;
  /** The error text, without the parts that differ between failures. */
  readonly message: string;
  /** Workflow of this entry. A group can contain entries of several workflows. */
  readonly workflowUrl: string;
}

/** Version of the rules of an entry without a group. */
export const UNGROUPED_RULES = 0;

const HOUR_MS = 3_600_000;
/** How long an unacknowledged group is new. */
export const NEW_FOR_MS = 24 * HOUR_MS;
/** Number of hours in the histogram of a group. */
export const HISTOGRAM_HOURS = 24;
/** How long the counts of an hour are kept. */
export const HOUR_COUNTS_RETENTION_MS = 7 * 24 * HOUR_MS;
/** How long a group without entries is kept. An entry that is added later starts a new group. */
export const EMPTY_GROUP_RETENTION_MS = 30 * 24 * HOUR_MS;

export const GROUP_STATES = ['regressed', 'new', 'known'] as const;
/** State of a group, in the order of listings. */
export type GroupState = (typeof GROUP_STATES)[number];

/** The times of a group, Unix ms. */
export interface GroupTimes {
  readonly firstSeenAt: number;
  readonly acknowledgedAt: number | null;
  /**
   * Time at which an entry was added after the group was resolved. Null again once the group is acknowledged or
   * resolved.
   */
  readonly regressedAt: number | null;
}

/** Returns the state of a group at `now` (Unix ms). */
export function groupState({ firstSeenAt, acknowledgedAt, regressedAt }: GroupTimes, now: number): GroupState {
  if (regressedAt !== null) return 'regressed';
  return acknowledgedAt === null && now - firstSeenAt < NEW_FOR_MS ? 'new' : 'known';
}

/** Returns the number of hours since 1970 (UTC). */
export const hourOf = (at: number): number => Math.floor(at / HOUR_MS);

/** Returns the counts of the last 24 hours (UTC), oldest first, including the current hour. */
export function histogramOf(
  hours: readonly { readonly hour: number; readonly count: number }[],
  now: number,
): readonly { readonly at: number; readonly count: number }[] {
  const counts = new Map(hours.map(({ hour, count }) => [hour, count]));
  const firstHour = hourOf(now) - HISTOGRAM_HOURS + 1;
  return Array.from({ length: HISTOGRAM_HOURS }, (_, index) => ({
    at: (firstHour + index) * HOUR_MS,
    count: counts.get(firstHour + index) ?? 0,
  }));
}

/** Identifies a group. Groups are processed in this order. */
export interface GroupKey {
  readonly instanceId: string;
  readonly fingerprint: string;
}

/** The stored properties of a group, except its counters. */
export type GroupProperties = Pick<FailureGroup, 'kind' | 'stepName' | 'message'> & { readonly responseStatus: number | null };

/** Changes of a batch to one group. */
export interface GroupChange extends GroupKey {
  /** Properties of an added entry; null if none was added. */
  readonly properties: GroupProperties | null;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly added: number;
  readonly removed: number;
  /** Number of removed entries that were moved to other groups; they no longer count in the total. */
  readonly moved: number;
  /** Group that the entries were moved to; an empty string if there are several. Null if none was moved. */
  readonly successor: string | null;
  /** Time at which the last removed entry was resumed or restarted. Null if it was deleted, or if no entry was removed. */
  readonly recoveredAt: number | null;
}
/** Change in the number of entries that a workflow has in a group. */
export interface WorkflowChange extends GroupKey {
  readonly workflowUrl: string;
  readonly entries: number;
}
/** Number of entries added to a group in one hour. */
export interface HourChange extends GroupKey {
  readonly hour: number;
  readonly added: number;
}
/** Value of `successor` for several groups. */
export const SEVERAL_SUCCESSORS = '';

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/**
 * Sums the changes of a batch, so that many similar failures write only a few rows. The changes are returned in a
 * fixed order, so that processes that write several groups at once wait for each other and do not deadlock.
 */
export class GroupChanges {
  private readonly groups = new Map<string, Mutable<GroupChange>>();
  private readonly workflows = new Map<string, Mutable<WorkflowChange>>();
  private readonly hours = new Map<string, Mutable<HourChange>>();

  get hasChanges(): boolean {
    return this.groups.size > 0;
  }

  /** Adds an entry that failed at this time. */
  addEntry(instanceId: string, group: FailureGroup, responseStatus: number | null, at: number): void {
    const { fingerprint, workflowUrl, kind, stepName, message } = group;
    const change = this.groupOf(instanceId, fingerprint);
    change.properties ??= { kind, stepName, message, responseStatus };
    change.firstAt = change.added === 0 ? at : Math.min(change.firstAt, at);
    change.lastAt = Math.max(change.lastAt, at);
    change.added++;
    this.workflowOf(instanceId, fingerprint, workflowUrl).entries++;
    this.hourOf(instanceId, fingerprint, hourOf(at)).added++;
  }

  /** Removes an entry. `recoveredAt` is the time at which it was resumed or restarted, or null if it was deleted. */
  removeEntry(instanceId: string, entry: Pick<FailureGroup, 'fingerprint' | 'workflowUrl'>, recoveredAt: number | null): void {
    const change = this.groupOf(instanceId, entry.fingerprint);
    change.removed++;
    change.recoveredAt = recoveredAt;
    this.workflowOf(instanceId, entry.fingerprint, entry.workflowUrl).entries--;
  }

  /** Moves an entry that failed at this time from a group of earlier rules to the group that it has now. */
  moveEntry(instanceId: string, from: string, to: FailureGroup, responseStatus: number | null, at: number): void {
    const source = this.groupOf(instanceId, from);
    source.removed++;
    source.moved++;
    source.successor = source.successor === null || source.successor === to.fingerprint ? to.fingerprint : SEVERAL_SUCCESSORS;
    this.workflowOf(instanceId, from, to.workflowUrl).entries--;
    this.hourOf(instanceId, from, hourOf(at)).added--;
    this.addEntry(instanceId, to, responseStatus, at);
  }

  /** Returns all changes and clears them. */
  take(): {
    readonly groups: readonly GroupChange[];
    readonly workflows: readonly WorkflowChange[];
    readonly hours: readonly HourChange[];
  } {
    const changes = {
      groups: sortedChanges(this.groups),
      workflows: sortedChanges(this.workflows).filter(({ entries }) => entries !== 0),
      hours: sortedChanges(this.hours),
    };
    this.forget();
    return changes;
  }

  /** Clears all changes without returning them. */
  forget(): void {
    this.groups.clear();
    this.workflows.clear();
    this.hours.clear();
  }

  private groupOf(instanceId: string, fingerprint: string): Mutable<GroupChange> {
    return findOrAdd(this.groups, [instanceId, fingerprint], () => ({
      instanceId,
      fingerprint,
      properties: null,
      firstAt: 0,
      lastAt: 0,
      added: 0,
      removed: 0,
      moved: 0,
      successor: null,
      recoveredAt: null,
    }));
  }

  private workflowOf(instanceId: string, fingerprint: string, workflowUrl: string): Mutable<WorkflowChange> {
    const keyParts = [instanceId, fingerprint, workflowUrl];
    return findOrAdd(this.workflows, keyParts, () => ({ instanceId, fingerprint, workflowUrl, entries: 0 }));
  }

  private hourOf(instanceId: string, fingerprint: string, hour: number): Mutable<HourChange> {
    return findOrAdd(this.hours, [instanceId, fingerprint, String(hour)], () => ({ instanceId, fingerprint, hour, added: 0 }));
  }
}

function findOrAdd<Change>(changes: Map<string, Change>, keyParts: readonly string[], createChange: () => Change): Change {
  const key = keyParts.join('\n');
  const existingChange = changes.get(key);
  if (existingChange !== undefined) return existingChange;
  const newChange = createChange();
  changes.set(key, newChange);
  return newChange;
}

const sortedChanges = <Change>(changes: ReadonlyMap<string, Change>): readonly Change[] =>
  [...changes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, change]) => change);
