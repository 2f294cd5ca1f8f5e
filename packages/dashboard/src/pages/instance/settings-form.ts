/** Form of the settings of an instance. Days and counts are texts; an empty text means no limit. */

export const STATES = ['succeeded', 'failed', 'canceled', 'deadLetter'] as const;
export type RetentionState = (typeof STATES)[number];
export const STATE_NAMES: Readonly<Record<RetentionState, string>> = {
  succeeded: 'Succeeded runs',
  failed: 'Handled failed runs',
  canceled: 'Canceled runs',
  deadLetter: 'Unhandled dead letters',
};

export interface Settings {
  readonly breaker: { readonly enabled: boolean; readonly failures: number; readonly probeEveryMs: number };
  readonly retention: Readonly<Record<RetentionState, { readonly maxAgeMs: number | null; readonly maxCount: number | null }>>;
}

export interface SettingsForm {
  readonly enabled: boolean;
  readonly failures: string;
  readonly probeSeconds: string;
  readonly days: Readonly<Record<RetentionState, string>>;
  readonly counts: Readonly<Record<RetentionState, string>>;
}

const DAY_MS = 86_400_000;

const mapStates = <Value>(toValue: (state: RetentionState) => Value): Readonly<Record<RetentionState, Value>> => ({
  succeeded: toValue('succeeded'),
  failed: toValue('failed'),
  canceled: toValue('canceled'),
  deadLetter: toValue('deadLetter'),
});

/** Formats a number of days with as many decimals as `AMOUNT` allows, which is more precise than a millisecond. */
const daysText = (ms: number): string => (ms / DAY_MS).toFixed(9).replace(/\.?0+$/, '');

export const formOf = ({ breaker, retention }: Settings): SettingsForm => ({
  enabled: breaker.enabled,
  failures: String(breaker.failures),
  probeSeconds: String(breaker.probeEveryMs / 1000),
  days: mapStates((state) => {
    const { maxAgeMs } = retention[state];
    return maxAgeMs === null ? '' : daysText(maxAgeMs);
  }),
  counts: mapStates((state) => {
    const { maxCount } = retention[state];
    return maxCount === null ? '' : String(maxCount);
  }),
});

const AMOUNT = /^\d{1,9}(?:\.\d{1,9})?$/;
const COUNT = /^\d{1,12}$/;

export const isAmount = (text: string): boolean => AMOUNT.test(text);
export const isAmountOrEmpty = (text: string): boolean => text === '' || AMOUNT.test(text);
export const isCountOrEmpty = (text: string): boolean => text === '' || COUNT.test(text);

/** Returns the settings to send, or null if a field is invalid. */
export function settingsOf({ enabled, failures, probeSeconds, days, counts }: SettingsForm): Settings | null {
  const isValid =
    COUNT.test(failures) &&
    isAmount(probeSeconds) &&
    STATES.every((state) => isAmountOrEmpty(days[state]) && isCountOrEmpty(counts[state]));
  if (!isValid) return null;
  return {
    breaker: { enabled, failures: Number(failures), probeEveryMs: Math.round(Number(probeSeconds) * 1000) },
    retention: mapStates((state) => ({
      maxAgeMs: days[state] === '' ? null : Math.round(Number(days[state]) * DAY_MS),
      maxCount: counts[state] === '' ? null : Number(counts[state]),
    })),
  };
}

/** Returns the states whose runs would be deleted earlier than before, which cannot be undone. */
export const shortenedStates = (before: Settings, after: Settings): readonly RetentionState[] =>
  STATES.filter((state) => {
    const [oldLimits, newLimits] = [before.retention[state], after.retention[state]];
    const isLower = (oldLimit: number | null, newLimit: number | null) =>
      newLimit !== null && (oldLimit === null || newLimit < oldLimit);
    return isLower(oldLimits.maxAgeMs, newLimits.maxAgeMs) || isLower(oldLimits.maxCount, newLimits.maxCount);
  });
