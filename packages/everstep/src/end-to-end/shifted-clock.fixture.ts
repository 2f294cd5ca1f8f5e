/** Loaded before a node: its machine's clock is wrong by so many ms. */
import { performance } from 'node:perf_hooks';

const shiftMs = Number(process.env.SHIFTED_CLOCK_MS ?? 0);
const { now } = Date;
const Machine = Date;

class Shifted extends Machine {
  constructor(...given: unknown[]) {
    // Whatever else Date takes it takes as ever.
    if (given.length === 0) super(now() + shiftMs);
    else super(...(given as [number]));
  }
  static override now(): number {
    return now() + shiftMs;
  }
}
globalThis.Date = Shifted as DateConstructor;
Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + shiftMs });
