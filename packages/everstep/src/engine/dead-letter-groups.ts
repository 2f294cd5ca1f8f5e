/** What becomes of a group of dead letters as its entries come and go. */

/** What a dead letter has in common with others. */
export interface FailureGroup {
  /** 16 hexadecimal digits: of the kind, the step, the status and the message below. */
  readonly fingerprint: string;
  /** Whether runs of workflows failed, or plain messages: they are in no group together. */
  readonly kind: 'workflow' | 'message';
  /** The step that failed, its numbers left out; null for the code between steps, and for a message. */
  readonly stepName: string | null;
  /** What went wrong, without what differs from one to the next. */
  readonly message: string;
  /** Of this one: a group may have entries of several workflows. */
  readonly workflowUrl: string;
}

const HOUR_MS = 3_600_000;
/** So long a group that nobody has acknowledged is new. */
export const NEW_FOR_MS = 24 * HOUR_MS;
/** How many hours are told of a group. */
export const HISTOGRAM_HOURS = 24;
/** So long the counts of an hour are kept. */
export const HOURS_KEPT_MS = 7 * 24 * HOUR_MS;
/** So long a group without entries is remembered: what comes later is new. */
export const EMPTY_GROUPS_KEPT_MS = 30 * 24 * HOUR_MS;

export const GROUP_STATES = ['regressed', 'new', 'known'] as const;
/** In the order in which they are listed. */
export type GroupState = (typeof GROUP_STATES)[number];

/** Times are Unix ms. */
export interface GroupTimes {
  readonly firstSeenAt: number;
  readonly acknowledgedAt: number | null;
  /** When an entry came after it was resolved, until somebody acknowledges or resolves it. */
  readonly regressedAt: number | null;
}

export function groupState({ firstSeenAt, acknowledgedAt, regressedAt }: GroupTimes, now: number): GroupState {
  if (regressedAt !== null) return 'regressed';
  return acknowledgedAt === null && now - firstSeenAt < NEW_FOR_MS ? 'new' : 'known';
}

/** Hours since 1970 (UTC). */
export const hourOf = (at: number): number => Math.floor(at / HOUR_MS);

/** The last 24 hours (UTC), oldest first, the present one last. */
export function histogramOf(
  hours: readonly { readonly hour: number; readonly count: number }[],
  now: number,
): readonly { readonly at: number; readonly count: number }[] {
  const counts = new Map(hours.map(({ hour, count }) => [hour, count]));
  const first = hourOf(now) - HISTOGRAM_HOURS + 1;
  return Array.from({ length: HISTOGRAM_HOURS }, (_, index) => ({
    at: (first + index) * HOUR_MS,
    count: counts.get(first + index) ?? 0,
  }));
}

export interface GroupPlace {
  readonly instanceId: string;
  readonly fingerprint: string;
}

/** What is kept of a group besides what is counted. */
export type GroupLooks = Pick<FailureGroup, 'kind' | 'stepName' | 'message'> & { readonly responseStatus: number | null };

/** What a batch changes of one group. */
export interface GroupChange extends GroupPlace {
  /** Of an entry that came; null when none did. */
  readonly looks: GroupLooks | null;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly came: number;
  readonly left: number;
  /** When the last one that left was resumed or restarted; null when it was deleted, or none left. */
  readonly recoveredAt: number | null;
}
export interface WorkflowChange extends GroupPlace {
  readonly workflowUrl: string;
  readonly entries: number;
}
export interface HourChange extends GroupPlace {
  readonly hour: number;
  readonly came: number;
}
type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/**
 * The changes of a batch, summed, so that many failures of one kind cost a few rows. They come out in one order, so that
 * processes that write several at once wait for each other instead of blocking each other.
 */
export class GroupChanges {
  private readonly groups = new Map<string, Mutable<GroupChange>>();
  private readonly workflows = new Map<string, Mutable<WorkflowChange>>();
  private readonly hours = new Map<string, Mutable<HourChange>>();

  get any(): boolean {
    return this.groups.size > 0;
  }

  /** An entry of that time was added. */
  entryCame(instanceId: string, group: FailureGroup, responseStatus: number | null, at: number): void {
    const { fingerprint, workflowUrl, kind, stepName, message } = group;
    const change = this.groupOf(instanceId, fingerprint);
    change.looks ??= { kind, stepName, message, responseStatus };
    change.firstAt = change.came === 0 ? at : Math.min(change.firstAt, at);
    change.lastAt = Math.max(change.lastAt, at);
    change.came++;
    this.workflowOf(instanceId, fingerprint, workflowUrl).entries++;
    this.hourOf(instanceId, fingerprint, hourOf(at)).came++;
  }

  /** `recoveredAt`: when it was resumed or restarted; null when it was deleted. */
  entryLeft(instanceId: string, left: Pick<FailureGroup, 'fingerprint' | 'workflowUrl'>, recoveredAt: number | null): void {
    const change = this.groupOf(instanceId, left.fingerprint);
    change.left++;
    change.recoveredAt = recoveredAt;
    this.workflowOf(instanceId, left.fingerprint, left.workflowUrl).entries--;
  }

  /** All of it, which is then forgotten here. */
  take(): {
    readonly groups: readonly GroupChange[];
    readonly workflows: readonly WorkflowChange[];
    readonly hours: readonly HourChange[];
  } {
    const taken = {
      groups: inOrder(this.groups),
      workflows: inOrder(this.workflows).filter(({ entries }) => entries !== 0),
      hours: inOrder(this.hours),
    };
    this.forget();
    return taken;
  }

  forget(): void {
    this.groups.clear();
    this.workflows.clear();
    this.hours.clear();
  }

  private groupOf(instanceId: string, fingerprint: string): Mutable<GroupChange> {
    return found(this.groups, [instanceId, fingerprint], () => ({
      instanceId,
      fingerprint,
      looks: null,
      firstAt: 0,
      lastAt: 0,
      came: 0,
      left: 0,
      recoveredAt: null,
    }));
  }

  private workflowOf(instanceId: string, fingerprint: string, workflowUrl: string): Mutable<WorkflowChange> {
    const place = [instanceId, fingerprint, workflowUrl];
    return found(this.workflows, place, () => ({ instanceId, fingerprint, workflowUrl, entries: 0 }));
  }

  private hourOf(instanceId: string, fingerprint: string, hour: number): Mutable<HourChange> {
    return found(this.hours, [instanceId, fingerprint, String(hour)], () => ({ instanceId, fingerprint, hour, came: 0 }));
  }
}

function found<Change>(changes: Map<string, Change>, place: readonly string[], make: () => Change): Change {
  const key = place.join('\n');
  const known = changes.get(key);
  if (known !== undefined) return known;
  const made = make();
  changes.set(key, made);
  return made;
}

const inOrder = <Change>(changes: ReadonlyMap<string, Change>): readonly Change[] =>
  [...changes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, change]) => change);
