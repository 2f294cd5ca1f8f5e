/** How long something took, or has taken so far. */
import { useNow } from './clock.js';
import { durationText } from './formats.js';

export interface DurationTextProps {
  /** Start and end, Unix ms. Without an end, the duration counts up. */
  readonly from: number;
  readonly to: number | null;
}

export function DurationText({ from, to }: DurationTextProps) {
  return to === null ? <DurationSoFar from={from} /> : durationText(Math.max(0, to - from));
}

/** Renders again every second, which a list of ended runs does not need. */
function DurationSoFar({ from }: { readonly from: number }) {
  return <>{durationText(Math.max(0, useNow() - from))}</>;
}
