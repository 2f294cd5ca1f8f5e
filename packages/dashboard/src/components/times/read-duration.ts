/** Parses durations that users type. */

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Parses a duration such as `30s`, `2h` or `1d12h`, in ms. A number without a unit is in seconds. Returns undefined for any
 * other text.
 */
export function readDuration(text: string): number | undefined {
  const normalized = text.replaceAll(' ', '').toLowerCase();
  if (/^\d{1,9}$/.test(normalized)) return Number(normalized) * 1_000;
  if (!/^(?:\d{1,9}(?:ms|[smhd])){1,5}$/.test(normalized)) return undefined;
  let ms = 0;
  for (const [, value, unit = ''] of normalized.matchAll(/(\d+)(ms|[smhd])/g)) ms += Number(value) * (UNIT_MS[unit] ?? 0);
  return ms;
}
