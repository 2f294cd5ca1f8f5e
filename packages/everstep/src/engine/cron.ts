/**
 * When a schedule ticks: five cron fields, or six with seconds in front, in a
 * time zone. Croner reads the fields and finds the next time. It is asked with
 * the time to start from, so its answer does not depend on the machine's clock
 * or time zone, and it never gets a function to call, so it sets no timer.
 *
 * Where clocks change: times of day (no `*` and no `/` in seconds, minutes and
 * hours) that are skipped tick once, when the clock has jumped; those that come
 * twice tick the first time only. Everything else follows the time that passes:
 * what is skipped does not tick, and what comes twice ticks twice.
 */
import { Cron } from 'croner';
import { LIMITS } from '../config/limits.js';

export type ParsedCron =
  | {
      readonly ok: true;
      /** The fields, one space between them, without a time zone. */
      readonly cron: string;
      /** IANA name. */
      readonly timeZone: string;
    }
  | { readonly ok: false; readonly message: string };

interface Field {
  readonly name: string;
  readonly takes: string;
}

const SECOND: Field = { name: 'second', takes: '0 to 59' };
const FIELDS: readonly Field[] = [
  { name: 'minute', takes: '0 to 59' },
  { name: 'hour', takes: '0 to 23' },
  { name: 'day of the month', takes: '1 to 31, L for the last day, 15W for the working day nearest to the 15th' },
  { name: 'month', takes: '1 to 12 or JAN to DEC' },
  {
    name: 'day of the week',
    takes: '0 to 7 (0 and 7 are Sunday) or SUN to SAT, MON#2 for the second Monday, FRIL for the last Friday',
  },
];
const IN_GENERAL = 'a list "1,5", a range "1-5", every value "*" or steps "*/5" and "10-50/5"';
const EXAMPLE = 'such as "0 9 * * MON-FRI"';
const NICKNAMES = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];

const WITH_TIME_ZONE = /^CRON_TZ=(\S*)(?:\s+|$)/;
const TIME_ZONE_NAME = /^[A-Za-z][\w+-]*(?:\/[\w+-]+)*$/;
/** What croner would read as a date, or not at all. */
const FOREIGN_CHARACTER = /[^\w*,/\-#?+@]/;
/** A search goes to the year 3000 from here: the calendar repeats every 400 years, so what is not found never comes. */
const SEARCH_FROM = Date.UTC(2000, 0, 1);

function croner(cron: string, timeZone: string): Cron {
  return new Cron(cron, { timezone: timeZone, mode: '5-or-6-parts', fixedTimeRule: 'no-wildcard' });
}

/** The one name by which this runtime knows the zone; null when it knows none of this name. */
function knownTimeZone(timeZone: string): string | null {
  // Without this an offset would be a zone too. It knows no summer time, which is hardly what was meant.
  if (!TIME_ZONE_NAME.test(timeZone)) return null;
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}

/** What croner says against it; null for nothing. */
function complaint(cron: string): string | null {
  try {
    croner(cron, 'UTC');
    return null;
  } catch (error) {
    return error instanceof Error ? error.message.replace(/^CronPattern: (?:Syntax error, )?/, '') : String(error);
  }
}

/** Says which field is wrong and what it may be: each is tried without the others. */
function explain(parts: readonly string[], problem: string): string {
  const fields = parts.length === FIELDS.length ? FIELDS : [SECOND, ...FIELDS];
  for (const [place, { name, takes }] of fields.entries()) {
    const part = parts[place] ?? '';
    const alone = complaint(fields.map((_, other) => (other === place ? part : '*')).join(' '));
    if (alone !== null) return `"${part}" is no ${name}: it takes ${takes}; ${IN_GENERAL}`;
  }
  return problem;
}

const refused = (message: string): ParsedCron => ({ ok: false, message });

/**
 * Reads an expression. `CRON_TZ=Europe/Berlin` in front of it counts instead of `timeZone`. Refuses, in words that say
 * what is allowed, what cannot be read and what never ticks.
 */
export function parseCron(source: string, timeZone: string): ParsedCron {
  if (source.length > LIMITS.maxCronLength) {
    return refused(`the expression is longer than ${LIMITS.maxCronLength} characters`);
  }
  const trimmed = source.trim();
  const [prefix = '', zoneInFront] = WITH_TIME_ZONE.exec(trimmed) ?? [];
  const zone = zoneInFront ?? timeZone;
  const known = knownTimeZone(zone);
  if (known === null) return refused(`there is no time zone "${zone}"; it is an IANA name, such as Europe/Berlin or UTC`);
  const parts = trimmed.slice(prefix.length).match(/\S+/g) ?? [];
  const cron = parts.join(' ');
  if (cron.startsWith('@')) {
    if (!NICKNAMES.includes(cron.toLowerCase())) return refused(`"${cron}" is none of ${NICKNAMES.join(', ')}`);
  } else {
    if (parts.length !== FIELDS.length && parts.length !== FIELDS.length + 1) {
      const count = parts.length === 0 ? 'it is empty' : `it has ${parts.length}`;
      return refused(`the expression takes five fields, or six with seconds in front, ${EXAMPLE}; ${count}`);
    }
    const strange = parts.find((part) => FOREIGN_CHARACTER.test(part));
    if (strange !== undefined) return refused(explain(parts, `"${strange}" is no field of an expression`));
    const problem = complaint(cron);
    if (problem !== null) return refused(explain(parts, problem));
  }
  if (croner(cron, known).nextRun(new Date(SEARCH_FROM)) === null) {
    return refused('the expression never comes true: there is no such day');
  }
  // Written as the runtime writes it, unless that is another name for the zone: who says Asia/Kolkata reads Asia/Kolkata.
  return { ok: true, cron, timeZone: known.toLowerCase() === zone.toLowerCase() ? known : zone };
}

/**
 * Unix ms of the first tick after `afterMs`; null when there is none any more (before the year 3000), or when this
 * runtime cannot read the expression or does not know the zone: another version may have taken it.
 */
export function nextTickMs(cron: string, timeZone: string, afterMs: number): number | null {
  const known = knownTimeZone(timeZone);
  if (known === null || complaint(cron) !== null) return null;
  return croner(cron, known).nextRun(new Date(afterMs))?.getTime() ?? null;
}
