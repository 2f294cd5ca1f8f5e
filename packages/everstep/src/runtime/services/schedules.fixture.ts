/** Schedules for tests, and the runs that they started. The clock of the bench starts on January 15, 2027 at 08:00 UTC. */
import type { Schedule } from '../../engine/runs/run.js';
import type { RunRecord, Store } from '../../ports/stores/store.js';
import { type Bench, inARow, ScriptedCaller, SETTINGS, settle } from '../runtime.fixture.js';
import type { Runtime } from '../runtime.js';
import type { ScheduleCommand } from './workflow-service.js';

export const INSTANCE = 'qi_1';
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
export const START = Date.UTC(2027, 0, 15, 8);

export const command = (overrides: Partial<ScheduleCommand> = {}): ScheduleCommand => ({
  instanceId: INSTANCE,
  dialect: 'native',
  scheduleId: null,
  cron: '0 * * * *',
  timeZone: 'UTC',
  workflowUrl: 'http://app/flow',
  payload: { body: new TextEncoder().encode('{"n":1}'), contentType: 'application/json', forwardHeaders: { 'x-a': 'b' } },
  settings: SETTINGS,
  delayMs: 0,
  callerIp: '127.0.0.1',
  ...overrides,
});

/** Creates a schedule that is not rejected. */
export async function putSchedule(runtime: Pick<Runtime, 'schedules'>, command: ScheduleCommand): Promise<Schedule> {
  const schedule = await runtime.schedules.put(command);
  if (schedule === 'too-many-schedules') throw new Error(schedule);
  return schedule;
}

export const id = (scheduleId: string) => ({ instanceId: INSTANCE, scheduleId });

export async function runsIn(store: Store): Promise<readonly RunRecord[]> {
  const page = { instanceId: INSTANCE, filter: {}, order: 'oldest-first', after: null, horizon: null, limit: 1000 } as const;
  return (await store.listRuns(page)).items;
}
/** Returns the id of the schedule that started the run; null if there is none. */
export const scheduleIdOf = ({ origin }: RunRecord): string | null => (origin?.kind === 'schedule' ? origin.scheduleId : null);

export async function passTime(bench: Bench, ms: number): Promise<void> {
  await settle();
  bench.clock.move(ms);
  await settle();
}

export const caller = () => new ScriptedCaller(inARow(1));
