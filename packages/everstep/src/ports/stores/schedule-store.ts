/** Schedules in the store. */
import type { Schedule } from '../../engine/runs/run.js';
import type { Listing, Position } from './page.js';

/**
 * A schedule in a listing. If its payload is too long for the list, the body is empty and `bodyLeftOut` is the size of the
 * payload in bytes.
 */
export interface ListedSchedule extends Schedule {
  readonly bodyLeftOut?: number;
}

/** Reads schedules. */
export interface ScheduleStore {
  /** Lists schedules by creation, oldest first; payloads over `maxListedBodyBytes` are omitted. */
  listSchedules(query: {
    readonly instanceId: string;
    readonly after: Position | null;
    readonly limit: number;
  }): Promise<Listing<ListedSchedule>>;
  findSchedule(query: { readonly instanceId: string; readonly scheduleId: string }): Promise<Schedule | null>;
  /** Lists schedules whose next tick is at or before `before`, earliest first. */
  dueSchedules(query: {
    readonly before: number;
    readonly limit: number;
    /** Instance of the schedules; all instances if absent. */
    readonly instanceId?: string;
  }): Promise<readonly Schedule[]>;
  /** Returns instances with due schedules. The cost is one lookup for each instance with schedules, regardless of their number. */
  instancesWithDueSchedules(query: { readonly before: number }): Promise<readonly string[]>;
  /** Returns the earliest next tick of all schedules; null if there is none. */
  nextScheduleAt(): Promise<number | null>;
}
