/** Form of an instance's settings. Days and counts are text; an empty text means unlimited. */

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

const each = <Value>(make: (state: RetentionState) => Value): Readonly<Record<RetentionState, Value>> => ({
  succeeded: make('succeeded'),
  failed: make('failed'),
  canceled: make('canceled'),
  deadLetter: make('deadLetter'),
});

export const formOf = ({ breaker, retention }: Settings): SettingsForm => ({
  enabled: breaker.enabled,
  failures: String(breaker.failures),
  probeSeconds: String(breaker.probeEveryMs / 1000),
  days: each((state) => {
    const { maxAgeMs } = retention[state];
    return maxAgeMs === null ? '' : String(maxAgeMs / DAY_MS);
  }),
  counts: each((state) => {
    const { maxCount } = retention[state];
    return maxCount === null ? '' : String(maxCount);
  }),
});

const AMOUNT = /^\d{1,9}(?:\.\d{1,9})?$/;
const COUNT = /^\d{1,12}$/;

export const isAmount = (text: string): boolean => AMOUNT.test(text);
export const isAmountOrNone = (text: string): boolean => text === '' || AMOUNT.test(text);
export const isCountOrNone = (text: string): boolean => text === '' || COUNT.test(text);

/** Returns the settings to send, or null if a field is invalid. */
export function settingsOf({ enabled, failures, probeSeconds, days, counts }: SettingsForm): Settings | null {
  const valid =
    COUNT.test(failures) &&
    isAmount(probeSeconds) &&
    STATES.every((state) => isAmountOrNone(days[state]) && isCountOrNone(counts[state]));
  if (!valid) return null;
  return {
    breaker: { enabled, failures: Number(failures), probeEveryMs: Math.round(Number(probeSeconds) * 1000) },
    retention: each((state) => ({
      maxAgeMs: days[state] === '' ? null : Math.round(Number(days[state]) * DAY_MS),
      maxCount: counts[state] === '' ? null : Number(counts[state]),
    })),
  };
}

/** Returns the states whose runs would be deleted earlier than before, which cannot be undone. */
export const shortened = (before: Settings, after: Settings): readonly RetentionState[] =>
  STATES.filter((state) => {
    const [old, next] = [before.retention[state], after.retention[state]];
    const less = (a: number | null, b: number | null) => b !== null && (a === null || b < a);
    return less(old.maxAgeMs, next.maxAgeMs) || less(old.maxCount, next.maxCount);
  });
