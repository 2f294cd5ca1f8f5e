/** Durations that people type. */
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a duration such as `30s`, `2h` or `1d12h`, in ms. A number without a unit is in seconds. Other texts are undefined. */
export function readDuration(text: string): number | undefined {
  const wanted = text.replaceAll(' ', '').toLowerCase();
  if (/^\d{1,9}$/.test(wanted)) return Number(wanted) * 1_000;
  if (!/^(?:\d{1,9}(?:ms|[smhd])){1,5}$/.test(wanted)) return undefined;
  let ms = 0;
  for (const [, value, unit = ''] of wanted.matchAll(/(\d+)(ms|[smhd])/g)) ms += Number(value) * (UNIT_MS[unit] ?? 0);
  return ms;
}
