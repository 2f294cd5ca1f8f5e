/** Schedules: start runs or publish messages by a cron expression. */
import type { RunPayload, RunSettings, Schedule } from '../../engine/runs/run.js';
import type { ScheduleEdit } from '../../engine/schedules/schedule.js';
import type { RunReference } from '../../ports/stores/store.js';

export interface ScheduleCommand {
  readonly instanceId: string;
  readonly dialect: Schedule['dialect'];
  /** Replaces the schedule with this id; null creates a new one. */
  readonly scheduleId: string | null;
  readonly cron: string;
  readonly timeZone: string;
  /**
   * URL of the started runs. With `settings.message`, the schedule publishes to this URL, or to the URL group
   * `settings.message.urlGroup`. In the latter case, this is the name of the group.
   */
  readonly workflowUrl: string;
  readonly payload: RunPayload;
  readonly settings: RunSettings;
  readonly delayMs: number;
  readonly callerIp: string;
  /** Maximum number of schedules of the instance, including this one. Absent means no limit. */
  readonly max?: number;
}

/** Outcome of running a schedule: the number of started runs or messages and the last one, or why nothing was started. */
export type ScheduleRun =
  | { readonly kind: 'started'; readonly run: Omit<RunReference, 'runKey'>; readonly count: number }
  | { readonly kind: 'not-found' | 'no-endpoints' }
  /** The messages to the endpoints of the URL group are too large together. `message` is for the owner of the instance. */
  | { readonly kind: 'too-large'; readonly message: string };

export interface ScheduleId {
  readonly instanceId: string;
  readonly scheduleId: string;
}

export interface ScheduleService {
  /** Creates or replaces a schedule. `too-many-schedules` means that the instance has the maximum number, and nothing changed. */
  put(command: ScheduleCommand): Promise<Schedule | 'too-many-schedules'>;
  /** Changes parts of a schedule. Null if it does not exist. */
  edit(command: ScheduleId & { readonly edit: ScheduleEdit }): Promise<Schedule | null>;
  /** Pauses or resumes a schedule. A resumed schedule continues at its next run time. Null if it does not exist. */
  pause(command: ScheduleId & { readonly paused: boolean }): Promise<Schedule | null>;
  /** Deletes a schedule. Returns false if it does not exist. */
  delete(command: ScheduleId): Promise<boolean>;
  /**
   * Starts what a tick would start, even if the schedule is paused. `admittedAt` is the time of the admission (Unix ms), or null
   * if no admission was necessary.
   */
  run(command: ScheduleId & { readonly admittedAt: number | null }): Promise<ScheduleRun>;
}
