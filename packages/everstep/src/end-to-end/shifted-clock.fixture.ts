/** This module is loaded before a node. It shifts the clock of the node's machine by this many ms. */
import { performance } from 'node:perf_hooks';

const shiftMs = Number(process.env.SHIFTED_CLOCK_MS ?? 0);
const { now } = Date;
const Machine = Date;

class Shifted extends Machine {
  constructor(...given: unknown[]) {
    // Other arguments of Date work as usual.
    if (given.length === 0) super(now() + shiftMs);
    else super(...(given as [number]));
  }
  static override now(): number {
    return now() + shiftMs;
  }
}
globalThis.Date = Shifted as DateConstructor;
Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + shiftMs });
