/** Computes in the browser when a cron expression fires. The result is only a preview; the server decides. */
import { Cron } from 'croner';

/** Times at which an expression fires, or the reason why it is invalid. */
export type FireTimes =
  | { readonly ok: true; readonly fires: readonly number[] }
  | { readonly ok: false; readonly problem: string };

const FIELDS = /^\S+(?:\s+\S+){4,5}$/;

/** Returns up to `count` times after `nowMs` at which the expression fires, Unix ms. */
export function nextFires(cron: string, timeZone: string, { count, nowMs }: { count: number; nowMs: number }): FireTimes {
  const trimmed = cron.trim();
  if (trimmed === '')
    return { ok: false, problem: 'Enter five fields (minute, hour, day, month, weekday), or six with seconds first.' };
  if (!FIELDS.test(trimmed)) return { ok: false, problem: 'Enter five fields, or six with seconds first.' };
  try {
    const timetable = new Cron(trimmed, { timezone: timeZone === '' ? 'UTC' : timeZone });
    const fires = timetable.nextRuns(count, new Date(nowMs)).map((date) => date.getTime());
    return fires.length === 0 ? { ok: false, problem: 'This expression never fires.' } : { ok: true, fires };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}
