/** Schedules, as calls. */
import { NATIVE_PREFIX } from '../protocol.js';
import type { ScheduleEntry, ScheduleRun } from './control-types.js';
import { type TriggerOptions, triggerBody, triggerHeaders } from './settings.js';
import type { Call } from './transport.js';

/** What a schedule starts its runs with. Each run has an id of its own, and nobody waits for its result. */
export interface ScheduleOptions
  extends Omit<
    TriggerOptions,
    'runId' | 'notBefore' | 'deduplicationId' | 'contentBasedDeduplication' | 'waitForResult' | 'signal'
  > {
  /** Five fields, or six with seconds in front: `'0 9 * * 1-5'`. */
  readonly cron: string;
  /** IANA name of the time zone of the expression, such as `'Europe/Berlin'`; default UTC. */
  readonly timezone?: string;
  /** A schedule that has this id is replaced. Made by the service when absent. */
  readonly scheduleId?: string;
}

const SCHEDULES = '/v2/schedules';
const pathOf = (scheduleId: string) => `${SCHEDULES}/${encodeURIComponent(scheduleId)}`;

export class Schedules {
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
  }

  /** Starts a run of the workflow at each tick. */
  async create(workflowUrl: string, options: ScheduleOptions): Promise<{ readonly scheduleId: string }> {
    const { cron, timezone, scheduleId } = options;
    const body = triggerBody(options.body);
    return this.call({
      method: 'POST',
      path: `${SCHEDULES}/${encodeURIComponent(workflowUrl)}`,
      headers: {
        ...triggerHeaders(options),
        [`${NATIVE_PREFIX}Cron`]: cron,
        ...(timezone === undefined ? {} : { [`${NATIVE_PREFIX}Cron-Timezone`]: timezone }),
        ...(scheduleId === undefined ? {} : { [`${NATIVE_PREFIX}Schedule-Id`]: scheduleId }),
      },
      ...(body === undefined ? {} : { body }),
    });
  }

  /** Oldest first. */
  list(): Promise<readonly ScheduleEntry[]> {
    return this.call({ method: 'GET', path: SCHEDULES });
  }

  get(scheduleId: string): Promise<ScheduleEntry> {
    return this.call({ method: 'GET', path: pathOf(scheduleId) });
  }

  /** It starts nothing until it is resumed. */
  pause(scheduleId: string): Promise<ScheduleEntry> {
    return this.call({ method: 'PATCH', path: `${pathOf(scheduleId)}/pause` });
  }

  /** It ticks next at its next time from now. */
  resume(scheduleId: string): Promise<ScheduleEntry> {
    return this.call({ method: 'PATCH', path: `${pathOf(scheduleId)}/resume` });
  }

  /** Its next ticks from now, Unix ms; of a paused one as if it were not. `count`: 1 to 50, 10 when absent. */
  async next(scheduleId: string, options: { readonly count?: number } = {}): Promise<readonly number[]> {
    const call: Call = { method: 'GET', path: `${pathOf(scheduleId)}/next`, query: options };
    return (await this.call<{ fires: readonly number[] }>(call)).fires;
  }

  /** Starts now what a tick of it starts, paused or not. */
  run(scheduleId: string): Promise<ScheduleRun> {
    return this.call({ method: 'POST', path: `${pathOf(scheduleId)}/run` });
  }

  /** Runs that it started go on. */
  async delete(scheduleId: string): Promise<void> {
    await this.call({ method: 'DELETE', path: pathOf(scheduleId) });
  }
}
