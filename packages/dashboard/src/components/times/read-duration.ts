/** Parses durations that users type. */

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  sec: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const NUMBER = '\\d{1,9}(?:\\.\\d{1,3})?';
const PART = `(${NUMBER})(${Object.keys(UNIT_MS).join('|')})(?![a-z])`;
const DURATION = new RegExp(`^(?:${PART}){1,5}$`);
const PARTS = new RegExp(PART, 'g');
const SECONDS = new RegExp(`^${NUMBER}$`);

/**
 * Parses a duration such as `30s`, `1.5h` or `3 min 20 s`, in ms. A number without a unit is in seconds. Returns undefined for
 * any other text.
 */
export function readDuration(text: string): number | undefined {
  const normalized = text.replaceAll(' ', '').toLowerCase();
  if (SECONDS.test(normalized)) return Math.round(Number(normalized) * 1_000);
  if (!DURATION.test(normalized)) return undefined;
  let ms = 0;
  for (const [, value, unit = ''] of normalized.matchAll(PARTS)) ms += Number(value) * (UNIT_MS[unit] ?? 0);
  return Math.round(ms);
}
