/**
 * Checks the guards on queues, URL groups and schedules: these objects must not have changed since they were read. A transaction
 * that changes one of them holds a lock on its name until the commit, even if the object does not exist yet. If two processes have
 * read the same state, the write of the second one is therefore rejected.
 * Keeps invariant 28.
 */
import type { Queue, UrlGroup } from '../../../engine/runs/run.js';
import type { CommitResult, CommitUnit, StoreGuard, WriteOf } from '../../../engine/writes.js';
import { statement, type TransactionSession } from '../connection/connection.js';
import type { ObjectKey } from '../connection/row-sets.js';
import { readQueues } from '../control/queue-records.js';
import { countSchedulesOf, digestOf, readDigests } from '../control/schedule-records.js';
import { readUrlGroups } from '../control/url-group-records.js';

/** Takes the locks in the order of the given names. */
const LOCK = statement(`
  SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' everstep control ' || w.name, 0))
  FROM unnest($1::text[]) AS w (name)`);

const CHANGED: CommitResult = Object.freeze({ kind: 'changed' });

export type ControlGuard = Extract<
  StoreGuard,
  { readonly kind: 'queue-unchanged' | 'url-group-unchanged' | 'schedule-unchanged' | 'schedules-below' }
>;

/** A write to an object that these guards can check. */
export type ControlledWrite = WriteOf<'queue' | 'url-group' | 'schedule'>;

const digestOfQueue = ({ parallelism, paused, createdAt, updatedAt }: Queue): string =>
  JSON.stringify([parallelism, paused, createdAt, updatedAt]);
const digestOfGroup = ({ endpoints, createdAt, updatedAt }: UrlGroup): string =>
  JSON.stringify([endpoints.map(({ name, url }) => [name, url]), createdAt, updatedAt]);

/** Objects of one kind, by instance and id. */
class ControlObjects {
  readonly objectKeys = new Map<string, ObjectKey>();
  /** Digests of the objects in `objectKeys`; null if the object does not exist. */
  readonly digests = new Map<string, string | null>();

  static key = ({ instanceId, id }: ObjectKey): string => `${instanceId}\n${id}`;

  addKey(instanceId: string, id: string): void {
    const object = { instanceId, id };
    this.objectKeys.set(ControlObjects.key(object), object);
  }

  /** Records the digests of the objects that exist. The other objects in `objectKeys` do not exist. */
  setDigests(existingObjects: readonly (ObjectKey & { readonly digest: string })[]): void {
    for (const key of this.objectKeys.keys()) this.digests.set(key, null);
    for (const object of existingObjects) this.digests.set(ControlObjects.key(object), object.digest);
  }

  /** Sets the digest of an object; null if it is deleted. Returns the change in the number of objects. */
  put(instanceId: string, id: string, digest: string | null): number {
    const key = ControlObjects.key({ instanceId, id });
    const previousDigest = this.digests.get(key);
    if (previousDigest === undefined) return 0;
    this.digests.set(key, digest);
    return (digest === null ? 0 : 1) - (previousDigest === null ? 0 : 1);
  }

  refusalOf(instanceId: string, id: string, digest: string | null): CommitResult | null {
    return this.digests.get(ControlObjects.key({ instanceId, id })) === digest ? null : CHANGED;
  }
}

export class ControlState {
  private readonly queues = new ControlObjects();
  private readonly groups = new ControlObjects();
  private readonly schedules = new ControlObjects();
  /** Number of schedules of each instance. */
  private scheduleCounts = new Map<string, number>();

  /** Reads the state of all guards. Sends all statements immediately. */
  static async read(session: TransactionSession, units: readonly CommitUnit[]): Promise<ControlState> {
    const state = new ControlState();
    const countedInstanceIds = state.addKeysOf(units);
    const { queues, groups, schedules } = state;
    const lockNames = [
      ...[...queues.objectKeys.keys()].map((key) => `queue ${key}`),
      ...[...groups.objectKeys.keys()].map((key) => `group ${key}`),
      ...[...schedules.objectKeys.keys()].map((key) => `schedule ${key}`),
      ...countedInstanceIds.map((instanceId) => `schedules ${instanceId}`),
    ].sort();
    if (lockNames.length === 0) return state;
    const readIfAny = <Item>(objects: ControlObjects, read: (keys: readonly ObjectKey[]) => Promise<readonly Item[]>) =>
      objects.objectKeys.size === 0 ? Promise.resolve([]) : read([...objects.objectKeys.values()]);
    // The reads follow the locks, so that they see everything that was committed before the locks were acquired.
    const [, existingQueues, existingGroups, existingSchedules, scheduleCounts] = await Promise.all([
      session.query(LOCK, [lockNames]),
      readIfAny(queues, (keys) => readQueues(session, keys)),
      readIfAny(groups, (keys) => readUrlGroups(session, keys)),
      readIfAny(schedules, (keys) => readDigests(session, keys)),
      countedInstanceIds.length === 0 ? new Map<string, number>() : countSchedulesOf(session, countedInstanceIds),
    ]);
    queues.setDigests(
      existingQueues.map(({ instanceId, queue }) => ({ instanceId, id: queue.name, digest: digestOfQueue(queue) })),
    );
    groups.setDigests(
      existingGroups.map(({ instanceId, group }) => ({ instanceId, id: group.name, digest: digestOfGroup(group) })),
    );
    schedules.setDigests(existingSchedules.map(({ instanceId, scheduleId, digest }) => ({ instanceId, id: scheduleId, digest })));
    state.scheduleCounts = new Map(scheduleCounts);
    return state;
  }

  /** Returns the result for a guard that does not hold; null if it holds. */
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
        const count = this.scheduleCounts.get(instanceId) ?? 0;
        return count < guard.max ? null : { kind: 'too-many-schedules', count };
      }
    }
  }

  /** Records a write for the guards of later units. */
  recordWrite(write: ControlledWrite): void {
    switch (write.kind) {
      case 'register-queue': {
        const { instanceId, name, at } = write;
        if (this.queues.digests.get(ControlObjects.key({ instanceId, id: name })) !== null) break;
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
        this.countScheduleChange(instanceId, () => this.schedules.put(instanceId, scheduleId, digestOf(write.schedule)));
        break;
      }
      case 'delete-schedule':
        this.countScheduleChange(write.instanceId, () => this.schedules.put(write.instanceId, write.scheduleId, null));
        break;
      default:
        write satisfies never;
    }
  }

  private countScheduleChange(instanceId: string, put: () => number): void {
    const change = put();
    const count = this.scheduleCounts.get(instanceId);
    if (count !== undefined) this.scheduleCounts.set(instanceId, count + change);
  }

  /** Adds the keys of all objects that guards check. Returns the instances whose schedules must be counted. */
  private addKeysOf(units: readonly CommitUnit[]): readonly string[] {
    const countedInstanceIds = new Set<string>();
    for (const { guards } of units) {
      for (const guard of guards) {
        if (guard.kind === 'queue-unchanged') this.queues.addKey(guard.instanceId, guard.name);
        else if (guard.kind === 'url-group-unchanged') this.groups.addKey(guard.instanceId, guard.name);
        else if (guard.kind === 'schedule-unchanged') this.schedules.addKey(guard.instanceId, guard.scheduleId);
        else if (guard.kind === 'schedules-below') countedInstanceIds.add(guard.instanceId);
      }
    }
    // The existing schedules show whether a put adds a schedule or replaces one.
    for (const { writes } of countedInstanceIds.size === 0 ? [] : units) {
      for (const write of writes) {
        const schedule = write.kind === 'put-schedule' ? write.schedule : write.kind === 'delete-schedule' ? write : null;
        if (schedule && countedInstanceIds.has(schedule.instanceId))
          this.schedules.addKey(schedule.instanceId, schedule.scheduleId);
      }
    }
    return [...countedInstanceIds];
  }
}
