/**
 * Ticks of a schedule: five cron fields, or six with seconds first, in a time zone. Croner parses the fields and
 * finds the next time. It receives the start time, so its result does not depend on the machine's clock or time zone.
 * It never receives a function to call, so it sets no timer.
 *
 * A fixed time of day has no `*` and no `/` in seconds, minutes and hours. When clocks change, fixed times that are skipped
 * tick once, when the clock has jumped. Fixed times that occur twice tick only the first time. All other expressions follow
 * elapsed time: skipped times do not tick, and repeated times tick twice.
 */
import { Cron } from 'croner';
import { LIMITS } from '../../config/limits.js';

/** A parsed expression, or the reason why it is invalid. */
export type ParsedCron =
  | {
      readonly ok: true;
      /** The fields, separated by one space, without a time zone. */
      readonly cron: string;
      /** IANA name of the time zone. */
      readonly timeZone: string;
    }
  | {
      readonly ok: false;
      /** Which of the two arguments is invalid. A time zone in the expression is part of the expression. */
      readonly invalid: 'expression' | 'time-zone';
      readonly message: string;
    };

interface CronField {
  readonly name: string;
  readonly allowedValues: string;
}

const SECOND: CronField = { name: 'second', allowedValues: '0 to 59' };
const FIELDS: readonly CronField[] = [
  { name: 'minute', allowedValues: '0 to 59' },
  { name: 'hour', allowedValues: '0 to 23' },
  { name: 'day of the month', allowedValues: '1 to 31, L for the last day, 15W for the working day nearest to the 15th' },
  { name: 'month', allowedValues: '1 to 12 or JAN to DEC' },
  {
    name: 'day of the week',
    allowedValues: '0 to 7 (0 and 7 are Sunday) or SUN to SAT, MON#2 for the second Monday, FRIL for the last Friday',
  },
];
const SYNTAX_OF_ANY_FIELD = 'a list "1,5", a range "1-5", every value "*" or steps "*/5" and "10-50/5"';
const EXAMPLE = 'such as "0 9 * * MON-FRI"';
const NICKNAMES = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];

const TIME_ZONE_PREFIX = /^CRON_TZ=(\S*)(?:\s+|$)/;
const TIME_ZONE_NAME = /^[A-Za-z][\w+-]*(?:\/[\w+-]+)*$/;
/** Characters that croner would read as part of a date, or reject. */
const DISALLOWED_CHARACTER = /[^\w*,/\-#?+@]/;
/**
 * Start of the search for a tick, which continues to the year 3000. The calendar repeats every 400 years, so a time that is not
 * found never occurs.
 */
const SEARCH_FROM = Date.UTC(2000, 0, 1);

function createCroner(cron: string, timeZone: string): Cron {
  return new Cron(cron, { timezone: timeZone, mode: '5-or-6-parts', fixedTimeRule: 'no-wildcard' });
}

/** Returns the canonical name of the zone in this runtime, or null if the zone is unknown. */
function canonicalTimeZone(timeZone: string): string | null {
  // Without this check, a UTC offset would be accepted as a zone. It would have no daylight saving time, which is rarely
  // intended.
  if (!TIME_ZONE_NAME.test(timeZone)) return null;
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}

/** Returns croner's error message, or null if the expression is valid. */
function cronerError(cron: string): string | null {
  try {
    createCroner(cron, 'UTC');
    return null;
  } catch (error) {
    return error instanceof Error ? error.message.replace(/^CronPattern: (?:Syntax error, )?/, '') : String(error);
  }
}

/** Explains which field is invalid and which values it allows. Each field is tried without the others. */
function explainProblem(fieldTexts: readonly string[], problem: string): string {
  const fields = fieldTexts.length === FIELDS.length ? FIELDS : [SECOND, ...FIELDS];
  for (const [index, { name, allowedValues }] of fields.entries()) {
    const fieldText = fieldTexts[index] ?? '';
    const fieldError = cronerError(fields.map((_, otherIndex) => (otherIndex === index ? fieldText : '*')).join(' '));
    if (fieldError !== null) return `"${fieldText}" is not a valid ${name}: use ${allowedValues}; ${SYNTAX_OF_ANY_FIELD}`;
  }
  return problem;
}

const rejection = (message: string, invalid: 'expression' | 'time-zone' = 'expression'): ParsedCron => ({
  ok: false,
  invalid,
  message,
});

/**
 * Parses an expression. A prefix such as `CRON_TZ=Europe/Berlin` overrides `timeZone`. Rejects expressions that are
 * invalid or never tick, with a message that lists the allowed values.
 */
export function parseCron(source: string, timeZone: string): ParsedCron {
  if (source.length > LIMITS.maxCronLength) {
    return rejection(`the expression is longer than ${LIMITS.maxCronLength} characters`);
  }
  const trimmedSource = source.trim();
  const [prefix = '', prefixZone] = TIME_ZONE_PREFIX.exec(trimmedSource) ?? [];
  const zone = prefixZone ?? timeZone;
  const canonicalZone = canonicalTimeZone(zone);
  if (canonicalZone === null) {
    const message = `unknown time zone "${zone}": use an IANA name such as Europe/Berlin or UTC`;
    return rejection(message, prefixZone === undefined ? 'time-zone' : 'expression');
  }
  const fieldTexts = trimmedSource.slice(prefix.length).match(/\S+/g) ?? [];
  const cron = fieldTexts.join(' ');
  if (cron.startsWith('@')) {
    if (!NICKNAMES.includes(cron.toLowerCase()))
      return rejection(`unknown nickname "${cron}": use one of ${NICKNAMES.join(', ')}`);
  } else {
    if (fieldTexts.length !== FIELDS.length && fieldTexts.length !== FIELDS.length + 1) {
      const fieldCountText = fieldTexts.length === 0 ? 'it is empty' : `it has ${fieldTexts.length}`;
      return rejection(`the expression must have five fields, or six with seconds first, ${EXAMPLE}; ${fieldCountText}`);
    }
    const invalidField = fieldTexts.find((fieldText) => DISALLOWED_CHARACTER.test(fieldText));
    if (invalidField !== undefined)
      return rejection(explainProblem(fieldTexts, `"${invalidField}" is not a valid field of an expression`));
    const problem = cronerError(cron);
    if (problem !== null) return rejection(explainProblem(fieldTexts, problem));
  }
  if (createCroner(cron, canonicalZone).nextRun(new Date(SEARCH_FROM)) === null) {
    return rejection('the expression never matches: no such date exists');
  }
  // Uses the runtime's spelling of the zone, unless the runtime knows it by another name. A caller that specifies
  // Asia/Kolkata reads Asia/Kolkata back.
  return { ok: true, cron, timeZone: canonicalZone.toLowerCase() === zone.toLowerCase() ? canonicalZone : zone };
}

/**
 * Returns the first tick after `afterMs` in Unix ms. Returns null if there is none before the year 3000, or if this
 * runtime cannot parse the expression or does not know the zone. Another version may have accepted it.
 */
export function nextTickMs(cron: string, timeZone: string, afterMs: number): number | null {
  const canonicalZone = canonicalTimeZone(timeZone);
  if (canonicalZone === null || cronerError(cron) !== null) return null;
  return createCroner(cron, canonicalZone).nextRun(new Date(afterMs))?.getTime() ?? null;
}
