/** When a cron expression fires, worked out in the browser while it is typed; what counts is what the service makes of it. */
import { Cron } from 'croner';

export type Fires = { readonly ok: true; readonly fires: readonly number[] } | { readonly ok: false; readonly why: string };

const FIELDS = /^\S+(?:\s+\S+){4,5}$/;

/** @returns Unix ms of the next ticks behind `nowMs`, as many as `count` where there are so many. */
export function nextFires(cron: string, timeZone: string, { count, nowMs }: { count: number; nowMs: number }): Fires {
  const trimmed = cron.trim();
  if (trimmed === '') return { ok: false, why: 'Five fields: minute, hour, day, month, weekday. Six: seconds in front.' };
  if (!FIELDS.test(trimmed)) return { ok: false, why: 'It takes five fields, or six with seconds in front.' };
  try {
    const timetable = new Cron(trimmed, { timezone: timeZone === '' ? 'UTC' : timeZone });
    const fires = timetable.nextRuns(count, new Date(nowMs)).map((date) => date.getTime());
    return fires.length === 0 ? { ok: false, why: 'It never fires.' } : { ok: true, fires };
  } catch (error) {
    return { ok: false, why: error instanceof Error ? error.message : String(error) };
  }
}
