/** Durations such as `30s`, `5m` and `1d10h`. A number without a unit is in seconds. */
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const DURATION_PART = /(\d{1,12})([smhd])/gy;

export const DURATION_FORM = 'a duration such as 30s, 5m, 12h or 1d10h (a number without a unit is in seconds)';

/** Returns the duration in milliseconds, or null if the text is not a duration. */
export function parseDuration(text: string): number | null {
  if (/^\d{1,12}$/.test(text)) return Number(text) * 1_000;
  let totalMs = 0;
  let end = 0;
  const units = new Set<string>();
  for (const [part, value, unit = ''] of text.matchAll(DURATION_PART)) {
    if (units.has(unit)) return null;
    units.add(unit);
    totalMs += Number(value) * (UNIT_MS[unit] ?? 0);
    end += part.length;
  }
  return end > 0 && end === text.length ? totalMs : null;
}

/** Formats a duration for messages, with the largest units first: `1d10h`. */
export function formatDuration(ms: number): string {
  let remainingMs = ms;
  let text = '';
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    const size = UNIT_MS[unit] ?? 1;
    const count = Math.floor(remainingMs / size);
    if (count > 0) text += `${count}${unit}`;
    remainingMs -= count * size;
  }
  return text === '' ? '0s' : text;
}
