/** Decides which traces are exported. The decision depends only on stored data, so every node makes the same one. */
import type { SamplerName } from '../config/telemetry/tracing-settings.js';

/** Returns whether a trace is exported. `isParentSampled` is the decision of the caller; null if the trace starts here. */
export type Sampler = (traceId: string, isParentSampled: boolean | null) => boolean;

/** Number of digits of the trace id that are compared: 48 bits, which a number represents exactly. */
const COMPARED_DIGITS = 12;
const VALUE_COUNT = 16 ** COMPARED_DIGITS;

type RootSampler = (traceId: string) => boolean;

/** Returns a sampler that samples the same traces in every process with the same ratio, and also with each larger ratio. */
const byRatio =
  (ratio: number): RootSampler =>
  (traceId) =>
    Number.parseInt(traceId.slice(-COMPARED_DIGITS), 16) >= (1 - ratio) * VALUE_COUNT;

const rootSamplerOf = (name: SamplerName, ratio: number): RootSampler => {
  if (name.endsWith('always_on')) return () => true;
  return name.endsWith('always_off') ? () => false : byRatio(ratio);
};

/** Returns the sampler with this name. `ratio` is from 0 to 1. */
export function createSampler(name: SamplerName, ratio: number): Sampler {
  const rootSampler = rootSamplerOf(name, ratio);
  return name.startsWith('parentbased_') ? (traceId, isParentSampled) => isParentSampled ?? rootSampler(traceId) : rootSampler;
}
