/**
 * What the guards of a batch ask of queues, groups of URLs and schedules: whether they are as they were read. Whoever
 * changes one of them holds a lock on its name until the commit, also when there is none yet; so of two processes that have
 * read the same the second is refused.
 * Keeps invariant 28.
 */
import type { Queue, UrlGroup } from '../../../engine/runs/run.js';
import type { CommitResult, CommitUnit, StoreGuard, StoreWrite } from '../../../ports/stores/store.js';
import { statement, type TransactionSession } from '../connection/connection.js';
import type { InstancesThing } from '../connection/row-sets.js';
import { readQueues } from '../control/queue-records.js';
import { countSchedulesOf, digestOf, readDigests } from '../control/schedule-records.js';
import { readUrlGroups } from '../control/url-group-records.js';

/** In the order of the names that are given. */
const LOCK = statement(`
  SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' everstep control ' || w.name, 0))
  FROM unnest($1::text[]) AS w (name)`);

const CHANGED: CommitResult = Object.freeze({ kind: 'changed' });

export type ControlGuard = Extract<
  StoreGuard,
  { readonly kind: 'queue-unchanged' | 'url-group-unchanged' | 'schedule-unchanged' | 'schedules-below' }
>;

const digestOfQueue = ({ parallelism, paused, createdAt, updatedAt }: Queue): string =>
  JSON.stringify([parallelism, paused, createdAt, updatedAt]);
const digestOfGroup = ({ endpoints, createdAt, updatedAt }: UrlGroup): string =>
  JSON.stringify([endpoints.map(({ name, url }) => [name, url]), createdAt, updatedAt]);

/** Things of one kind, by instance and id. */
class Things {
  readonly named = new Map<string, InstancesThing>();
  /** Null: there is none. Of those that are named alone. */
  readonly digests = new Map<string, string | null>();

  static key = ({ instanceId, id }: InstancesThing): string => `${instanceId}\n${id}`;

  name(instanceId: string, id: string): void {
    const thing = { instanceId, id };
    this.named.set(Things.key(thing), thing);
  }

  /** What was read; of the others there is none. */
  learn(found: readonly (InstancesThing & { readonly digest: string })[]): void {
    for (const key of this.named.keys()) this.digests.set(key, null);
    for (const thing of found) this.digests.set(Things.key(thing), thing.digest);
  }

  /** Returns by how many there are more than before. */
  put(instanceId: string, id: string, digest: string | null): number {
    const key = Things.key({ instanceId, id });
    const before = this.digests.get(key);
    if (before === undefined) return 0;
    this.digests.set(key, digest);
    return (digest === null ? 0 : 1) - (before === null ? 0 : 1);
  }

  refusalOf(instanceId: string, id: string, digest: string | null): CommitResult | null {
    return this.digests.get(Things.key({ instanceId, id })) === digest ? null : CHANGED;
  }
}

export class ControlState {
  private readonly queues = new Things();
  private readonly groups = new Things();
  private readonly schedules = new Things();
  /** Instances whose schedules are counted. */
  private counts = new Map<string, number>();

  /** Sends everything at once. */
  static async read(session: TransactionSession, units: readonly CommitUnit[]): Promise<ControlState> {
    const state = new ControlState();
    const counted = state.nameAll(units);
    const { queues, groups, schedules } = state;
    const locks = [
      ...[...queues.named.keys()].map((key) => `queue ${key}`),
      ...[...groups.named.keys()].map((key) => `group ${key}`),
      ...[...schedules.named.keys()].map((key) => `schedule ${key}`),
      ...counted.map((instanceId) => `schedules ${instanceId}`),
    ].sort();
    if (locks.length === 0) return state;
    const of = <Found>(things: Things, read: (named: readonly InstancesThing[]) => Promise<readonly Found[]>) =>
      things.named.size === 0 ? Promise.resolve([]) : read([...things.named.values()]);
    // Behind the locks: each statement sees what was committed before it began.
    const [, foundQueues, foundGroups, foundSchedules, counts] = await Promise.all([
      session.query(LOCK, [locks]),
      of(queues, (named) => readQueues(session, named)),
      of(groups, (named) => readUrlGroups(session, named)),
      of(schedules, (named) => readDigests(session, named)),
      counted.length === 0 ? new Map<string, number>() : countSchedulesOf(session, counted),
    ]);
    queues.learn(foundQueues.map(({ instanceId, queue }) => ({ instanceId, id: queue.name, digest: digestOfQueue(queue) })));
    groups.learn(foundGroups.map(({ instanceId, group }) => ({ instanceId, id: group.name, digest: digestOfGroup(group) })));
    schedules.learn(foundSchedules.map(({ instanceId, scheduleId, digest }) => ({ instanceId, id: scheduleId, digest })));
    state.counts = new Map(counts);
    return state;
  }

  /** Null when the guard holds. */
  refusalOf(guard: ControlGuard): CommitResult | null {
    const { instanceId } = guard;
    switch (guard.kind) {
      case 'queue-unchanged':
        return this.queues.refusalOf(instanceId, guard.name, guard.was && digestOfQueue(guard.was));
      case 'url-group-unchanged':
        return this.groups.refusalOf(instanceId, guard.name, guard.was && digestOfGroup(guard.was));
      case 'schedule-unchanged':
        return this.schedules.refusalOf(instanceId, guard.scheduleId, guard.was && digestOf(guard.was));
      case 'schedules-below': {
        const count = this.counts.get(instanceId) ?? 0;
        return count < guard.most ? null : { kind: 'too-many-schedules', count };
      }
    }
  }

  /** Keeps true what the units behind ask for. */
  note(write: StoreWrite): void {
    switch (write.kind) {
      case 'register-queue': {
        const { instanceId, name, at } = write;
        if (this.queues.digests.get(Things.key({ instanceId, id: name })) !== null) break;
        const queue = { name, parallelism: 1, paused: false, createdAt: at, updatedAt: at };
        this.queues.put(instanceId, name, digestOfQueue(queue));
        break;
      }
      case 'put-queue':
        this.queues.put(write.instanceId, write.queue.name, digestOfQueue(write.queue));
        break;
      case 'delete-queue':
        this.queues.put(write.instanceId, write.name, null);
        break;
      case 'put-url-group':
        this.groups.put(write.instanceId, write.group.name, digestOfGroup(write.group));
        break;
      case 'delete-url-group':
        this.groups.put(write.instanceId, write.name, null);
        break;
      case 'put-schedule': {
        const { instanceId, scheduleId } = write.schedule;
        this.counted(instanceId, () => this.schedules.put(instanceId, scheduleId, digestOf(write.schedule)));
        break;
      }
      case 'delete-schedule':
        this.counted(write.instanceId, () => this.schedules.put(write.instanceId, write.scheduleId, null));
        break;
      default:
    }
  }

  private counted(instanceId: string, put: () => number): void {
    const more = put();
    const count = this.counts.get(instanceId);
    if (count !== undefined) this.counts.set(instanceId, count + more);
  }

  /** Returns the instances whose schedules are to be counted. */
  private nameAll(units: readonly CommitUnit[]): readonly string[] {
    const counted = new Set<string>();
    for (const { guards } of units) {
      for (const guard of guards) {
        if (guard.kind === 'queue-unchanged') this.queues.name(guard.instanceId, guard.name);
        else if (guard.kind === 'url-group-unchanged') this.groups.name(guard.instanceId, guard.name);
        else if (guard.kind === 'schedule-unchanged') this.schedules.name(guard.instanceId, guard.scheduleId);
        else if (guard.kind === 'schedules-below') counted.add(guard.instanceId);
      }
    }
    // Whether a schedule is one more or takes the place of another is seen by what was there.
    for (const { writes } of counted.size === 0 ? [] : units) {
      for (const write of writes) {
        const schedule = write.kind === 'put-schedule' ? write.schedule : write.kind === 'delete-schedule' ? write : null;
        if (schedule && counted.has(schedule.instanceId)) this.schedules.name(schedule.instanceId, schedule.scheduleId);
      }
    }
    return [...counted];
  }
}
